"""
Lowering of slices and reshapes of tiles to strided views of buffers, without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, NoneAttr, StridedLayoutAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects import mem
from tlf.dialects.collapsing_interface import find_collapsed_axis
from tlf.dialects.interfaces import MovementInterface
from tlf.dialects.slice_views import row_major_strides, strides_of_reshaped_view
from tlf.dialects.types import memref_type, tensor_type
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState


def build_strided_slice_view(
    builder: Builder, source: SSAValue, op: MovementInterface
) -> SSAValue:
    """Build the view of a buffer for a movement that is a strided slice."""
    offset, strides = _static_offset_and_strides(source)
    accesses = op.indexing_maps()[0] or ()
    for access, stride in zip(accesses, strides, strict=True):
        offset += access.offset * stride
    steps = [access.terms[0][1] for access in accesses]
    view_strides = [step * stride for step, stride in zip(steps, strides, strict=True)]
    shape = tensor_type(op.results[0]).get_shape()
    return _build_view_of_allocation(builder, source, shape, offset, view_strides)


VIEW_OPERATIONS = memref.ReinterpretCastOp | memref.SubviewOp
"""View operations whose result type gives the offset in the allocated buffer."""


def reshape_strided_buffer(
    builder: Builder, source: SSAValue, shape: Sequence[int]
) -> SSAValue | None:
    """Build a reshaped view of a strided buffer, if strides allow it."""
    if not _has_static_offset(source):
        return None
    offset, strides = _static_offset_and_strides(source)
    old = memref_type(source).get_shape()
    view_strides = strides_of_reshaped_view(old, strides, shape)
    return (
        None
        if view_strides is None
        else _build_view_of_allocation(builder, source, shape, offset, view_strides)
    )


def reshape_buffer_or_window(
    state: BufferizationState, buffer: SSAValue, shape: Sequence[int]
) -> SSAValue | None:
    """Return a reshaped view of a buffer or ring window, if strides allow it."""
    old = memref_type(buffer).get_shape()
    if old == tuple(shape):
        return buffer
    original = state.shown.get(buffer)
    if original is not None and memref_type(original).get_shape() == tuple(shape):
        return original
    if isinstance(buffer.owner, mem.WindowOp):
        axis = find_collapsed_axis(old, shape)
        if axis is None:
            return None
        view = state.builder.insert(mem.CollapseOp(buffer, axis)).result
    elif (view := reshape_strided_buffer(state.builder, buffer, shape)) is None:
        return None
    state.shown[view] = buffer
    return view


def _has_static_offset(buffer: SSAValue) -> bool:
    """Return `True` if the offset in the allocated buffer is static."""
    type_ = memref_type(buffer)
    if not isinstance(type_.layout, StridedLayoutAttr):
        return isinstance(type_.layout, NoneAttr)
    return type_.layout.get_offset() is not None


def _static_offset_and_strides(buffer: SSAValue) -> tuple[int, tuple[int, ...]]:
    """Return the offset in the allocated buffer and the strides, in elements."""
    type_ = memref_type(buffer)
    offset = (
        type_.layout.get_offset() if isinstance(type_.layout, StridedLayoutAttr) else 0
    )
    strides = type_.get_strides()
    if offset is None or strides is None or None in strides:
        raise DiagnosticException(f"expected a buffer of static layout, got {type_}")
    return offset, tuple(cast(Sequence[int], strides))


def _build_view_of_allocation(
    builder: Builder,
    source: SSAValue,
    shape: Sequence[int],
    offset: int,
    strides: Sequence[int],
) -> SSAValue:
    """Build a view of the allocated buffer that `source` is a view of."""
    while isinstance(owner := source.owner, VIEW_OPERATIONS):
        source = owner.source
    type_ = memref_type(source)
    is_whole = offset == 0 and tuple(strides) == row_major_strides(shape)
    layout = NoneAttr() if is_whole else StridedLayoutAttr(list(strides), offset)
    view = memref.ReinterpretCastOp.from_dynamic(
        source,
        [offset],
        list(shape),
        list(strides),
        MemRefType(type_.element_type, shape, layout, type_.memory_space),
    )
    return builder.insert(view).result
