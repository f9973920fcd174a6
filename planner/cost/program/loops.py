"""Loops over tiles as nests."""

from __future__ import annotations

from tlf.analysis.buffers.rings import Ring, trip_counts
from tlf.analysis.buffers.tile_liveness import Storage
from tlf.dialects import tile
from tlf.planner.cost.program.copies import copy, own
from tlf.planner.cost.program.indices import UnknownTimeError
from tlf.planner.cost.program.places import Place
from tlf.planner.cost.program.program import Nest, Variable
from tlf.planner.cost.program.reader import Reader
from tlf.planner.cost.program.tiles import (
    current_window,
    ring_place,
    start_of,
    window_of,
)
from tlf.support.affine.access import Linear
from tlf.support.affine.mixed_index import Index


def read_parallel(reader: Reader, op: tile.WhileOp) -> None:
    """A parallel nest, which writes where its destinations are."""
    places = [reader.place(init) for init in op.inits]
    _settle(reader, op)
    for place, argument in zip(places, op.carried, strict=True):
        storage = Storage(writable=False, destination=True)
        reader.bind(argument, place, storage)
    _body(reader, op)
    for place, init, result in zip(places, op.inits, op.results, strict=True):
        around = reader.storages[init].around
        reader.bind(result, place, Storage(around=around))


def read_sequential(reader: Reader, op: tile.WhileOp) -> None:
    """A sequential nest, whose carried tiles have places of their own, or rings."""
    rings = reader.rings.of(op)
    for ring in rings.values():
        _open_ring(reader, ring)
    places = {
        number: _carried_place(reader, op, number)
        for number in range(len(op.inits))
        if number not in rings
    }
    _settle(reader, op)
    for number, place in places.items():
        written = op.is_destination(number)
        storage = Storage(writable=not written, destination=written)
        reader.bind(op.carried[number], place, storage)
    nest = _open(reader, op)
    for ring in rings.values():
        reader.bind(
            ring.loop.carried[ring.number], current_window(reader, ring), ring.storage
        )
    items, around = reader.items, reader.nest
    reader.items, reader.nest = nest.body, nest
    reader.inner_block(op.body.block)
    for number, place in places.items():
        copy(reader, reader.place(op.yielded.arguments[number]), place)
    reader.items, reader.nest = items, around
    for number, place in places.items():
        around_it = reader.storages[op.inits[number]].around
        reader.bind(op.results[number], place, Storage(around=around_it))
    for ring in rings.values():
        _close_ring(reader, ring)


def _settle(reader: Reader, op: tile.WhileOp) -> None:
    """Wait for everything that a loop uses."""
    used = dict.fromkeys(
        reader.storages[operand]
        for inner in op.walk()
        for operand in inner.operands
        if operand in reader.storages
    )
    inits = [reader.storages[each] for each in op.inits if each in reader.storages]
    reader.wait(reads=list(used), writes=inits)


def _carried_place(reader: Reader, op: tile.WhileOp, number: int) -> Place:
    """Return the place of a carried value."""
    init = op.inits[number]
    place = reader.place(init)
    if reader.storages[init].destination:
        return place
    return own(reader, op, init)[0]


def _body(reader: Reader, op: tile.WhileOp) -> None:
    if not op.step_values:
        reader.inner_block(op.body.block)
        return
    nest = _open(reader, op)
    items, around = reader.items, reader.nest
    reader.items, reader.nest = nest.body, nest
    reader.inner_block(op.body.block)
    reader.items, reader.nest = items, around


def _open(reader: Reader, op: tile.WhileOp) -> Nest:
    """The nest of an operation, with its counters."""
    variables: list[Variable] = []
    bounds = zip(op.mixed_lower, op.mixed_upper, op.step_values, strict=True)
    for (lower, upper, step), argument in zip(
        bounds, op.induction_variables, strict=True
    ):
        first, end = _number(op, lower), _number(op, upper)
        variables.append(Variable(first, step, max(0, -((first - end) // step))))
        reader.indices.bind(argument, variables[-1])
    if op.order is not None:
        order = op.order.get_values()
        variables = [variables[number] for number in order]
    mapping = op.mapping.data
    if mapping is tile.Mapping.GRID or mapping is tile.Mapping.HOST:
        raise UnknownTimeError(op, f"expected loops of one core, got {mapping}")
    if mapping is tile.Mapping.CORE and reader.target.cores > 1:
        raise UnknownTimeError(op, f"expected loops of one core, got {mapping}")
    overlaps = op.stages is not None and mapping is tile.Mapping.LOOP
    stages = op.stages.value.data if op.stages is not None and overlaps else 1
    nest = Nest(tuple(variables), reader.nest, stages, order=reader.next())
    reader.items.append(nest)
    return nest


def _number(op: tile.WhileOp, bound: Index) -> int:
    if isinstance(bound, int):
        return bound
    raise UnknownTimeError(op, "expected bounds that are numbers")


def _open_ring(reader: Reader, ring: Ring) -> None:
    """Let a ring hold the first window of its loop, before the loop starts."""
    init = ring.init
    source = reader.place(init)
    if ring in reader.firsts and reader.firsts[ring] == source:
        storage = reader.storages[init]
        inits = [each for each in ring.loop.inits if reader.storages[each] is storage]
        if len(inits) == 1 and reader.liveness.take_over(storage, ring.loop):
            reader.wait(writes=[storage])
            return
    if ring.slots == ring.extent and not ring.is_handed_on:
        place = own(reader, ring.loop, init)[0]
        place.buffer.slices = ring.slots
        reader.buffers[ring] = place
        return
    reader.reading(init)
    reader.buffers[ring] = ring_place(reader, ring)
    copy(reader, source, start_of(reader.buffers[ring], ring))


def _close_ring(reader: Reader, ring: Ring) -> None:
    """Let the last window be where it is, after the loop."""
    result = ring.loop.results[ring.number]
    if not result.uses:
        return
    total = ring.count
    for trips in trip_counts(ring.loop):
        total *= trips or 0
    start = Linear(total % ring.slots)
    place = window_of(reader, ring, start, ring.extent)
    reader.bind(result, place, Storage(writable=False))
