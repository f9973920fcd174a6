"""Strided views of buffers: parts of them, and parts under another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.dialects.collapsing import collapsed_axis
from tlf.dialects.cuts import reshaped_strides, row_major
from tlf.dialects.interfaces import MovementInterface
from tlf.dialects.types import tensor_type
from tlf.lowering.tile_to_mem.buffers import AnyBuffer
from tlf.lowering.tile_to_mem.scope import Scope


def cut_view(builder: Builder, source: SSAValue, op: MovementInterface) -> SSAValue:
    """The part of a buffer that a movement which only cuts leaves."""
    offset, strides = _layout(source)
    accesses = op.operand_accesses()[0] or ()
    for access, stride in zip(accesses, strides, strict=True):
        offset += access.offset * stride
    steps = [access.terms[0][1] for access in accesses]
    seen = [step * stride for step, stride in zip(steps, strides, strict=True)]
    shape = tensor_type(op.results[0]).get_shape()
    return _view(builder, source, shape, offset, seen)


SHOWING = memref.ReinterpretCastOp | memref.SubviewOp
"""
Operations that make views of buffers; their types give the offset in the whole buffer.
"""


def reshaped_view(
    builder: Builder, source: SSAValue, shape: Sequence[int]
) -> SSAValue | None:
    """
    The elements of a strided buffer under another shape, if strides reach them from a
    known place.
    """
    if not _is_static(source):
        return None
    offset, strides = _layout(source)
    old = cast(AnyBuffer, source.type).get_shape()
    seen = reshaped_strides(old, strides, shape)
    return None if seen is None else _view(builder, source, shape, offset, seen)


def seen_as(scope: Scope, place: SSAValue, shape: Sequence[int]) -> SSAValue | None:
    """
    A place under another shape, if strides reach its elements: a window of a ring with
    two axes as one, or what was seen so under its own shape again.
    """
    old = cast(AnyBuffer, place.type).get_shape()
    if old == tuple(shape):
        return place
    whole = scope.shown.get(place)
    if whole is not None and cast(AnyBuffer, whole.type).get_shape() == tuple(shape):
        return whole
    if isinstance(place.owner, mem.WindowOp):
        axis = collapsed_axis(old, shape)
        if axis is None:
            return None
        seen = scope.builder.insert(mem.CollapseOp(place, axis)).result
    elif (seen := reshaped_view(scope.builder, place, shape)) is None:
        return None
    scope.shown[seen] = place
    return seen


def _is_static(buffer: SSAValue) -> bool:
    """Return `True` if the offset of a buffer in the whole one is known."""
    type_ = cast(AnyBuffer, buffer.type)
    if not isinstance(type_.layout, StridedLayoutAttr):
        return isinstance(type_.layout, NoneAttr)
    return type_.layout.get_offset() is not None


def _layout(buffer: SSAValue) -> tuple[int, tuple[int, ...]]:
    """The offset from the whole buffer, and the strides, in elements."""
    type_ = cast(AnyBuffer, buffer.type)
    offset = (
        type_.layout.get_offset() if isinstance(type_.layout, StridedLayoutAttr) else 0
    )
    strides = type_.get_strides()
    if offset is None or strides is None or None in strides:
        raise DiagnosticException(f"expected a buffer of static layout, got {type_}")
    return offset, tuple(cast(Sequence[int], strides))


def _view(
    builder: Builder,
    source: SSAValue,
    shape: Sequence[int],
    offset: int,
    strides: Sequence[int],
) -> SSAValue:
    """A view of the whole buffer that `source` shows, or is."""
    while isinstance(owner := source.owner, SHOWING):
        source = owner.source
    type_ = cast(AnyBuffer, source.type)
    is_whole = offset == 0 and tuple(strides) == row_major(shape)
    layout = NoneAttr() if is_whole else StridedLayoutAttr(list(strides), offset)
    made = memref.ReinterpretCastOp.from_dynamic(
        source,
        [offset],
        list(shape),
        list(strides),
        MemRefType(type_.element_type, shape, layout, type_.memory_space),
    )
    return builder.insert(made).result
