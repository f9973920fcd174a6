"""Lowering of tile creation, slices, masks and rolls to buffers and moves."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.buffers.in_place_subviews import can_read_out_of_bounds
from tlf.analysis.buffers.ring_buffers import PASS_NAME
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.graph import add_remark
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import buffer_type, build_subview
from tlf.lowering.tile_to_mem.buffer_copies import (
    acquire_writable_buffer,
    copy_box,
    copy_buffer,
)
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.ring_windows import advance_window, resolve_destination

NO_FILL = "expected a slice within a memory level to have no fill value"


def convert_empty(scope: BufferizationState, op: tile.EmptyOp) -> None:
    """
    Bind an empty tile to a new buffer, the result argument that returns the tile, or
    the subview of a tensor that the tile is inserted into.
    """
    scope.bind(op.result, *resolve_destination(scope, op.result))


def convert_constant(scope: BufferizationState, op: ConstantInterface) -> None:
    """Convert a constant to a global; a splat tile is built at its first use."""
    if op.splat_value() is not None and level_of(op.results[0].type) is not None:
        return
    level = scope.target.outermost.name
    get_global = scope.constants.get_global(
        op, buffer_type(tensor_type(op.results[0]), level)
    )
    access = scope.builder.insert(get_global)
    scope.bind(op.results[0], access.memref, SharedStorage(is_writable=False))


def convert_slice(scope: BufferizationState, op: tile.SliceOp) -> None:
    """Convert a slice to a load, a move into another level, or a view."""
    type_ = tensor_type(op.result)
    source = scope.operand(op.source)
    offsets = scope.convert_indices(op.mixed_offsets)
    scope.wait_before_read(op.source)
    fill = None if op.fill is None else scalar_value(op.fill)
    if not scope.is_value(type_):
        _check_move(op)
    if scope.level_of_type(op.source.type) == scope.level_of_type(type_):
        _convert_to_view(scope, op, source, offsets)
    elif scope.is_value(type_):
        map_ = None if op.map is None else op.map.data
        load = mem.LoadOp(source, offsets, type_, fill, op.extents, map_)
        scope.bind(op.result, scope.builder.insert(load).value, SharedStorage())
    else:
        destination, storage = resolve_destination(scope, op.result)
        zeros = [0] * len(offsets)
        move = mem.DmaOp(source, offsets, destination, zeros, op.extents, fill)
        token = scope.builder.insert(move).token
        scope.moves.start(token, scope.storages[op.source], storage)
        scope.bind(op.result, destination, storage)


def _check_move(op: tile.SliceOp) -> None:
    """Raise `BufferizationError` unless a move between buffers implements a slice."""
    if op.map is not None:
        raise BufferizationError(op, "cannot move through a map into a buffer")
    if op.fill is not None and op.extents != tensor_type(op.result).get_shape():
        raise BufferizationError(
            op, "cannot fill a buffer beyond the valid extents of a slice"
        )


def _convert_to_view(
    scope: BufferizationState,
    op: tile.SliceOp,
    source: SSAValue,
    offsets: Sequence[Index],
) -> None:
    """Convert a slice within a level to a view, or to a copy if out of bounds."""
    type_ = tensor_type(op.result)
    if op.map is not None:
        raise BufferizationError(
            op, "expected a slice within a memory level to have no map"
        )
    if scope.is_value(type_):
        _check_whole_tile(op)
        scope.bind(op.result, source, scope.storages[op.source])
    elif not can_read_out_of_bounds(op):
        view = build_subview(scope.builder, source, offsets, type_.get_shape())
        scope.bind(op.result, view, scope.storages[op.source])
    elif scope.level_of_type(type_) == next(iter(scope.target.levels)):
        raise BufferizationError(op, NO_FILL)
    else:
        add_remark(op, PASS_NAME, "missed", "an out-of-bounds slice is copied")
        destination = scope.allocate(type_)
        fill = None if op.fill is None else scalar_value(op.fill)
        copy_box(scope, op, source, offsets, fill, destination)
        scope.bind(op.result, destination, SharedStorage())


def _check_whole_tile(op: tile.SliceOp) -> None:
    """Raise `BufferizationError` unless a slice of a register tile covers it fully."""
    if op.fill is not None:
        raise BufferizationError(op, NO_FILL)
    if tensor_type(op.result).get_shape() != tensor_type(op.source).get_shape():
        raise BufferizationError(op, "cannot slice a tile of registers")


def convert_deslice(scope: BufferizationState, op: tile.DesliceOp) -> None:
    """Convert an insertion to a store, a copy or a move into the destination."""
    destination, storage = scope.values[op.destination], scope.storages[op.destination]
    source = scope.operand(op.source)
    if source is scope.made.get(op):
        scope.storages[op.source].is_writable = False
        storage.values.extend(scope.storages[op.source].values)
        scope.bind(op.result, destination, storage)
        return
    offsets = scope.convert_indices(op.mixed_offsets)
    scope.wait_before_read(op.source)
    scope.moves.wait(scope.builder, writes=[storage])
    if scope.is_value(op.source.type):
        scope.builder.insert(mem.StoreOp(source, destination, offsets, op.extents))
    elif scope.level_of_type(op.source.type) == scope.level_of_type(
        op.destination.type
    ):
        copy_buffer(
            scope,
            op,
            source,
            build_subview(scope.builder, destination, offsets, op.extents),
        )
    else:
        zeros = [0] * len(offsets)
        move = mem.DmaOp(source, zeros, destination, offsets, op.extents)
        token = scope.builder.insert(move).token
        scope.moves.start(token, scope.storages[op.source], storage)
    scope.bind(op.result, destination, storage)


def convert_mask(scope: BufferizationState, op: tile.MaskOp) -> None:
    """Convert a mask; it is applied in place if the unmasked tile is dead."""
    offsets = scope.convert_indices(op.mixed_offsets)
    bounds = tuple(op.bounds.get_values())
    fill = scalar_value(op.fill)
    if scope.is_value(op.result.type):
        source = scope.operand(op.source)
        mask = mem.MaskOp(source, offsets, bounds, fill, op.extents)
        scope.bind(op.result, scope.builder.insert(mask).results[0], SharedStorage())
        return
    buffer, storage = acquire_writable_buffer(scope, op, op.source)
    scope.builder.insert(mem.MaskOp(buffer, offsets, bounds, fill, op.extents))
    scope.bind(op.result, buffer, storage)


def convert_roll(scope: BufferizationState, op: tile.RollOp) -> None:
    """
    Advance a ring window. Any other window is shifted to its start, in place if it is
    dead afterwards, and the next slices are appended.
    """
    if (ring := scope.rings.by_roll.get(op)) is not None:
        advance_window(scope, op, ring)
        return
    window, next_slices = tensor_type(op.window), tensor_type(op.next)
    if scope.is_value(window):
        raise BufferizationError(op, "cannot roll a tile of registers")
    axis = op.axis.value.data
    count, shape = next_slices.get_shape()[axis], window.get_shape()

    def replace_axis(extent: int, others: Sequence[int]) -> list[int]:
        return [extent if each == axis else other for each, other in enumerate(others)]

    scope.wait_before_read(op.window, op.next)
    source = scope.operand(op.window)
    destination, storage = _roll_destination(scope, op)
    zeros = [0] * len(shape)
    retained = replace_axis(shape[axis] - count, shape)
    if retained[axis]:
        old = build_subview(scope.builder, source, replace_axis(count, zeros), retained)
        copy_buffer(
            scope,
            op,
            old,
            build_subview(scope.builder, destination, zeros, retained),
            axis,
        )
    end = replace_axis(shape[axis] - count, zeros)
    tail = build_subview(scope.builder, destination, end, next_slices.get_shape())
    copy_buffer(scope, op, scope.operand(op.next), tail)
    scope.bind(op.result, destination, storage)


def _roll_destination(
    scope: BufferizationState, op: tile.RollOp
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the buffer of a rolled window and its storage: the window's own buffer if it
    can be shifted in place.
    """
    storage = scope.storages[op.window]
    innermost = next(iter(scope.target.levels))
    is_innermost = scope.level_of_type(op.window.type) == innermost
    if is_innermost or not scope.liveness.try_reuse(storage, op):
        return scope.allocate(tensor_type(op.window)), SharedStorage()
    scope.moves.wait(scope.builder, writes=[storage])
    return scope.values[op.window], storage
