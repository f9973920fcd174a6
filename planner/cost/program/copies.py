"""Copies within a level: by an engine, or slice by slice by way of a nearer level."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects.cuts import row_major
from tlf.dialects.types import tensor_type
from tlf.planner.cost.program.moves import Side
from tlf.planner.cost.program.places import Place
from tlf.planner.cost.program.program import Buffer, Nest, Variable
from tlf.planner.cost.program.reader import Reader, whole
from tlf.support.affine.access import Linear

SHARE = 8
"""A copy by way of a nearer level uses one part in so many of that level."""


def copy(reader: Reader, source: Place, place: Place, axis: int | None = None) -> None:
    """Copy one place to another, along the longest axis unless one is given."""
    if source == place:
        return
    if place.buffer.level == reader.nearest:
        cost = reader.costs.elementwise(prod(place.shape))
        reader.compute(cost, (source,), place)
        return
    if axis is None:
        shape = place.shape
        axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    _copy_by_way_of(reader, whole(source), place, axis)


def copy_part(reader: Reader, source: Side, place: Place) -> None:
    """Copy a box of a place, by way of the next nearer level."""
    shape = place.shape
    axis = max(range(len(shape)), key=shape.__getitem__, default=0)
    _copy_by_way_of(reader, source, place, axis)


def own(reader: Reader, op: Operation, value: SSAValue) -> tuple[Place, Storage]:
    """A place that an operation may change: that of a tile, or a copy."""
    source, storage = reader.place(value), reader.storages[value]
    readers = [each for each in op.operands if reader.storages.get(each) is storage]
    if len(readers) == 1 and reader.liveness.take_over(storage, op):
        reader.wait(writes=[storage])
        return source, storage
    reader.reading(value)
    place = reader.allocate(tensor_type(value))
    copy(reader, source, place)
    return place, Storage()


def _copy_by_way_of(reader: Reader, source: Side, place: Place, axis: int) -> None:
    """Copy a box to a place in the same level."""
    names = list(reader.target.levels)
    level = reader.target.levels[names[names.index(place.buffer.level) - 1]]
    shape = place.shape
    if not shape:
        _bounce(reader, source, place, (), (), level.name)
        return
    slice_bytes = max(1, place.item * prod(shape) // shape[axis])
    count = min(shape[axis], max(1, level.capacity // SHARE // slice_bytes))
    box = (*shape[:axis], count, *shape[axis + 1 :])
    offsets = [Linear() for _ in shape]
    if count == shape[axis]:
        _bounce(reader, source, place, tuple(offsets), box, level.name)
        return
    variable = Variable(0, count, -(-shape[axis] // count))
    offsets[axis] = Linear.of(variable)
    nest = Nest((variable,), reader.nest, order=reader.next())
    items, around = reader.items, reader.nest
    items.append(nest)
    reader.items, reader.nest = nest.body, nest
    _bounce(reader, source, place, tuple(offsets), box, level.name)
    reader.items, reader.nest = items, around


def _bounce(
    reader: Reader,
    source: Side,
    place: Place,
    offsets: tuple[Linear, ...],
    box: tuple[int, ...],
    level: str,
) -> None:
    """Move a box to a nearer level, and from there to its place."""
    strides = tuple(each * place.item for each in row_major(box))
    size = place.item * prod(box)
    buffer = Buffer(level, size, reader.nest, order=(reader.next(),))
    between = replace(
        Place(buffer, box, strides, place.item), base=Linear(), window=None
    )
    zeros = tuple(Linear() for _ in box)
    pairs = zip(source.offsets, offsets, strict=True)
    starts = tuple(start + offset for start, offset in pairs)
    there = reader.move(Side(source.place, starts), Side(between, zeros), box)
    reader.finish((there,))
    back = reader.move(Side(between, zeros), Side(place, offsets), box)
    reader.finish((back,))
