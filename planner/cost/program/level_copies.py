"""
Cost model of copies within an NPU level, added to its schedule: by an engine, or slice
by slice through an inner level.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects.slice_views import row_major_strides
from tlf.dialects.types import tensor_type
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import Buffer, LoopCounter, Nest
from tlf.planner.cost.program.move_cost import MoveSide
from tlf.planner.cost.program.schedule_reader import ScheduleReader, move_side_at_origin
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.support.affine.index_access import AffineSum


def copy_view(
    reader: ScheduleReader,
    source: BufferView,
    destination: BufferView,
    axis: int | None = None,
) -> None:
    """Copy one view to another, in slices along `axis` or the longest axis."""
    if source == destination:
        return
    if destination.buffer.level == reader.nearest:
        cost = reader.costs.cost_of_elementwise(prod(destination.shape))
        reader.add_compute(cost, (source,), destination)
        return
    if axis is None:
        shape = destination.shape
        axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    _copy_in_slices(reader, move_side_at_origin(source), destination, axis)


def copy_box_through_inner_level(
    reader: ScheduleReader, source: MoveSide, destination: BufferView
) -> None:
    """Copy a box to a view through the next inner level."""
    shape = destination.shape
    axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    _copy_in_slices(reader, source, destination, axis)


def writable_view_of_operand(
    reader: ScheduleReader, op: Operation, value: SSAValue
) -> tuple[BufferView, SharedStorage]:
    """Return a view that an operation may modify: that of the operand, or of a copy."""
    source, storage = reader.view_of(value), reader.storages[value]
    readers = [each for each in op.operands if reader.storages.get(each) is storage]
    if len(readers) == 1 and reader.liveness.try_reuse_dead_storage(storage, op):
        reader.wait_for_conflicts(writes=[storage])
        return source, storage
    reader.wait_for_pending_writes(value)
    copy = reader.allocate_view(tensor_type(value))
    copy_view(reader, source, copy)
    return copy, SharedStorage()


def _copy_in_slices(
    reader: ScheduleReader, source: MoveSide, destination: BufferView, axis: int
) -> None:
    """
    Copy a box to a view in the same level, in slices through the next inner level.
    """
    names = list(reader.target.levels)
    level = reader.target.levels[names[names.index(destination.buffer.level) - 1]]
    shape = destination.shape
    if not shape:
        _move_box_through_inner_level(reader, source, destination, (), (), level.name)
        return
    slice_bytes = max(1, destination.item_bytes * prod(shape) // shape[axis])
    count = min(
        shape[axis], max(1, level.capacity // CONTROL_CODE.copy_divisor // slice_bytes)
    )
    box = (*shape[:axis], count, *shape[axis + 1 :])
    offsets = [AffineSum() for _ in shape]
    if count == shape[axis]:
        _move_box_through_inner_level(
            reader, source, destination, tuple(offsets), box, level.name
        )
        return
    variable = LoopCounter(0, count, -(-shape[axis] // count))
    offsets[axis] = AffineSum.of_symbol(variable)
    nest = Nest(
        (variable,), reader.nest, program_position=reader.next_program_position()
    )
    items, outer_nest = reader.items, reader.nest
    items.append(nest)
    reader.items, reader.nest = nest.body, nest
    _move_box_through_inner_level(
        reader, source, destination, tuple(offsets), box, level.name
    )
    reader.items, reader.nest = items, outer_nest


def _move_box_through_inner_level(
    reader: ScheduleReader,
    source: MoveSide,
    destination: BufferView,
    offsets: tuple[AffineSum, ...],
    box: tuple[int, ...],
    inner_level: str,
) -> None:
    """Move a box to an inner level, and from there to its destination."""
    strides = tuple(each * destination.item_bytes for each in row_major_strides(box))
    size = destination.item_bytes * prod(box)
    buffer = Buffer(
        inner_level, size, reader.nest, level_position=(reader.next_program_position(),)
    )
    temporary = replace(
        BufferView(buffer, box, strides, destination.item_bytes),
        byte_offset=AffineSum(),
        ring_window=None,
    )
    zeros = tuple(AffineSum() for _ in box)
    pairs = zip(source.offsets, offsets, strict=True)
    starts = tuple(start + offset for start, offset in pairs)
    load = reader.add_move(
        MoveSide(source.view, starts), MoveSide(temporary, zeros), box
    )
    reader.wait_for_moves((load,))
    store = reader.add_move(
        MoveSide(temporary, zeros), MoveSide(destination, offsets), box
    )
    reader.wait_for_moves((store,))
