"""Lowering of tile creation, slices, masks and rolls to buffers and moves."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.buffers.in_place_subviews import can_slice_read_out_of_bounds
from tlf.analysis.buffers.ring_buffers import PASS_NAME
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import mem, tile
from tlf.dialects.graph import add_remark
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.tile_to_mem.buffer_builders import buffer_type_in_level, build_subview
from tlf.lowering.tile_to_mem.buffer_copies import (
    acquire_writable_buffer,
    copy_box,
    copy_buffer,
)
from tlf.lowering.tile_to_mem.bufferization_error import BufferizationError
from tlf.lowering.tile_to_mem.bufferization_state import BufferizationState
from tlf.lowering.tile_to_mem.ring_windows import (
    advance_ring_window,
    resolve_tile_destination,
)

NO_FILL = "expected a slice within a memory level to have no fill value"


def convert_empty_tile(state: BufferizationState, op: tile.EmptyOp) -> None:
    """
    Bind an empty tile to a new buffer, the result argument that returns the tile, or
    the subview of a tensor that the tile is inserted into.
    """
    state.bind_lowered_value(op.result, *resolve_tile_destination(state, op.result))


def convert_constant(state: BufferizationState, op: ConstantInterface) -> None:
    """Convert a constant to a global; a splat tile is built at its first use."""
    if op.splat_attribute() is not None and level_of(op.results[0].type) is not None:
        return
    level = state.target.outermost_level.name
    get_global = state.constants.get_or_create_global(
        op, buffer_type_in_level(tensor_type(op.results[0]), level)
    )
    access = state.builder.insert(get_global)
    state.bind_lowered_value(
        op.results[0], access.memref, SharedStorage(is_writable=False)
    )


def convert_slice(state: BufferizationState, op: tile.SliceOp) -> None:
    """Convert a slice to a load, a move into another level, or a view."""
    type_ = tensor_type(op.result)
    source = state.lowered_operand_of(op.source)
    offsets = state.convert_index_operands(op.mixed_offsets)
    state.wait_for_writes_in_flight(op.source)
    fill = None if op.fill is None else scalar_value(op.fill)
    if not state.is_lowered_to_value(type_):
        _check_slice_is_move(op)
    if state.level_of_type(op.source.type) == state.level_of_type(type_):
        _convert_slice_to_view(state, op, source, offsets)
    elif state.is_lowered_to_value(type_):
        map_ = None if op.map is None else op.map.data
        load = mem.LoadOp(source, offsets, type_, fill, op.valid_box_extents, map_)
        state.bind_lowered_value(
            op.result, state.builder.insert(load).value, SharedStorage()
        )
    else:
        destination, storage = resolve_tile_destination(state, op.result)
        zeros = [0] * len(offsets)
        move = mem.DmaOp(
            source, offsets, destination, zeros, op.valid_box_extents, fill
        )
        token = state.builder.insert(move).token
        state.moves.record_move_in_flight(token, state.storages[op.source], storage)
        state.bind_lowered_value(op.result, destination, storage)


def _check_slice_is_move(op: tile.SliceOp) -> None:
    """Raise `BufferizationError` unless a move between buffers implements a slice."""
    if op.map is not None:
        raise BufferizationError(op, "cannot move through a map into a buffer")
    if (
        op.fill is not None
        and op.valid_box_extents != tensor_type(op.result).get_shape()
    ):
        raise BufferizationError(
            op, "cannot fill a buffer beyond the valid extents of a slice"
        )


def _convert_slice_to_view(
    state: BufferizationState,
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
    if state.is_lowered_to_value(type_):
        _check_slice_covers_tile(op)
        state.bind_lowered_value(op.result, source, state.storages[op.source])
    elif not can_slice_read_out_of_bounds(op):
        view = build_subview(state.builder, source, offsets, type_.get_shape())
        state.bind_lowered_value(op.result, view, state.storages[op.source])
    elif state.level_of_type(type_) == next(iter(state.target.levels)):
        raise BufferizationError(op, NO_FILL)
    else:
        add_remark(op, PASS_NAME, "missed", "an out-of-bounds slice is copied")
        destination = state.allocate_tile_buffer(type_)
        fill = None if op.fill is None else scalar_value(op.fill)
        copy_box(state, op, source, offsets, fill, destination)
        state.bind_lowered_value(op.result, destination, SharedStorage())


def _check_slice_covers_tile(op: tile.SliceOp) -> None:
    """Raise `BufferizationError` unless a slice of a register tile covers it fully."""
    if op.fill is not None:
        raise BufferizationError(op, NO_FILL)
    if tensor_type(op.result).get_shape() != tensor_type(op.source).get_shape():
        raise BufferizationError(op, "cannot slice a tile of registers")


def convert_deslice(state: BufferizationState, op: tile.DesliceOp) -> None:
    """Convert an insertion to a store, a copy or a move into the destination."""
    destination, storage = state.values[op.destination], state.storages[op.destination]
    source = state.lowered_operand_of(op.source)
    if source is state.made.get(op):
        state.storages[op.source].is_writable = False
        storage.values.extend(state.storages[op.source].values)
        state.bind_lowered_value(op.result, destination, storage)
        return
    offsets = state.convert_index_operands(op.mixed_offsets)
    state.wait_for_writes_in_flight(op.source)
    state.moves.wait_for_conflicting_moves(state.builder, writes=[storage])
    if state.is_lowered_to_value(op.source.type):
        state.builder.insert(
            mem.StoreOp(source, destination, offsets, op.valid_box_extents)
        )
    elif state.level_of_type(op.source.type) == state.level_of_type(
        op.destination.type
    ):
        copy_buffer(
            state,
            op,
            source,
            build_subview(state.builder, destination, offsets, op.valid_box_extents),
        )
    else:
        zeros = [0] * len(offsets)
        move = mem.DmaOp(source, zeros, destination, offsets, op.valid_box_extents)
        token = state.builder.insert(move).token
        state.moves.record_move_in_flight(token, state.storages[op.source], storage)
    state.bind_lowered_value(op.result, destination, storage)


def convert_argsort(state: BufferizationState, op: tile.ArgsortOp) -> None:
    """Convert a sort of the rows of a tile of registers."""
    if not state.is_lowered_to_value(op.source.type):
        raise BufferizationError(op, "expected a tile of registers to sort")
    source = state.lowered_operand_of(op.source)
    count, type_ = op.sorted_count, tensor_type(op.result)
    sort = mem.ArgsortOp(source, count, op.is_descending, type_)
    state.bind_lowered_value(
        op.result, state.builder.insert(sort).result, SharedStorage()
    )


def convert_mask(state: BufferizationState, op: tile.MaskOp) -> None:
    """Convert a mask; it is applied in place if the unmasked tile is dead."""
    offsets = state.convert_index_operands(op.mixed_offsets)
    bounds = tuple(op.bounds.get_values())
    fill = scalar_value(op.fill)
    if state.is_lowered_to_value(op.result.type):
        source = state.lowered_operand_of(op.source)
        mask = mem.MaskOp(source, offsets, bounds, fill, op.valid_box_extents)
        state.bind_lowered_value(
            op.result, state.builder.insert(mask).results[0], SharedStorage()
        )
        return
    buffer, storage = acquire_writable_buffer(state, op, op.source)
    state.builder.insert(
        mem.MaskOp(buffer, offsets, bounds, fill, op.valid_box_extents)
    )
    state.bind_lowered_value(op.result, buffer, storage)


def convert_roll(state: BufferizationState, op: tile.RollOp) -> None:
    """
    Advance a ring window. Any other window is shifted to its start, in place if it is
    dead afterwards, and the next slices are appended.
    """
    if (ring := state.rings.rings_by_roll.get(op)) is not None:
        advance_ring_window(state, op, ring)
        return
    window, next_slices = tensor_type(op.window), tensor_type(op.next)
    if state.is_lowered_to_value(window):
        raise BufferizationError(op, "cannot roll a tile of registers")
    axis = op.axis.value.data
    count, shape = next_slices.get_shape()[axis], window.get_shape()

    def replace_axis(extent: int, others: Sequence[int]) -> list[int]:
        return [extent if each == axis else other for each, other in enumerate(others)]

    state.wait_for_writes_in_flight(op.window, op.next)
    source = state.lowered_operand_of(op.window)
    destination, storage = _destination_of_rolled_window(state, op)
    zeros = [0] * len(shape)
    retained = replace_axis(shape[axis] - count, shape)
    if retained[axis]:
        old = build_subview(state.builder, source, replace_axis(count, zeros), retained)
        copy_buffer(
            state,
            op,
            old,
            build_subview(state.builder, destination, zeros, retained),
            axis,
        )
    end = replace_axis(shape[axis] - count, zeros)
    tail = build_subview(state.builder, destination, end, next_slices.get_shape())
    copy_buffer(state, op, state.lowered_operand_of(op.next), tail)
    state.bind_lowered_value(op.result, destination, storage)


def _destination_of_rolled_window(
    state: BufferizationState, op: tile.RollOp
) -> tuple[SSAValue, SharedStorage]:
    """
    Return the buffer of a rolled window and its storage: the window's own buffer if it
    can be shifted in place.
    """
    storage = state.storages[op.window]
    innermost = next(iter(state.target.levels))
    is_innermost = state.level_of_type(op.window.type) == innermost
    if is_innermost or not state.liveness.try_reuse_dead_storage(storage, op):
        return state.allocate_tile_buffer(tensor_type(op.window)), SharedStorage()
    state.moves.wait_for_conflicting_moves(state.builder, writes=[storage])
    return state.values[op.window], storage
