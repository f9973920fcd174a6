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

from tlf.analysis.buffers.in_place_subviews import enclosing_tensor_of
from tlf.analysis.buffers.ring_buffers import PASS_NAME, RingBuffer, trip_counts
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.affine_values import insert_apply
from tlf.dialects.graph import add_remark
from tlf.dialects.mem import Index
from tlf.dialects.types import AnyTensor, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import build_subview
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer, copy_buffer
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.strided_views import reshape_buffer, reshape_strided


def resolve_destination(
    scope: BufferizationState, value: SSAValue
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the destination of a new tile and its storage: the requested destination, an
    in-place subview, slices of a ring, or a new buffer.
    """
    type_ = tensor_type(value)
    if (buffer := scope.destinations.get(value)) is not None:
        return buffer, SharedStorage()
    if (buffer := _in_place_subview(scope, value)) is not None:
        return buffer
    if (ring := scope.rings.nexts.get(value)) is not None:
        scope.moves.wait(scope.builder, writes=[ring.storage])
        ring.next_value = _next_slices(scope, ring)
        buffer = reshape_buffer(scope, ring.next_value, type_.get_shape())
        assert buffer is not None
        return buffer, SharedStorage(enclosing=ring.storage)
    if (ring := scope.rings.inits.get(value)) is not None:
        ring.buffer = scope.allocate(_ring_type(ring))
        ring.initial_value = _first_window_view(scope.builder, ring, ring.buffer)
        buffer = reshape_buffer(scope, ring.initial_value, type_.get_shape())
        assert buffer is not None
        return buffer, SharedStorage()
    return scope.allocate(type_), SharedStorage()


def _in_place_subview(
    scope: BufferizationState, value: SSAValue
) -> tuple[SSAValue, SharedStorage] | None:
    """Return the in-place subview that a tile is inserted into, if possible."""
    if (insertion := scope.parts.get(value)) is None:
        return None
    tensor, shape = enclosing_tensor_of(insertion), tensor_type(value).get_shape()
    offsets = scope.convert_indices(insertion.mixed_offsets)
    subview = build_subview(
        scope.builder, scope.values[tensor], offsets, insertion.extents
    )
    if shape == insertion.extents:
        view = subview
    elif (view := reshape_strided(scope.builder, subview, shape)) is None:
        return None
    scope.made[insertion] = subview
    return view, SharedStorage(enclosing=scope.storages[tensor].outermost)


def open_ring(scope: BufferizationState, ring: RingBuffer) -> None:
    """Store the first window of a loop in its ring, before the loop."""
    init = ring.init
    source = scope.operand(init)
    if ring.initial_value is source and _try_take_over(
        scope, ring, scope.storages[init]
    ):
        return
    if ring.slots == ring.extent and not ring.has_outer_yield:
        ring.buffer = acquire_writable_buffer(scope, ring.loop, init)[0]
        return
    scope.wait_before_read(init)
    ring.buffer = scope.allocate(_ring_type(ring))
    copy_buffer(
        scope, ring.loop, source, _first_window_view(scope.builder, ring, ring.buffer)
    )


def _try_take_over(
    scope: BufferizationState, ring: RingBuffer, storage: SharedStorage
) -> bool:
    inits = [each for each in ring.loop.inits if scope.storages.get(each) is storage]
    if len(inits) != 1 or not scope.liveness.try_reuse(storage, ring.loop):
        return False
    scope.moves.wait(scope.builder, writes=[storage])
    return True


def bind_carried_window(scope: BufferizationState, ring: RingBuffer) -> None:
    """Bind the carried window of a ring at the start of an iteration."""
    window = _build_window(scope, ring, _slice_position(scope, ring, 0), ring.extent)
    scope.bind(ring.loop.carried_values[ring.carried_index], window, ring.storage)


def advance_window(
    scope: BufferizationState, op: tile.RollOp, ring: RingBuffer
) -> None:
    """Advance a ring window; copy the next slices unless they are in the ring."""
    if scope.operand(op.next) is ring.next_value:
        scope.storages[op.next].is_writable = False
    else:
        add_remark(op, PASS_NAME, "missed", "the next slices of the window are copied")
        scope.wait_before_read(op.next)
        scope.moves.wait(scope.builder, writes=[ring.storage])
        copy_buffer(scope, op, scope.operand(op.next), _next_slices(scope, ring))
    window = _build_window(
        scope, ring, _slice_position(scope, ring, ring.new_slices), ring.extent
    )
    scope.bind(op.result, window, ring.storage)


def close_ring(scope: BufferizationState, ring: RingBuffer) -> None:
    """Bind the final window of a ring to the loop result."""
    result = ring.loop.results[ring.carried_index]
    if not result.uses:
        return
    trips = [count or 0 for count in trip_counts(ring.loop)]
    window = _build_window(
        scope, ring, prod(trips) * ring.new_slices % ring.slots, ring.extent
    )
    scope.bind(result, window, SharedStorage(is_writable=False))


def _ring_type(ring: RingBuffer) -> AnyTensor:
    """Return the tile type of all slots of a ring."""
    window = tensor_type(ring.roll.window)
    shape = list(window.get_shape())
    shape[ring.axis] = ring.slots
    return TensorType(window.element_type, shape, window.encoding)


def _first_window_view(
    builder: Builder, ring: RingBuffer, buffer: SSAValue
) -> SSAValue:
    """Build the subview of a ring's buffer that contains the first window."""
    shape = tensor_type(ring.init).get_shape()
    return build_subview(builder, buffer, [0] * len(shape), shape)


def _next_slices(scope: BufferizationState, ring: RingBuffer) -> SSAValue:
    """Build the window of the slices behind the current window of an iteration."""
    return _build_window(
        scope, ring, _slice_position(scope, ring, ring.extent), ring.new_slices
    )


def _build_window(
    scope: BufferizationState, ring: RingBuffer, position: Index, count: int
) -> SSAValue:
    """Build a ring window of `count` slices that starts at `position`."""
    assert ring.buffer is not None
    sizes = list(tensor_type(ring.roll.window).get_shape())
    offsets: list[Index] = [0] * len(sizes)
    offsets[ring.axis], sizes[ring.axis] = position, count
    window = mem.WindowOp(ring.buffer, offsets, sizes, ring.axis)
    return scope.builder.insert(window).result


def _slice_position(scope: BufferizationState, ring: RingBuffer, shift: int) -> Index:
    """Return the slice `shift` behind the window start, before the modulo of slots."""
    loop = ring.loop
    operands: list[SSAValue] = []
    total: AffineExpr = AffineExpr.constant(shift)

    def to_expression(index: Index) -> AffineExpr:
        if isinstance(index, int):
            return AffineExpr.constant(index)
        operands.append(index)
        return AffineExpr.dimension(len(operands) - 1)

    slices = ring.new_slices
    nest = zip(
        loop.mixed_lower, loop.step_values, loop.induction_variables, strict=True
    )
    trips = [count or 0 for count in trip_counts(loop)]
    for (lower, step, variable), count in reversed(list(zip(nest, trips, strict=True))):
        distance = to_expression(scope.convert_index(variable))
        if lower != 0:
            distance = distance - to_expression(scope.convert_index(lower))
        if slices % step:
            total = distance // step * slices + total
        else:
            total = distance * (slices // step) + total
        slices *= count
    if not operands:
        return shift
    if total == AffineExpr.dimension(0):
        return operands[0]
    return insert_apply(scope.builder, total, operands)
