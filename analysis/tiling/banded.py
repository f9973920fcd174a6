"""The windows of a group that products of bands compute."""

from __future__ import annotations

from tlf.analysis.operations.bands import Bands, SystolicArray, Windows
from tlf.analysis.operations.form import Form
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.support.affine.access import Box, Linear


def bands_of(
    array: SystolicArray | None, op: TilingInterface, box: Box, form: Form
) -> Bands | None:
    """The bands in which an array computes some iterations of an operation, if any."""
    if array is None or (windows := windows_of(op, box, form)) is None:
        return None
    return Bands.of(windows, [each.room for each in box], array)


def windows_of(op: TilingInterface, box: Box, form: Form) -> Windows | None:
    """
    The windows of some iterations that bands may compute. Filters come from outside of
    the group, as they are brought with zeros around them, and with all of their taps.
    """
    if (windows := form.windows) is None:
        return None
    filters = op.operands[windows.filters].owner
    if isinstance(filters, ConstantInterface | TilingInterface):
        return None
    for axis in windows.axes:
        taps = box[axis.tap]
        if taps.offset != Linear() or taps.room != form.extents[axis.tap]:
            return None
    return windows
