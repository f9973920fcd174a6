"""Lowering of gathers and scatters on tiles to `mem`."""

from __future__ import annotations

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.ring_windows import resolve_destination


def convert_gather(scope: BufferizationState, op: tile.GatherOp) -> None:
    """Convert a gather to a load, or to a gathering move into a buffer."""
    type_ = tensor_type(op.result)
    _check_gather(scope, op)
    source, offsets = scope.operand(op.source), scope.convert_indices(op.mixed_offsets)
    indices = scope.operand(op.indices)
    scope.wait_before_read(op.source, op.indices)
    fill = None if op.fill is None else scalar_value(op.fill)
    maps, axis = (op.table_map, op.index_map), op.indexed_axis
    access = source, offsets, axis, indices
    if scope.is_value(type_):
        load = mem.GatherOp(*access, maps, type_, fill, op.extents)
        scope.bind(op.result, scope.builder.insert(load).value, SharedStorage())
        return
    destination, storage = resolve_destination(scope, op.result)
    move = mem.DmaGatherOp(*access, destination, maps, op.extents, fill)
    token = scope.builder.insert(move).token
    for read in (op.source, op.indices):
        scope.moves.start(token, scope.storages[read], storage)
    scope.bind(op.result, destination, storage)


def _check_gather(scope: BufferizationState, op: tile.GatherOp) -> None:
    """
    Raise `BufferizationError` unless a load, or a move between buffers, can implement a
    gather.
    """
    level, source_level = (
        scope.level_of_type(op.result.type),
        scope.level_of_type(op.source.type),
    )
    is_value = scope.is_value(op.result.type)
    if not is_value and scope.target.levels[level].indexed_row is None:
        raise BufferizationError(op, "cannot gather into a buffer")
    if source_level != scope.target.outermost.name:
        outermost = scope.target.outermost.name
        raise BufferizationError(
            op, f"expected a source in {outermost}, got {source_level}"
        )
    if is_value and not scope.is_value(op.indices.type):
        raise BufferizationError(op, "expected indices that are a tile of registers")
    if (index_level := scope.level_of_type(op.indices.type)) not in (
        level,
        source_level,
    ):
        raise BufferizationError(op, f"expected indices in {level}, got {index_level}")


def convert_scatter(scope: BufferizationState, op: tile.ScatterOp) -> None:
    """Convert a scatter to a move that updates the destination in place."""
    _check_scatter(scope, op)
    destination, storage = acquire_writable_buffer(scope, op, op.destination)
    source, indices = scope.operand(op.source), scope.operand(op.indices)
    scope.wait_before_read(op.source, op.indices)
    scope.moves.wait(scope.builder, writes=[storage])
    offsets, maps = (
        scope.convert_indices(op.mixed_offsets),
        (op.table_map, op.index_map),
    )
    access = destination, offsets, op.indexed_axis, indices
    move = mem.DmaScatterOp(source, *access, maps, op.extents, op.is_scatter_add)
    token = scope.builder.insert(move).token
    for read in (op.source, op.indices):
        scope.moves.start(token, scope.storages[read], storage)
    scope.bind(op.result, destination, storage)


def _check_scatter(scope: BufferizationState, op: tile.ScatterOp) -> None:
    """
    Raise `BufferizationError` unless a move between buffers can implement a scatter.
    """
    level, destination_level = (
        scope.level_of_type(op.source.type),
        scope.level_of_type(op.destination.type),
    )
    if destination_level != scope.target.outermost.name:
        outermost = scope.target.outermost.name
        raise BufferizationError(
            op, f"expected a destination in {outermost}, got {destination_level}"
        )
    if level == destination_level or scope.target.levels[level].indexed_row is None:
        raise BufferizationError(op, f"cannot scatter from {level}")
    if (index_level := scope.level_of_type(op.indices.type)) not in (
        level,
        destination_level,
    ):
        raise BufferizationError(op, f"expected indices in {level}, got {index_level}")
