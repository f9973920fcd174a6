"""
Lowering of slices and reshapes of tiles to strided views of buffers, without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.dialects import mem
from tlf.dialects.collapsing_interface import find_collapsed_axis
from tlf.dialects.interfaces import MovementInterface
from tlf.dialects.slice_views import strides_of_reshaped_view
from tlf.dialects.strided_buffers import (
    build_view_of_allocation,
    has_static_offset,
    static_offset_and_strides,
)
from tlf.dialects.types import memref_type, tensor_type
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState


def build_strided_slice_view(
    builder: Builder, source: SSAValue, op: MovementInterface
) -> SSAValue:
    """Build the view of a buffer for a movement that is a strided slice."""
    offset, strides = static_offset_and_strides(source)
    accesses = op.indexing_maps()[0] or ()
    for access, stride in zip(accesses, strides, strict=True):
        offset += access.offset * stride
    steps = [access.terms[0][1] for access in accesses]
    view_strides = [step * stride for step, stride in zip(steps, strides, strict=True)]
    shape = tensor_type(op.results[0]).get_shape()
    return build_view_of_allocation(builder, source, shape, offset, view_strides)


def reshape_strided_buffer(
    builder: Builder, source: SSAValue, shape: Sequence[int]
) -> SSAValue | None:
    """Build a reshaped view of a strided buffer, if strides allow it."""
    if not has_static_offset(source):
        return None
    offset, strides = static_offset_and_strides(source)
    old = memref_type(source).get_shape()
    view_strides = strides_of_reshaped_view(old, strides, shape)
    return (
        None
        if view_strides is None
        else build_view_of_allocation(builder, source, shape, offset, view_strides)
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
