"""
Lowering of rolling windows of tiles to ring buffers: allocation, position per iteration
and advance.
"""

from __future__ import annotations

from math import prod

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr

from tlf.analysis.buffers.in_place_subviews import enclosing_destination_of
from tlf.analysis.buffers.ring_buffers import (
    PASS_NAME,
    RingBuffer,
    trip_counts_of_loops,
)
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.affine_values import insert_affine_apply
from tlf.dialects.graph import add_remark
from tlf.dialects.mem import Index
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import build_subview
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer, copy_buffer
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.strided_views import (
    reshape_buffer_or_window,
    reshape_strided_buffer,
)


def resolve_tile_destination(
    state: BufferizationState, value: SSAValue
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the destination of a new tile and its storage: the requested destination, an
    in-place subview, slices of a ring, or a new buffer.
    """
    type_ = tensor_type(value)
    if (buffer := state.destinations.get(value)) is not None:
        return buffer, SharedStorage()
    if (buffer := _in_place_subview_of_insertion(state, value)) is not None:
        return buffer
    if (ring := state.rings.rings_by_next_slices.get(value)) is not None:
        state.moves.wait_for_conflicting_moves(state.builder, writes=[ring.storage])
        ring.next_value = _build_window_of_next_slices(state, ring)
        buffer = reshape_buffer_or_window(state, ring.next_value, type_.get_shape())
        assert buffer is not None
        return buffer, SharedStorage(enclosing_storage=ring.storage)
    if (ring := state.rings.rings_by_first_window.get(value)) is not None:
        ring.buffer = state.allocate_tile_buffer(_tile_type_of_ring(ring))
        ring.initial_value = _build_first_window_subview(
            state.builder, ring, ring.buffer
        )
        buffer = reshape_buffer_or_window(state, ring.initial_value, type_.get_shape())
        assert buffer is not None
        return buffer, SharedStorage()
    return state.allocate_tile_buffer(type_), SharedStorage()


def _in_place_subview_of_insertion(
    state: BufferizationState, value: SSAValue
) -> tuple[SSAValue, SharedStorage] | None:
    """Return the in-place subview that a tile is inserted into, if possible."""
    if (insertion := state.parts.get(value)) is None:
        return None
    tensor, shape = enclosing_destination_of(insertion), tensor_type(value).get_shape()
    offsets = state.convert_index_operands(insertion.mixed_offsets)
    subview = build_subview(
        state.builder, state.values[tensor], offsets, insertion.valid_box_extents
    )
    if shape == insertion.valid_box_extents:
        view = subview
    elif (view := reshape_strided_buffer(state.builder, subview, shape)) is None:
        return None
    state.made[insertion] = subview
    return view, SharedStorage(enclosing_storage=state.storages[tensor].outermost)


def store_first_window_in_ring(state: BufferizationState, ring: RingBuffer) -> None:
    """Store the first window of a loop in its ring, before the loop."""
    init = ring.first_window
    source = state.lowered_operand_of(init)
    if ring.initial_value is source and _try_reuse_window_buffer(
        state, ring, state.storages[init]
    ):
        return
    if ring.slot_count == ring.window_extent and not ring.has_outer_yield:
        ring.buffer = acquire_writable_buffer(state, ring.loop, init)[0]
        return
    state.wait_for_writes_in_flight(init)
    ring.buffer = state.allocate_tile_buffer(_tile_type_of_ring(ring))
    copy_buffer(
        state,
        ring.loop,
        source,
        _build_first_window_subview(state.builder, ring, ring.buffer),
    )


def _try_reuse_window_buffer(
    state: BufferizationState, ring: RingBuffer, storage: SharedStorage
) -> bool:
    """Return `True` if the ring can take over dead `storage`; wait for its moves."""
    inits = [each for each in ring.loop.inits if state.storages.get(each) is storage]
    if len(inits) != 1 or not state.liveness.try_reuse_dead_storage(storage, ring.loop):
        return False
    state.moves.wait_for_conflicting_moves(state.builder, writes=[storage])
    return True


def bind_carried_window(state: BufferizationState, ring: RingBuffer) -> None:
    """Bind the carried window of a ring at the start of an iteration."""
    window = _build_ring_window(
        state, ring, _ring_index_of_slice(state, ring, 0), ring.window_extent
    )
    state.bind_lowered_value(
        ring.loop.carried_values[ring.carried_index], window, ring.storage
    )


def advance_ring_window(
    state: BufferizationState, op: tile.RollOp, ring: RingBuffer
) -> None:
    """Advance a ring window; copy the next slices unless they are in the ring."""
    if state.lowered_operand_of(op.next) is ring.next_value:
        state.storages[op.next].is_writable = False
    else:
        add_remark(op, PASS_NAME, "missed", "the next slices of the window are copied")
        state.wait_for_writes_in_flight(op.next)
        state.moves.wait_for_conflicting_moves(state.builder, writes=[ring.storage])
        copy_buffer(
            state,
            op,
            state.lowered_operand_of(op.next),
            _build_window_of_next_slices(state, ring),
        )
    window = _build_ring_window(
        state,
        ring,
        _ring_index_of_slice(state, ring, ring.new_slices),
        ring.window_extent,
    )
    state.bind_lowered_value(op.result, window, ring.storage)


def bind_final_window(state: BufferizationState, ring: RingBuffer) -> None:
    """
    Build the view of a ring's final window and bind it to the loop result, if that is
    used.
    """
    result = ring.loop.results[ring.carried_index]
    if not result.uses:
        return
    trips = [count or 0 for count in trip_counts_of_loops(ring.loop)]
    window = _build_ring_window(
        state, ring, prod(trips) * ring.new_slices % ring.slot_count, ring.window_extent
    )
    state.bind_lowered_value(result, window, SharedStorage(is_writable=False))


def _tile_type_of_ring(ring: RingBuffer) -> AnyTensor:
    """Return the tile type of all slots of a ring."""
    window = tensor_type(ring.roll.window)
    shape = list(window.get_shape())
    shape[ring.rolling_axis] = ring.slot_count
    return TensorType(window.element_type, shape, window.encoding)


def _build_first_window_subview(
    builder: Builder, ring: RingBuffer, buffer: SSAValue
) -> SSAValue:
    """Build the subview of a ring's buffer that contains the first window."""
    shape = tensor_type(ring.first_window).get_shape()
    return build_subview(builder, buffer, [0] * len(shape), shape)


def _build_window_of_next_slices(
    state: BufferizationState, ring: RingBuffer
) -> SSAValue:
    """Build the window of the slices behind the current window of an iteration."""
    return _build_ring_window(
        state,
        ring,
        _ring_index_of_slice(state, ring, ring.window_extent),
        ring.new_slices,
    )


def _build_ring_window(
    state: BufferizationState, ring: RingBuffer, start: Index, slice_count: int
) -> SSAValue:
    """Build a ring window of `slice_count` slices that starts at `start`."""
    assert ring.buffer is not None
    sizes = list(tensor_type(ring.roll.window).get_shape())
    offsets: list[Index] = [0] * len(sizes)
    offsets[ring.rolling_axis], sizes[ring.rolling_axis] = start, slice_count
    window = mem.WindowOp(ring.buffer, offsets, sizes, ring.rolling_axis)
    return state.builder.insert(window).result


def _ring_index_of_slice(
    state: BufferizationState, ring: RingBuffer, slice_offset: int
) -> Index:
    """
    Return the slice `slice_offset` behind the window start, before the modulo of slots.
    """
    loop = ring.loop
    operands: list[SSAValue] = []
    total: AffineExpr = AffineExpr.constant(slice_offset)

    def to_expression(index: Index) -> AffineExpr:
        if isinstance(index, int):
            return AffineExpr.constant(index)
        operands.append(index)
        return AffineExpr.dimension(len(operands) - 1)

    slices = ring.new_slices
    nest = zip(
        loop.mixed_lower_bounds, loop.step_values, loop.induction_variables, strict=True
    )
    trips = [count or 0 for count in trip_counts_of_loops(loop)]
    for (lower, step, variable), count in reversed(list(zip(nest, trips, strict=True))):
        distance = to_expression(state.convert_index_operand(variable))
        if lower != 0:
            distance = distance - to_expression(state.convert_index_operand(lower))
        if slices % step:
            total = distance // step * slices + total
        else:
            total = distance * (slices // step) + total
        slices *= count
    if not operands:
        return slice_offset
    if total == AffineExpr.dimension(0):
        return operands[0]
    return insert_affine_apply(state.builder, total, operands)
