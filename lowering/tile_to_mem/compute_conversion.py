"""
Lowering of views, movements, maps and accumulations on tiles to structured compute on
buffers.
"""

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
    """Convert a view to a reshaped buffer, copied if its strides allow no view."""
    source = op.operands[0]
    if scope.is_value(source.type):
        convert_map(scope, op, movement_map(op))
        return
    scope.wait_before_read(source)
    buffer, storage = scope.operand(source), scope.storages[source]
    if (subview := _in_place_subview(scope, op)) is not None:
        scope.bind(op.results[0], subview, storage)
        return
    shape = tensor_type(op.results[0]).get_shape()
    if not is_contiguous(buffer):
        if (view := _reshape_subview(scope, op, buffer)) is not None:
            scope.bind(op.results[0], view, storage)
            return
        buffer = scope.allocate(with_axis_order(tensor_type(source), ()))
        copy_buffer(scope, op, scope.operand(source), buffer)
        storage = SharedStorage()
    scope.bind(op.results[0], reshape_contiguous(scope.builder, buffer, shape), storage)


def _in_place_subview(scope: BufferizationState, op: ViewInterface) -> SSAValue | None:
    """Return the subview of a tensor that a view's operand was built into, if any."""
    for use in op.results[0].uses:
        if isinstance(use.operation, tile.DesliceOp) and use.operation in scope.made:
            return scope.made[use.operation]
    return None


def _reshape_subview(
    scope: BufferizationState, op: ViewInterface, place: SSAValue
) -> SSAValue | None:
    """
    Return a reshaped subview of a tensor if strides express it and the level is not the
    innermost.
    """
    innermost = next(iter(scope.target.levels))
    if level_of(op.results[0].type) == innermost:
        return None
    return reshape_buffer(scope, place, tensor_type(op.results[0]).get_shape())


def convert_movement(scope: BufferizationState, op: MovementInterface) -> None:
    """
    Convert a movement to a copying map, or to a copy of a strided view. A strided slice
    of a tensor in the outermost level becomes a view.
    """
    if is_strided_slice(op) and level_of(op.results[0].type) is None:
        source = op.operands[0]
        scope.wait_before_read(source)
        view = slice_view(scope.builder, scope.operand(source), op)
        scope.bind(op.results[0], view, scope.storages[source])
        return
    if is_permutation_or_broadcast(op) or scope.is_value(op.results[0].type):
        convert_map(scope, op, movement_map(op))
        return
    source, result = op.operands[0], tensor_type(op.results[0])
    scope.wait_before_read(source)
    buffer = scope.operand(source)
    if not is_contiguous(buffer):
        buffer = scope.allocate(with_axis_order(tensor_type(source), ()))
        copy_buffer(scope, op, scope.operand(source), buffer)
    shape = tensor_type(source).get_shape()
    if (strides := element_strides(op, row_major_strides(shape))) is None:
        raise BufferizationError(op, "cannot move elements that repeat along an axis")
    first = first_element_offset(op, row_major_strides(shape))
    source_view = restride_contiguous(
        scope.builder, buffer, result.get_shape(), strides, first
    )
    destination = scope.allocate(result)
    copy_buffer(scope, op, source_view, destination)
    scope.bind(op.results[0], destination, SharedStorage())


def convert_map(
    scope: BufferizationState, op: TilingInterface, map_: StructuredMap
) -> None:
    """Convert an elementwise operation or a movement to a map."""
    inputs = [scope.operand(value) for value in map_.inputs]
    result = op.results[0]
    scope.wait_before_read(*map_.inputs)
    if scope.is_value(result.type):
        map_op = mem.MapOp(inputs, [], map_.domain, map_.maps, map_.body, [result.type])
        scope.bind(result, scope.builder.insert(map_op).results[0], SharedStorage())
        return
    destination, storage = _map_destination(scope, op, map_)
    scope.builder.insert(
        mem.MapOp(inputs, [destination], map_.domain, map_.maps, map_.body)
    )
    scope.bind(result, destination, storage)


def _map_destination(
    scope: BufferizationState, op: TilingInterface, map_: StructuredMap
) -> tuple[SSAValue, SharedStorage]:
    """Return the buffer of a dead input of equal type, or a new buffer."""
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
        aliases = {other for other in map_.inputs if scope.storages[other] is storage}
        if aliases == {value} and scope.liveness.try_reuse(storage, op):
            scope.moves.wait(scope.builder, writes=[storage])
            return scope.values[value], storage
    return scope.allocate(result), SharedStorage()


def convert_accumulation(
    scope: BufferizationState, op: ReductionInterface | ContractionInterface
) -> None:
    """Convert a reduction or contraction; it overwrites its initial accumulator."""
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
        view = reshape_contiguous(scope.builder, total, compute.output_shape)
        scope.builder.insert(compute.build(inputs, view))
        scope.bind(op.results[0], total, storage)
        return
    if compute.output_shape != result.get_shape():
        raise BufferizationError(op, "cannot split an axis of a tile of registers")
    accumulation = scope.builder.insert(compute.build(inputs, total))
    scope.bind(op.results[0], accumulation.results[0], SharedStorage())


def _initial_accumulator(
    scope: BufferizationState, op: AccumulatingInterface
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the initial accumulator, which is updated in place if it is a buffer, and its
    storage.
    """
    result = tensor_type(op.results[0])
    if op.init_value is None:
        neutral = scalar_attribute(op.neutral_element(), result.element_type)
        return scope.build_filled(result, scalar_value(neutral)), SharedStorage()
    if scope.is_value(result):
        return scope.operand(op.init_value), SharedStorage()
    buffer, storage = acquire_writable_buffer(scope, op, op.init_value)
    if not is_contiguous(buffer):
        raise BufferizationError(op, "expected to accumulate on a contiguous tile")
    return buffer, storage
