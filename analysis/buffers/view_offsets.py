"""Offsets between views of a buffer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import AffineMapAttr, MemRefType
from xdsl.ir import Attribute, SSAValue

from tlf.analysis.buffers.memory_effects import layout_of, root_of
from tlf.analysis.buffers.strided_views import has_unique_stride, stride_steps_between
from tlf.dialects import mem


def offset_along(one: SSAValue, other: SSAValue, axis: int) -> int | None:
    """
    Return the offset of the first element of one view relative to that of another one,
    in elements along an axis; None if it is not known, or if the axis is not the same
    one of their buffer.
    """
    if one is other:
        return 0
    root = root_of(one)
    first, second, whole = (
        _view_layout_of(one),
        _view_layout_of(other),
        _view_layout_of(root),
    )
    if root is not root_of(other) or not first or not second or not whole:
        return None
    if len(first.shape) != len(second.shape):
        return None
    if not all(
        has_unique_stride(each.shape, each.strides, axis) for each in (first, second)
    ):
        return None
    stride = first.strides[axis]
    if stride != second.strides[axis] or first.slot is not second.slot:
        return None
    apart = (*first.strides, *second.strides, *whole.strides)
    return stride_steps_between(first.offset, second.offset, stride, apart)


@dataclass(frozen=True)
class _ViewLayout:
    """Offset of a view in its buffer, and its strides, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    slot: SSAValue | None = None
    """The number of the slot of the buffer that it is in, if there are several."""


def _view_layout_of(buffer: SSAValue) -> _ViewLayout | None:
    """
    Return the offset and strides of a view in its buffer; None if they are not constant
    or the view wraps.
    """
    type_ = cast("MemRefType[Attribute]", buffer.type)
    layout = layout_of(buffer)
    if isinstance(type_.layout, AffineMapAttr) or layout is None:
        return None
    shape, strides = map(tuple, layout)
    if (offset := type_.get_offset()) is not None:
        return _ViewLayout(offset, shape, strides)
    if not isinstance(owner := buffer.owner, memref.SubviewOp):
        return None
    first, *rest = mem.merge_offsets(owner.static_offsets, owner.offsets)
    around = _view_layout_of(owner.source)
    if around is None or isinstance(first, int) or any(rest):
        return None
    return _ViewLayout(around.offset, shape, strides, first)
