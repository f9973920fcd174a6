"""Analysis of views of one buffer: their offsets from each other."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import SSAValue

from tlf.analysis.buffers.memory_effects import (
    root_buffer_of,
    static_shape_and_strides_of,
)
from tlf.analysis.buffers.strided_views import has_unique_stride, stride_steps_between
from tlf.dialects import mem
from tlf.dialects.types import memref_type


def offset_between_views(view: SSAValue, other_view: SSAValue, axis: int) -> int | None:
    """
    Return the offset of the first element of one view relative to another view, in
    elements along an axis; None if it is unknown or the axis differs in the buffer.
    """
    if view is other_view:
        return 0
    root = root_buffer_of(view)
    first, second, root_layout = (
        _view_layout_of(view),
        _view_layout_of(other_view),
        _view_layout_of(root),
    )
    if (
        root is not root_buffer_of(other_view)
        or not first
        or not second
        or not root_layout
    ):
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
    strides = (*first.strides, *second.strides, *root_layout.strides)
    return stride_steps_between(first.offset, second.offset, stride, strides)


@dataclass(frozen=True)
class _ViewLayout:
    """Offset of a view in its buffer, shape and strides, in elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    slot: SSAValue | None = None
    """Index of the slot of the buffer that contains the view, if there are several."""


def _view_layout_of(buffer: SSAValue) -> _ViewLayout | None:
    """
    Return the offset, shape and strides of a view in its buffer; None if they are not
    constant or the view wraps.
    """
    type_ = memref_type(buffer)
    layout = static_shape_and_strides_of(buffer)
    if isinstance(type_.layout, AffineMapAttr) or layout is None:
        return None
    shape, strides = map(tuple, layout)
    if (offset := type_.get_offset()) is not None:
        return _ViewLayout(offset, shape, strides)
    if not isinstance(owner := buffer.owner, memref.SubviewOp):
        return None
    first, *other_offsets = mem.merge_offsets(owner.static_offsets, owner.offsets)
    enclosing = _view_layout_of(owner.source)
    if enclosing is None or isinstance(first, int) or any(other_offsets):
        return None
    return _ViewLayout(enclosing.offset, shape, strides, first)
