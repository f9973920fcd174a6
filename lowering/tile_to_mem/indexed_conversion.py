"""Bufferise gathers and scatters of tiles by indices."""

from __future__ import annotations

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_copies import acquire_writable_buffer
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.ring_windows import resolve_destination


def convert_gather(scope: BufferizationState, op: tile.GatherOp) -> None:
    """A load, or a move into a buffer, of the elements that indices name."""
    type_ = tensor_type(op.result)
    _check_gather(scope, op)
    source, offsets = scope.operand(op.source), scope.convert_indices(op.mixed_offsets)
    indices = scope.operand(op.indices)
    scope.wait_before_read(op.source, op.indices)
    fill = None if op.fill is None else scalar_value(op.fill)
    maps, axis = (op.table_map, op.index_map), op.indexed_axis
    at = source, offsets, axis, indices
    if scope.is_value(type_):
        load = mem.GatherOp(*at, maps, type_, fill, op.extents)
        scope.bind(op.result, scope.builder.insert(load).value, SharedStorage())
        return
    place, storage = resolve_destination(scope, op.result)
    move = mem.DmaGatherOp(*at, place, maps, op.extents, fill)
    token = scope.builder.insert(move).token
    for read in (op.source, op.indices):
        scope.moves.start(token, scope.storages[read], storage)
    scope.bind(op.result, place, storage)


def _check_gather(scope: BufferizationState, op: tile.GatherOp) -> None:
    """
    Raise `BufferizationError` unless a load, or a move between buffers, can gather
    elements by indices.
    """
    level, from_ = (
        scope.level_of_type(op.result.type),
        scope.level_of_type(op.source.type),
    )
    is_value = scope.is_value(op.result.type)
    if not is_value and scope.target.levels[level].indexed_row is None:
        raise BufferizationError(op, "cannot move by indices into a buffer")
    if from_ != scope.target.outermost.name:
        outermost = scope.target.outermost.name
        raise BufferizationError(op, f"expected a source in {outermost}, got {from_}")
    if is_value and not scope.is_value(op.indices.type):
        raise BufferizationError(op, "expected indices that are a tile of registers")
    if (near := scope.level_of_type(op.indices.type)) not in (level, from_):
        raise BufferizationError(op, f"expected indices in {level}, got {near}")


def convert_scatter(scope: BufferizationState, op: tile.ScatterOp) -> None:
    """A move to where indices say, in the place of the tensor that it changes."""
    _check_scatter(scope, op)
    place, storage = acquire_writable_buffer(scope, op, op.destination)
    source, indices = scope.operand(op.source), scope.operand(op.indices)
    scope.wait_before_read(op.source, op.indices)
    scope.moves.wait(scope.builder, writes=[storage])
    offsets, maps = (
        scope.convert_indices(op.mixed_offsets),
        (op.table_map, op.index_map),
    )
    at = place, offsets, op.indexed_axis, indices
    move = mem.DmaScatterOp(source, *at, maps, op.extents, op.is_scatter_add)
    token = scope.builder.insert(move).token
    for read in (op.source, op.indices):
        scope.moves.start(token, scope.storages[read], storage)
    scope.bind(op.result, place, storage)


def _check_scatter(scope: BufferizationState, op: tile.ScatterOp) -> None:
    """
    Raise `BufferizationError` unless a move between buffers can scatter elements by
    indices.
    """
    level, into = (
        scope.level_of_type(op.source.type),
        scope.level_of_type(op.destination.type),
    )
    if into != scope.target.outermost.name:
        outermost = scope.target.outermost.name
        raise BufferizationError(
            op, f"expected a destination in {outermost}, got {into}"
        )
    if level == into or scope.target.levels[level].indexed_row is None:
        raise BufferizationError(op, f"cannot move by indices out of {level}")
    if (near := scope.level_of_type(op.indices.type)) not in (level, into):
        raise BufferizationError(op, f"expected indices in {level}, got {near}")
