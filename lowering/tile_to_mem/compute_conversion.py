"""
Lowering of views, movements, maps, scans and accumulations on tiles to structured
compute on buffers.
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
    ScanInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.slice_views import is_strided_slice, row_major_strides
from tlf.dialects.tile import level_of, with_axis_order
from tlf.dialects.types import scalar_attribute, scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import (
    is_contiguous,
    reshape_contiguous_buffer,
    restride_contiguous,
)
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer, copy_buffer
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.strided_views import (
    build_strided_slice_view,
    reshape_buffer_or_window,
)
from tlf.lowering.tile_to_mem.structured_compute import (
    StructuredMap,
    build_scan_body,
    is_permutation_or_broadcast,
    offset_of_first_read_element,
    result_strides_in_operand_buffer,
    structured_form_of_accumulation,
    structured_map_of_movement,
)


def convert_view_to_reshape(state: BufferizationState, op: ViewInterface) -> None:
    """Convert a view to a reshaped buffer, copied if its strides allow no view."""
    source = op.operands[0]
    if state.is_lowered_to_value(source.type):
        convert_map(state, op, structured_map_of_movement(op))
        return
    state.wait_for_writes_in_flight(source)
    buffer, storage = state.lowered_operand_of(source), state.storages[source]
    if (subview := _in_place_subview_of_view(state, op)) is not None:
        state.bind_lowered_value(op.results[0], subview, storage)
        return
    shape = tensor_type(op.results[0]).get_shape()
    if not is_contiguous(buffer):
        if (view := _reshape_in_place_subview(state, op, buffer)) is not None:
            state.bind_lowered_value(op.results[0], view, storage)
            return
        buffer = state.allocate_tile_buffer(with_axis_order(tensor_type(source), ()))
        copy_buffer(state, op, state.lowered_operand_of(source), buffer)
        storage = SharedStorage()
    state.bind_lowered_value(
        op.results[0], reshape_contiguous_buffer(state.builder, buffer, shape), storage
    )


def _in_place_subview_of_view(
    state: BufferizationState, op: ViewInterface
) -> SSAValue | None:
    """Return the subview of a tensor that a view's operand was built into, if any."""
    for use in op.results[0].uses:
        if isinstance(use.operation, tile.DesliceOp) and use.operation in state.made:
            return state.made[use.operation]
    return None


def _reshape_in_place_subview(
    state: BufferizationState, op: ViewInterface, subview: SSAValue
) -> SSAValue | None:
    """
    Return a reshaped subview of a tensor if strides express it and the level is not the
    innermost.
    """
    innermost = next(iter(state.target.levels))
    if level_of(op.results[0].type) == innermost:
        return None
    return reshape_buffer_or_window(
        state, subview, tensor_type(op.results[0]).get_shape()
    )


def convert_movement(state: BufferizationState, op: MovementInterface) -> None:
    """
    Convert a movement to a copying map, or to a copy of a strided view. A strided slice
    of a tensor in the outermost level becomes a view, without a copy.
    """
    if is_strided_slice(op) and level_of(op.results[0].type) is None:
        source = op.operands[0]
        state.wait_for_writes_in_flight(source)
        view = build_strided_slice_view(
            state.builder, state.lowered_operand_of(source), op
        )
        state.bind_lowered_value(op.results[0], view, state.storages[source])
        return
    if is_permutation_or_broadcast(op) or state.is_lowered_to_value(op.results[0].type):
        convert_map(state, op, structured_map_of_movement(op))
        return
    source, result = op.operands[0], tensor_type(op.results[0])
    state.wait_for_writes_in_flight(source)
    buffer = state.lowered_operand_of(source)
    if not is_contiguous(buffer):
        buffer = state.allocate_tile_buffer(with_axis_order(tensor_type(source), ()))
        copy_buffer(state, op, state.lowered_operand_of(source), buffer)
    shape = tensor_type(source).get_shape()
    if (
        strides := result_strides_in_operand_buffer(op, row_major_strides(shape))
    ) is None:
        raise BufferizationError(op, "cannot move elements that repeat along an axis")
    first = offset_of_first_read_element(op, row_major_strides(shape))
    source_view = restride_contiguous(
        state.builder, buffer, result.get_shape(), strides, first
    )
    destination = state.allocate_tile_buffer(result)
    copy_buffer(state, op, source_view, destination)
    state.bind_lowered_value(op.results[0], destination, SharedStorage())


def convert_map(
    state: BufferizationState, op: TilingInterface, map_: StructuredMap
) -> None:
    """
    Build the `mem.map` of an elementwise operation or a movement, and bind its result.
    """
    inputs = [state.lowered_operand_of(value) for value in map_.inputs]
    result = op.results[0]
    state.wait_for_writes_in_flight(*map_.inputs)
    if state.is_lowered_to_value(result.type):
        map_op = mem.MapOp(inputs, [], map_.domain, map_.maps, map_.body, [result.type])
        state.bind_lowered_value(
            result, state.builder.insert(map_op).results[0], SharedStorage()
        )
        return
    destination, storage = _destination_buffer_of_map(state, op, map_)
    state.builder.insert(
        mem.MapOp(inputs, [destination], map_.domain, map_.maps, map_.body)
    )
    state.bind_lowered_value(result, destination, storage)


def _destination_buffer_of_map(
    state: BufferizationState, op: TilingInterface, map_: StructuredMap
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
        storage = state.storages[value]
        aliases = {other for other in map_.inputs if state.storages[other] is storage}
        if aliases == {value} and state.liveness.try_reuse_dead_storage(storage, op):
            state.moves.wait_for_conflicting_moves(state.builder, writes=[storage])
            return state.values[value], storage
    return state.allocate_tile_buffer(result), SharedStorage()


def convert_accumulation(
    state: BufferizationState, op: ReductionInterface | ContractionInterface
) -> None:
    """Convert a reduction or contraction; it overwrites its initial accumulator."""
    result = tensor_type(op.results[0])
    if result.element_type != op.accumulator_type:
        raise BufferizationError(
            op,
            f"expected a result of {op.accumulator_type}, the type it accumulates in, "
            f"got {result.element_type}: run `graph-decompose`",
        )
    compute = structured_form_of_accumulation(op)
    inputs = [state.lowered_operand_of(value) for value in op.inputs]
    state.wait_for_writes_in_flight(*op.inputs)
    total, storage = _initial_accumulator_buffer(state, op)
    if not state.is_lowered_to_value(result):
        view = reshape_contiguous_buffer(state.builder, total, compute.output_shape)
        state.builder.insert(compute.build(inputs, view))
        state.bind_lowered_value(op.results[0], total, storage)
        return
    if compute.output_shape != result.get_shape():
        raise BufferizationError(op, "cannot split an axis of a tile of registers")
    accumulation = state.builder.insert(compute.build(inputs, total))
    state.bind_lowered_value(op.results[0], accumulation.results[0], SharedStorage())


def convert_scan(state: BufferizationState, op: ScanInterface) -> None:
    """Convert a scan of a tile of values."""
    operand, result = op.operands[0], tensor_type(op.results[0])
    if not state.is_lowered_to_value(result):
        raise BufferizationError(op, "cannot scan a buffer: run `graph-decompose`")
    domain = result.get_shape()
    maps = [AffineMap.identity(len(domain))] * 2
    scan = mem.ScanOp(
        state.lowered_operand_of(operand),
        op.scan_iterator,
        domain,
        maps,
        build_scan_body(op),
        result,
        op.is_reversed,
    )
    state.bind_lowered_value(
        op.results[0], state.builder.insert(scan).value, SharedStorage()
    )


def _initial_accumulator_buffer(
    state: BufferizationState, op: AccumulatingInterface
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the initial accumulator, which is updated in place if it is a buffer, and its
    storage.
    """
    result = tensor_type(op.results[0])
    if op.init_value is None:
        neutral = scalar_attribute(op.neutral_element(), result.element_type)
        return state.build_filled_tile(result, scalar_value(neutral)), SharedStorage()
    if state.is_lowered_to_value(result):
        return state.lowered_operand_of(op.init_value), SharedStorage()
    buffer, storage = acquire_writable_buffer(state, op, op.init_value)
    if not is_contiguous(buffer):
        raise BufferizationError(op, "expected to accumulate on a contiguous tile")
    return buffer, storage
