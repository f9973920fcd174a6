"""Analysis of a group: its sliding windows that banded matmuls compute."""

from __future__ import annotations

from tlf.analysis.operations.banded_matmul import BandedMatmul, SystolicArray, Windows
from tlf.analysis.operations.op_facts import OpFacts
from tlf.dialects.interfaces import ConstantInterface, TilingInterface
from tlf.support.affine.index_access import AffineSum, Box


def banded_matmul_of(
    array: SystolicArray | None, op: TilingInterface, box: Box, facts: OpFacts
) -> BandedMatmul | None:
    """
    Return the banded matmul by which an array computes some iterations of an operation,
    if any.
    """
    if array is None or (windows := banded_windows_of(op, box, facts)) is None:
        return None
    return BandedMatmul.find_fastest(windows, [each.tile_extent for each in box], array)


def banded_windows_of(op: TilingInterface, box: Box, facts: OpFacts) -> Windows | None:
    """
    Return the sliding windows of some iterations that banded matmuls may compute; None
    if there are none. Filters must be inputs of the group, as they are loaded with
    zeros around them, and with all of their taps.
    """
    if (windows := facts.windows) is None:
        return None
    filters = op.operands[windows.filter_operand].owner
    if isinstance(filters, ConstantInterface | TilingInterface):
        return None
    for axis in windows.axes:
        taps = box[axis.tap_iterator]
        if (
            taps.offset != AffineSum()
            or taps.tile_extent != facts.extents[axis.tap_iterator]
        ):
            return None
    return windows
