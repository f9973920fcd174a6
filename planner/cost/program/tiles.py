"""Tiles that are cut, put back, masked, rolled or made."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.analysis.buffers.parts import around, reaches_out
from tlf.analysis.buffers.rings import Ring
from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.planner.cost.program.copies import copy, copy_part, own
from tlf.planner.cost.program.indices import UnknownTimeError
from tlf.planner.cost.program.masks import MaskPrice
from tlf.planner.cost.program.moves import Side
from tlf.planner.cost.program.places import Place, Window
from tlf.planner.cost.program.program import Variable
from tlf.planner.cost.program.reader import Reader, whole
from tlf.support.affine.access import Linear


def read_empty(reader: Reader, op: tile.EmptyOp) -> None:
    """A place for tiles to be put together in, maybe a part of another one."""
    reader.bind(op.result, *make_place(reader, op.result))


def make_place(reader: Reader, value: SSAValue) -> tuple[Place, Storage]:
    """
    Return the place of a new tile: its destination if it has one, or a place of its
    own.
    """
    if (place := reader.destinations.get(value)) is not None:
        return place, Storage()
    if (part := _part(reader, value)) is not None:
        return part
    if (ring := reader.rings.nexts.get(value)) is not None:
        reader.wait(writes=[ring.storage])
        reader.following[ring] = behind(reader, ring)
        place = _seen(reader, reader.following[ring], value)
        return place, Storage(around=ring.storage)
    if (ring := reader.rings.inits.get(value)) is not None:
        reader.buffers[ring] = ring_place(reader, ring)
        reader.firsts[ring] = start_of(reader.buffers[ring], ring)
        return _seen(reader, reader.firsts[ring], value), Storage()
    return reader.allocate(tensor_type(value)), Storage()


def _seen(reader: Reader, place: Place, value: SSAValue) -> Place:
    """The slices of a ring under the shape of a tile that is made there."""
    if (seen := place.reshaped(tensor_type(value).get_shape())) is None:
        raise UnknownTimeError(reader.function, "expected slices of a ring as they are")
    return seen


def _part(reader: Reader, value: SSAValue) -> tuple[Place, Storage] | None:
    """The part of a tensor that a tile is to be put into, if it can be made there."""
    if (put := reader.parts.get(value)) is None:
        return None
    tensor, shape = around(put), tensor_type(value).get_shape()
    part = reader.places[tensor].part(
        reader.indices.all(put.mixed_offsets), put.extents
    )
    is_fixed = shape == put.extents or not part.base.terms
    if not is_fixed or (seen := part.reshaped(shape)) is None:
        return None
    reader.made.add(put)
    return seen, Storage(around=reader.storages[tensor].whole)


def read_slice(reader: Reader, op: tile.SliceOp) -> None:
    """A move into another level, or a view."""
    type_ = tensor_type(op.result)
    source = reader.place(op.source)
    offsets = reader.indices.all(op.mixed_offsets)
    reader.reading(op.source)
    if reader.level(op.source.type) == reader.level(type_):
        if reaches_out(op):
            place = reader.allocate(type_)
            copy_part(reader, Side(source, offsets), place)
            reader.bind(op.result, place, Storage())
            return
        view = source.part(offsets, type_.get_shape())
        reader.bind(op.result, view, reader.storages[op.source])
        return
    place, storage = make_place(reader, op.result)
    step = reader.move(Side(source, offsets), whole(place), op.extents)
    reader.pending.start(step, reader.storages[op.source], storage)
    reader.bind(op.result, place, storage)


def read_deslice(reader: Reader, op: tile.DesliceOp) -> None:
    """A move to where the tile belongs."""
    place, storage = reader.places[op.destination], reader.storages[op.destination]
    if op in reader.made:
        reader.storages[op.source].writable = False
        storage.values.extend(reader.storages[op.source].values)
        reader.bind(op.result, place, storage)
        return
    offsets = reader.indices.all(op.mixed_offsets)
    source = reader.place(op.source)
    reader.reading(op.source)
    reader.wait(writes=[storage])
    if reader.level(op.source.type) == reader.level(op.destination.type):
        copy(reader, source, place.part(offsets, op.extents))
    else:
        step = reader.move(whole(source), Side(place, offsets), op.extents)
        reader.pending.start(step, reader.storages[op.source], storage)
    reader.bind(op.result, place, storage)


def read_mask(reader: Reader, op: tile.MaskOp) -> None:
    """A mask, in place where the unmasked tile is not needed."""
    place, storage = own(reader, op, op.source)
    price = MaskPrice(
        reader.costs,
        place.shape,
        reader.indices.all(op.mixed_offsets),
        tuple(op.bounds.get_values()),
        op.extents,
    )
    reader.step(price, reader.costs.queues["vector"], (), (place,))
    reader.bind(op.result, place, storage)


def read_roll(reader: Reader, op: tile.RollOp) -> None:
    """A window that moves on: in its ring, or shifted."""
    if (ring := reader.rings.by_roll.get(op)) is not None:
        _roll_ring(reader, op, ring)
        return
    window, following = tensor_type(op.window), tensor_type(op.next)
    axis = op.axis.value.data
    count, shape = following.get_shape()[axis], window.get_shape()
    reader.reading(op.window, op.next)
    source = reader.place(op.window)
    storage = reader.storages[op.window]
    is_near = reader.level(window) == reader.nearest
    if is_near or not reader.liveness.take_over(storage, op):
        place, storage = reader.allocate(window), Storage()
    else:
        reader.wait(writes=[storage])
        place = source
    kept = _along(axis, shape[axis] - count, shape)
    if kept[axis]:
        zeros = [Linear() for _ in shape]
        old = source.part(_offsets(axis, count, shape), kept)
        copy(reader, old, place.part(zeros, kept), axis)
    end = _offsets(axis, shape[axis] - count, shape)
    copy(reader, reader.place(op.next), place.part(end, following.get_shape()))
    reader.bind(op.result, place, storage)


def _roll_ring(reader: Reader, op: tile.RollOp, ring: Ring) -> None:
    """Move a window on, with the slices behind it if they are not there yet."""
    fresh = reader.place(op.next)
    if ring in reader.following and fresh == reader.following[ring]:
        reader.storages[op.next].writable = False
    else:
        reader.reading(op.next)
        reader.wait(writes=[ring.storage])
        copy(reader, fresh, behind(reader, ring))
    place = window_of(reader, ring, _position(reader, ring, ring.count), ring.extent)
    reader.bind(op.result, place, ring.storage)


def behind(reader: Reader, ring: Ring) -> Place:
    """The slices behind the window that an iteration starts from."""
    return window_of(reader, ring, _position(reader, ring, ring.extent), ring.count)


def window_of(reader: Reader, ring: Ring, start: Linear, count: int) -> Place:
    """Some slices of a ring."""
    buffer = reader.buffers[ring]
    shape = _along(ring.axis, count, tensor_type(ring.roll.window).get_shape())
    return Place(
        buffer.buffer,
        shape,
        buffer.strides,
        buffer.item,
        window=Window(ring.axis, start, count),
    )


def current_window(reader: Reader, ring: Ring) -> Place:
    """The window that an iteration starts from."""
    return window_of(reader, ring, _position(reader, ring, 0), ring.extent)


def start_of(place: Place, ring: Ring) -> Place:
    """The part of a ring that the first window is in."""
    shape = tensor_type(ring.init).get_shape()
    extent = shape[ring.axis]
    window = Window(ring.axis, Linear(), extent)
    return Place(place.buffer, shape, place.strides, place.item, window=window)


def ring_place(reader: Reader, ring: Ring) -> Place:
    """A new buffer for a ring."""
    return reader.allocate(tensor_type(ring.roll.window), ring.slots, ring.axis)


def _position(reader: Reader, ring: Ring, shift: int) -> Linear:
    """The slice that is `shift` behind the start of the window in an iteration."""
    loop, slices, total = ring.loop, ring.count, Linear(shift)
    variables = [reader.indices.of(each) for each in loop.induction_variables]
    for variable in reversed(variables):
        for symbol, _ in variable.terms:
            assert isinstance(symbol, Variable)
            if slices % symbol.step:
                raise UnknownTimeError(loop, "expected a ring that moves evenly")
            total += (variable - symbol.lower) * (slices // symbol.step)
            slices *= symbol.trips
    return total


def _along(axis: int, extent: int, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(extent if n == axis else size for n, size in enumerate(shape))


def _offsets(axis: int, start: int, shape: Sequence[int]) -> list[Linear]:
    return [Linear(start if number == axis else 0) for number in range(len(shape))]
