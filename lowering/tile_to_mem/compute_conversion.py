"""Bufferise views, movements, maps and accumulations as structured compute."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    MovementInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_strided_slice, row_major_strides
from tlf.dialects.tile import level_of, with_axis_order
from tlf.dialects.types import scalar_attribute, scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import (
    is_contiguous,
    reshape_contiguous,
    restride_contiguous,
)
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer, copy_buffer
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.strided_views import reshape_buffer, slice_view
from tlf.lowering.tile_to_mem.structured_compute import (
    StructuredMap,
    element_strides,
    first_element_offset,
    is_permutation_or_broadcast,
    movement_map,
    structured_accumulation,
)


def convert_view(scope: BufferizationState, op: ViewInterface) -> None:
    """The same buffer under another shape."""
    source = op.operands[0]
    if scope.is_value(source.type):
        convert_map(scope, op, movement_map(op))
        return
    scope.wait_before_read(source)
    place, storage = scope.operand(source), scope.storages[source]
    if (part := _in_place_subview(scope, op)) is not None:
        scope.bind(op.results[0], part, storage)
        return
    shape = tensor_type(op.results[0]).get_shape()
    if not is_contiguous(place):
        if (seen := _reshape_subview(scope, op, place)) is not None:
            scope.bind(op.results[0], seen, storage)
            return
        place = scope.allocate(with_axis_order(tensor_type(source), ()))
        copy_buffer(scope, op, scope.operand(source), place)
        storage = SharedStorage()
    scope.bind(op.results[0], reshape_contiguous(scope.builder, place, shape), storage)


def _in_place_subview(scope: BufferizationState, op: ViewInterface) -> SSAValue | None:
    """Return the subview of a tensor in which a view's operand was built in place."""
    for use in op.results[0].uses:
        if isinstance(use.operation, tile.DesliceOp) and use.operation in scope.made:
            return scope.made[use.operation]
    return None


def _reshape_subview(
    scope: BufferizationState, op: ViewInterface, place: SSAValue
) -> SSAValue | None:
    """Part of a tensor under another shape, where strides reach it."""
    nearest = next(iter(scope.target.levels))
    if level_of(op.results[0].type) == nearest:
        return None
    return reshape_buffer(scope, place, tensor_type(op.results[0]).get_shape())


def convert_movement(scope: BufferizationState, op: MovementInterface) -> None:
    """
    Convert a movement to a copying map, or to a strided view where possible. Part of a
    stored tensor is where it is.
    """
    if is_strided_slice(op) and level_of(op.results[0].type) is None:
        source = op.operands[0]
        scope.wait_before_read(source)
        part = slice_view(scope.builder, scope.operand(source), op)
        scope.bind(op.results[0], part, scope.storages[source])
        return
    if is_permutation_or_broadcast(op) or scope.is_value(op.results[0].type):
        convert_map(scope, op, movement_map(op))
        return
    source, result = op.operands[0], tensor_type(op.results[0])
    scope.wait_before_read(source)
    place = scope.operand(source)
    if not is_contiguous(place):
        place = scope.allocate(with_axis_order(tensor_type(source), ()))
        copy_buffer(scope, op, scope.operand(source), place)
    shape = tensor_type(source).get_shape()
    if (strides := element_strides(op, row_major_strides(shape))) is None:
        raise BufferizationError(op, "cannot move elements that repeat along an axis")
    first = first_element_offset(op, row_major_strides(shape))
    seen = restride_contiguous(scope.builder, place, result.get_shape(), strides, first)
    target = scope.allocate(result)
    copy_buffer(scope, op, seen, target)
    scope.bind(op.results[0], target, SharedStorage())


def convert_map(
    scope: BufferizationState, op: TilingInterface, map_: StructuredMap
) -> None:
    """An elementwise operation or a movement."""
    inputs = [scope.operand(value) for value in map_.inputs]
    result = op.results[0]
    scope.wait_before_read(*map_.inputs)
    if scope.is_value(result.type):
        made = mem.MapOp(inputs, [], map_.domain, map_.maps, map_.body, [result.type])
        scope.bind(result, scope.builder.insert(made).results[0], SharedStorage())
        return
    place, storage = _map_destination(scope, op, map_)
    scope.builder.insert(mem.MapOp(inputs, [place], map_.domain, map_.maps, map_.body))
    scope.bind(result, place, storage)


def _map_destination(
    scope: BufferizationState, op: TilingInterface, map_: StructuredMap
) -> tuple[SSAValue, SharedStorage]:
    """Return the buffer of a dead input that fits, or a new one."""
    result = tensor_type(op.results[0])
    identity = AffineMap.identity(len(map_.domain))
    for value, indexing in zip(map_.inputs, map_.maps, strict=False):
        operand = tensor_type(value)
        fits = operand.get_shape() == result.get_shape() and (
            operand.element_type == result.element_type
        )
        if not fits or indexing != identity:
            continue
        storage = scope.storages[value]
        others = {other for other in map_.inputs if scope.storages[other] is storage}
        if others == {value} and scope.liveness.try_reuse(storage, op):
            scope.moves.wait(scope.builder, writes=[storage])
            return scope.values[value], storage
    return scope.allocate(result), SharedStorage()


def convert_accumulation(
    scope: BufferizationState, op: ReductionInterface | ContractionInterface
) -> None:
    """A reduction or contraction, into what it starts from."""
    result = tensor_type(op.results[0])
    if result.element_type != op.accumulator_type:
        raise BufferizationError(
            op,
            f"expected a result of {op.accumulator_type}, the type it accumulates in, "
            f"got {result.element_type}: run `graph-decompose`",
        )
    compute = structured_accumulation(op)
    inputs = [scope.operand(value) for value in op.inputs]
    scope.wait_before_read(*op.inputs)
    total, storage = _initial_accumulator(scope, op)
    if not scope.is_value(result):
        seen = reshape_contiguous(scope.builder, total, compute.output_shape)
        scope.builder.insert(compute.build(inputs, seen))
        scope.bind(op.results[0], total, storage)
        return
    if compute.output_shape != result.get_shape():
        raise BufferizationError(op, "cannot split an axis of a tile of registers")
    made = scope.builder.insert(compute.build(inputs, total))
    scope.bind(op.results[0], made.results[0], SharedStorage())


def _initial_accumulator(
    scope: BufferizationState, op: AccumulatingInterface
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the initial value that the result is accumulated on in place, and its
    storage.
    """
    result = tensor_type(op.results[0])
    if op.init_value is None:
        neutral = scalar_attribute(op.neutral_element(), result.element_type)
        return scope.build_filled(result, scalar_value(neutral)), SharedStorage()
    if scope.is_value(result):
        return scope.operand(op.init_value), SharedStorage()
    place, storage = acquire_writable_buffer(scope, op, op.init_value)
    if not is_contiguous(place):
        raise BufferizationError(op, "expected to accumulate on a tile of its own")
    return place, storage
