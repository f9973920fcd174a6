"""Lowering of gathers, scatters and window loads on tiles to `mem`."""

from __future__ import annotations

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.combining_kind import CombiningKind
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.ring_windows import resolve_tile_destination


def convert_gather(state: BufferizationState, op: tile.GatherOp) -> None:
    """Convert a gather to a load, or to a gathering move into a buffer."""
    type_ = tensor_type(op.result)
    _check_gather_is_load_or_move(state, op)
    source, offsets = (
        state.lowered_operand_of(op.source),
        state.convert_index_operands(op.mixed_offsets),
    )
    indices = state.lowered_operand_of(op.indices)
    state.wait_for_writes_in_flight(op.source, op.indices)
    fill = None if op.fill is None else scalar_value(op.fill)
    maps, axis = (op.table_map, op.index_map), op.indexed_axis
    access = source, offsets, axis, indices
    if state.is_lowered_to_value(type_):
        load = mem.GatherOp(*access, maps, type_, fill, op.valid_box_extents)
        state.bind_lowered_value(
            op.result, state.builder.insert(load).value, SharedStorage()
        )
        return
    destination, storage = resolve_tile_destination(state, op.result)
    move = mem.DmaGatherOp(*access, destination, maps, op.valid_box_extents, fill)
    token = state.builder.insert(move).token
    for read in (op.source, op.indices):
        state.moves.record_move_in_flight(token, state.storages[read], storage)
    state.bind_lowered_value(op.result, destination, storage)


def _check_gather_is_load_or_move(state: BufferizationState, op: tile.GatherOp) -> None:
    """
    Raise `BufferizationError` unless a load, or a move between buffers, can implement a
    gather.
    """
    level, source_level = (
        state.level_of_type(op.result.type),
        state.level_of_type(op.source.type),
    )
    is_value = state.is_lowered_to_value(op.result.type)
    if not is_value and state.target.levels[level].indexed_row is None:
        raise BufferizationError(op, "cannot gather into a buffer")
    if source_level != state.target.outermost_level.name:
        outermost = state.target.outermost_level.name
        raise BufferizationError(
            op, f"expected a source in {outermost}, got {source_level}"
        )
    if is_value and not state.is_lowered_to_value(op.indices.type):
        raise BufferizationError(op, "expected indices that are a tile of registers")
    if (index_level := state.level_of_type(op.indices.type)) not in (
        level,
        source_level,
    ):
        raise BufferizationError(op, f"expected indices in {level}, got {index_level}")


def convert_im2col(state: BufferizationState, op: tile.Im2colOp) -> None:
    """Convert a load of windows to a load of a value."""
    type_ = tensor_type(op.result)
    if not state.is_lowered_to_value(type_):
        raise BufferizationError(op, "cannot load windows into a buffer")
    outermost = state.target.outermost_level.name
    if (level := state.level_of_type(op.source.type)) != outermost:
        raise BufferizationError(op, f"expected a source in {outermost}, got {level}")
    source = state.lowered_operand_of(op.source)
    offsets = state.convert_index_operands(op.mixed_offsets)
    state.wait_for_writes_in_flight(op.source)
    fill = None if op.fill is None else scalar_value(op.fill)
    access = op.delinearized_access
    load = mem.Im2colOp(source, offsets, access, type_, fill, op.valid_box_extents)
    value = state.builder.insert(load).value
    state.bind_lowered_value(op.result, value, SharedStorage())


def convert_scatter(state: BufferizationState, op: tile.ScatterOp) -> None:
    """
    Convert a scatter to a combination of a value with its destination, or to a move
    that updates the destination in place.
    """
    if op.combining_kind is not None:
        _convert_combination(state, op, op.combining_kind)
        return
    _check_scatter_is_move(state, op)
    destination, storage = acquire_writable_buffer(state, op, op.destination)
    source, indices = (
        state.lowered_operand_of(op.source),
        state.lowered_operand_of(op.indices),
    )
    state.wait_for_writes_in_flight(op.source, op.indices)
    state.moves.wait_for_conflicting_moves(state.builder, writes=[storage])
    offsets, maps = (
        state.convert_index_operands(op.mixed_offsets),
        (op.table_map, op.index_map),
    )
    access = destination, offsets, op.indexed_axis, indices
    move = mem.DmaScatterOp(
        source, *access, maps, op.valid_box_extents, op.is_scatter_add
    )
    token = state.builder.insert(move).token
    for read in (op.source, op.indices):
        state.moves.record_move_in_flight(token, state.storages[read], storage)
    state.bind_lowered_value(op.result, destination, storage)


def _convert_combination(
    state: BufferizationState, op: tile.ScatterOp, kind: CombiningKind
) -> None:
    """Convert a combination of a tile of registers with its destination in memory."""
    for tile_operand in (op.source, op.indices):
        if not state.is_lowered_to_value(tile_operand.type):
            raise BufferizationError(
                op, "expected updates and indices that are tiles of registers"
            )
    destination, storage = state.values[op.destination], state.storages[op.destination]
    if not storage.is_writable and not storage.is_destination:
        raise BufferizationError(
            op, "expected a writable destination: arguments are read-only"
        )
    combination = mem.ScatterOp(
        state.lowered_operand_of(op.source),
        destination,
        state.convert_index_operands(op.mixed_offsets),
        op.indexed_axis,
        state.lowered_operand_of(op.indices),
        (op.table_map, op.index_map),
        kind,
    )
    state.builder.insert(combination)
    state.bind_lowered_value(op.result, destination, storage)


def _check_scatter_is_move(state: BufferizationState, op: tile.ScatterOp) -> None:
    """
    Raise `BufferizationError` unless a move between buffers can implement a scatter.
    """
    level, destination_level = (
        state.level_of_type(op.source.type),
        state.level_of_type(op.destination.type),
    )
    if destination_level != state.target.outermost_level.name:
        outermost = state.target.outermost_level.name
        raise BufferizationError(
            op, f"expected a destination in {outermost}, got {destination_level}"
        )
    if level == destination_level or state.target.levels[level].indexed_row is None:
        raise BufferizationError(op, f"cannot scatter from {level}")
    if (index_level := state.level_of_type(op.indices.type)) not in (
        level,
        destination_level,
    ):
        raise BufferizationError(op, f"expected indices in {level}, got {index_level}")
