"""
Cost model of copies within a level: by an engine, or slice by slice through an inner
level.
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
from tlf.planner.cost.program.schedule_reader import ScheduleReader, whole_side
from tlf.planner.settings.control_code import CONTROL_CODE
from tlf.support.affine.index_access import AffineSum


def copy_tile(
    reader: ScheduleReader,
    source: BufferView,
    place: BufferView,
    axis: int | None = None,
) -> None:
    """Copy one view to another, in slices along `axis` or the longest axis."""
    if source == place:
        return
    if place.buffer.level == reader.nearest:
        cost = reader.costs.cost_of_elementwise(prod(place.shape))
        reader.add_compute(cost, (source,), place)
        return
    if axis is None:
        shape = place.shape
        axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    _copy_through_level(reader, whole_side(source), place, axis)


def copy_box(reader: ScheduleReader, source: MoveSide, place: BufferView) -> None:
    """Copy a box to a view through the next inner level."""
    shape = place.shape
    axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    _copy_through_level(reader, source, place, axis)


def writable_view(
    reader: ScheduleReader, op: Operation, value: SSAValue
) -> tuple[BufferView, SharedStorage]:
    """Return a view that an operation may modify: that of the operand, or of a copy."""
    source, storage = reader.view_of(value), reader.storages[value]
    readers = [each for each in op.operands if reader.storages.get(each) is storage]
    if len(readers) == 1 and reader.liveness.try_reuse(storage, op):
        reader.wait_for_conflicts(writes=[storage])
        return source, storage
    reader.wait_for_reads(value)
    copy = reader.allocate_view(tensor_type(value))
    copy_tile(reader, source, copy)
    return copy, SharedStorage()


def _copy_through_level(
    reader: ScheduleReader, source: MoveSide, place: BufferView, axis: int
) -> None:
    """
    Copy a box to a view in the same level, in slices through the next inner level.
    """
    names = list(reader.target.levels)
    level = reader.target.levels[names[names.index(place.buffer.level) - 1]]
    shape = place.shape
    if not shape:
        _move_through_level(reader, source, place, (), (), level.name)
        return
    slice_bytes = max(1, place.item * prod(shape) // shape[axis])
    count = min(
        shape[axis], max(1, level.capacity // CONTROL_CODE.copy_divisor // slice_bytes)
    )
    box = (*shape[:axis], count, *shape[axis + 1 :])
    offsets = [AffineSum() for _ in shape]
    if count == shape[axis]:
        _move_through_level(reader, source, place, tuple(offsets), box, level.name)
        return
    variable = LoopCounter(0, count, -(-shape[axis] // count))
    offsets[axis] = AffineSum.of(variable)
    nest = Nest((variable,), reader.nest, order=reader.next_ordinal())
    items, outer_nest = reader.items, reader.nest
    items.append(nest)
    reader.items, reader.nest = nest.body, nest
    _move_through_level(reader, source, place, tuple(offsets), box, level.name)
    reader.items, reader.nest = items, outer_nest


def _move_through_level(
    reader: ScheduleReader,
    source: MoveSide,
    place: BufferView,
    offsets: tuple[AffineSum, ...],
    box: tuple[int, ...],
    level: str,
) -> None:
    """Move a box to an inner level, and from there to its destination."""
    strides = tuple(each * place.item for each in row_major_strides(box))
    size = place.item * prod(box)
    buffer = Buffer(level, size, reader.nest, order=(reader.next_ordinal(),))
    temporary = replace(
        BufferView(buffer, box, strides, place.item), base=AffineSum(), window=None
    )
    zeros = tuple(AffineSum() for _ in box)
    pairs = zip(source.offsets, offsets, strict=True)
    starts = tuple(start + offset for start, offset in pairs)
    load = reader.add_move(
        MoveSide(source.place, starts), MoveSide(temporary, zeros), box
    )
    reader.wait_for_moves((load,))
    store = reader.add_move(MoveSide(temporary, zeros), MoveSide(place, offsets), box)
    reader.wait_for_moves((store,))
