"""
Cost model of NPU tile programs: operations that slice, insert, mask, roll or create
tiles, read as items of its schedule.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.buffers.in_place_subviews import (
    can_slice_read_out_of_bounds,
    enclosing_destination_of,
)
from tlf.analysis.buffers.ring_buffers import RingBuffer
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.buffer_views import BufferView, RingWindow
from tlf.planner.cost.program.instruction_nests import LoopCounter
from tlf.planner.cost.program.level_copies import (
    copy_box_through_inner_level,
    copy_view,
    writable_view_of_operand,
)
from tlf.planner.cost.program.mask_cost import MaskCost
from tlf.planner.cost.program.move_cost import MoveSide
from tlf.planner.cost.program.schedule_reader import ScheduleReader, move_side_at_origin
from tlf.support.affine.index_access import AffineSum


def read_empty(reader: ScheduleReader, op: tile.EmptyOp) -> None:
    """Bind an empty tile to a new buffer, or to a subview of its destination."""
    reader.bind_view(op.result, *make_tile_view(reader, op.result))


def make_tile_view(
    reader: ScheduleReader, value: SSAValue
) -> tuple[BufferView, SharedStorage]:
    """
    Return the view of a new tile: its destination if it has one, else a new buffer.
    """
    if (view := reader.destinations.get(value)) is not None:
        return view, SharedStorage()
    if (subview := _subview_of_destination(reader, value)) is not None:
        return subview
    if (ring := reader.rings.rings_by_next_slices.get(value)) is not None:
        reader.wait_for_conflicts(writes=[ring.storage])
        reader.following[ring] = ring_slices_after_window(reader, ring)
        view = _ring_slices_as_tile(reader, reader.following[ring], value)
        return view, SharedStorage(enclosing_storage=ring.storage)
    if (ring := reader.rings.rings_by_first_window.get(value)) is not None:
        reader.buffers[ring] = make_ring_buffer(reader, ring)
        reader.firsts[ring] = first_ring_window_of(reader.buffers[ring], ring)
        return _ring_slices_as_tile(reader, reader.firsts[ring], value), SharedStorage()
    return reader.allocate_view(tensor_type(value)), SharedStorage()


def _ring_slices_as_tile(
    reader: ScheduleReader, buffer_view: BufferView, value: SSAValue
) -> BufferView:
    """Return ring slices in the shape of a tile that is stored there."""
    if (view := buffer_view.reshape(tensor_type(value).get_shape())) is None:
        raise UnpredictableTimeError(
            reader.function, "expected ring slices in the shape of the tile"
        )
    return view


def _subview_of_destination(
    reader: ScheduleReader, value: SSAValue
) -> tuple[BufferView, SharedStorage] | None:
    """
    Return the subview of a tensor that a tile is inserted into, if the tile can be
    computed there.
    """
    if (insertion := reader.parts.get(value)) is None:
        return None
    tensor, shape = enclosing_destination_of(insertion), tensor_type(value).get_shape()
    subview = reader.places[tensor].subview_of_box(
        reader.indices.to_affine_sums(insertion.mixed_offsets),
        insertion.valid_box_extents,
    )
    is_fixed = shape == insertion.valid_box_extents or not subview.byte_offset.terms
    if not is_fixed or (view := subview.reshape(shape)) is None:
        return None
    reader.made.add(insertion)
    return view, SharedStorage(enclosing_storage=reader.storages[tensor].outermost)


def read_slice(reader: ScheduleReader, op: tile.SliceOp) -> None:
    """Append a move or copy to the schedule, or bind a view of the slice's source."""
    type_ = tensor_type(op.result)
    source = reader.view_of(op.source)
    offsets = reader.indices.to_affine_sums(op.mixed_offsets)
    reader.wait_for_pending_writes(op.source)
    if reader.level_of(op.source.type) == reader.level_of(type_):
        if can_slice_read_out_of_bounds(op):
            view = reader.allocate_view(type_)
            copy_box_through_inner_level(reader, MoveSide(source, offsets), view)
            reader.bind_view(op.result, view, SharedStorage())
            return
        subview = source.subview_of_box(offsets, type_.get_shape())
        reader.bind_view(op.result, subview, reader.storages[op.source])
        return
    view, storage = make_tile_view(reader, op.result)
    step = reader.add_move(
        MoveSide(source, offsets), move_side_at_origin(view), op.valid_box_extents
    )
    step.is_filled = op.fill is not None
    reader.pending.add_move(step, reader.storages[op.source], storage)
    reader.bind_view(op.result, view, storage)


def read_deslice(reader: ScheduleReader, op: tile.DesliceOp) -> None:
    """Append a move or copy of a tile to its destination, unless computed there."""
    view, storage = reader.places[op.destination], reader.storages[op.destination]
    if op in reader.made:
        reader.storages[op.source].is_writable = False
        storage.values.extend(reader.storages[op.source].values)
        reader.bind_view(op.result, view, storage)
        return
    offsets = reader.indices.to_affine_sums(op.mixed_offsets)
    source = reader.view_of(op.source)
    reader.wait_for_pending_writes(op.source)
    reader.wait_for_conflicts(writes=[storage])
    if reader.level_of(op.source.type) == reader.level_of(op.destination.type):
        copy_view(reader, source, view.subview_of_box(offsets, op.valid_box_extents))
    else:
        step = reader.add_move(
            move_side_at_origin(source), MoveSide(view, offsets), op.valid_box_extents
        )
        reader.pending.add_move(step, reader.storages[op.source], storage)
    reader.bind_view(op.result, view, storage)


def read_mask(reader: ScheduleReader, op: tile.MaskOp) -> None:
    """Add a mask, in place if the unmasked tile has no later uses."""
    view, storage = writable_view_of_operand(reader, op, op.source)
    cost = MaskCost(
        reader.costs,
        view.shape,
        reader.indices.to_affine_sums(op.mixed_offsets),
        tuple(op.bounds.get_values()),
        op.valid_box_extents,
    )
    reader.add_instruction(cost, reader.costs.queues["vector"], (), (view,))
    reader.bind_view(op.result, view, storage)


def read_roll(reader: ScheduleReader, op: tile.RollOp) -> None:
    """Advance a window in its ring, or append copies to the schedule that shift it."""
    if (ring := reader.rings.rings_by_roll.get(op)) is not None:
        _advance_window_in_ring(reader, op, ring)
        return
    window, following = tensor_type(op.window), tensor_type(op.next)
    axis = op.axis.value.data
    count, shape = following.get_shape()[axis], window.get_shape()
    reader.wait_for_pending_writes(op.window, op.next)
    source = reader.view_of(op.window)
    storage = reader.storages[op.window]
    is_innermost = reader.level_of(window) == reader.nearest
    if is_innermost or not reader.liveness.try_reuse_dead_storage(storage, op):
        view, storage = reader.allocate_view(window), SharedStorage()
    else:
        reader.wait_for_conflicts(writes=[storage])
        view = source
    overlap = _shape_with_extent_along(axis, shape[axis] - count, shape)
    if overlap[axis]:
        zeros = [AffineSum() for _ in shape]
        old = source.subview_of_box(
            _offsets_with_start_along(axis, count, shape), overlap
        )
        copy_view(reader, old, view.subview_of_box(zeros, overlap), axis)
    end = _offsets_with_start_along(axis, shape[axis] - count, shape)
    copy_view(
        reader, reader.view_of(op.next), view.subview_of_box(end, following.get_shape())
    )
    reader.bind_view(op.result, view, storage)


def _advance_window_in_ring(
    reader: ScheduleReader, op: tile.RollOp, ring: RingBuffer
) -> None:
    """
    Advance a window in its ring; its new slices are copied unless stored there already.
    """
    new_slices = reader.view_of(op.next)
    if ring in reader.following and new_slices == reader.following[ring]:
        reader.storages[op.next].is_writable = False
    else:
        reader.wait_for_pending_writes(op.next)
        reader.wait_for_conflicts(writes=[ring.storage])
        copy_view(reader, new_slices, ring_slices_after_window(reader, ring))
    view = ring_window_of(
        reader,
        ring,
        _ring_slice_position(reader, ring, ring.new_slices),
        ring.window_extent,
    )
    reader.bind_view(op.result, view, ring.storage)


def ring_slices_after_window(reader: ScheduleReader, ring: RingBuffer) -> BufferView:
    """Return the slices after the window that an iteration starts from."""
    return ring_window_of(
        reader,
        ring,
        _ring_slice_position(reader, ring, ring.window_extent),
        ring.new_slices,
    )


def ring_window_of(
    reader: ScheduleReader, ring: RingBuffer, start: AffineSum, count: int
) -> BufferView:
    """Return a view of `count` slices of a ring, from slice `start` on."""
    buffer = reader.buffers[ring]
    shape = _shape_with_extent_along(
        ring.rolling_axis, count, tensor_type(ring.roll.window).get_shape()
    )
    return BufferView(
        buffer.buffer,
        shape,
        buffer.strides,
        buffer.item_bytes,
        ring_window=RingWindow(ring.rolling_axis, start, count),
    )


def current_ring_window(reader: ScheduleReader, ring: RingBuffer) -> BufferView:
    """Return the window that an iteration starts from."""
    return ring_window_of(
        reader, ring, _ring_slice_position(reader, ring, 0), ring.window_extent
    )


def first_ring_window_of(view: BufferView, ring: RingBuffer) -> BufferView:
    """Return a view of a ring's first slices, in the shape of its first window."""
    shape = tensor_type(ring.first_window).get_shape()
    extent = shape[ring.rolling_axis]
    window = RingWindow(ring.rolling_axis, AffineSum(), extent)
    return BufferView(
        view.buffer, shape, view.strides, view.item_bytes, ring_window=window
    )


def make_ring_buffer(reader: ScheduleReader, ring: RingBuffer) -> BufferView:
    """Return a new ring buffer."""
    return reader.allocate_view(
        tensor_type(ring.roll.window), ring.slot_count, ring.rolling_axis
    )


def _ring_slice_position(
    reader: ScheduleReader, ring: RingBuffer, slice_shift: int
) -> AffineSum:
    """
    Return the position of the slice `slice_shift` slices after the start of an
    iteration's window.
    """
    loop, slices, total = ring.loop, ring.new_slices, AffineSum(slice_shift)
    variables = [
        reader.indices.to_affine_sum(each) for each in loop.induction_variables
    ]
    for variable in reversed(variables):
        for symbol, _ in variable.terms:
            assert isinstance(symbol, LoopCounter)
            if slices % symbol.step:
                raise UnpredictableTimeError(
                    loop, "expected a ring that advances by whole slices"
                )
            total += (variable - symbol.lower) * (slices // symbol.step)
            slices *= symbol.trips
    return total


def _shape_with_extent_along(
    axis: int, extent: int, shape: Sequence[int]
) -> tuple[int, ...]:
    return tuple(extent if n == axis else size for n, size in enumerate(shape))


def _offsets_with_start_along(
    axis: int, start: int, shape: Sequence[int]
) -> list[AffineSum]:
    return [AffineSum(start if index == axis else 0) for index in range(len(shape))]
