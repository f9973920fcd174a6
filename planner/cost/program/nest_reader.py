"""Read loops over tiles as nests of a schedule."""

from __future__ import annotations

from tlf.analysis.buffers.ring_buffers import RingBuffer, trip_counts
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import tile
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import LoopCounter, Nest
from tlf.planner.cost.program.level_copies import copy_tile, writable_view
from tlf.planner.cost.program.schedule_reader import ScheduleReader
from tlf.planner.cost.program.tile_reader import (
    current_window,
    first_window_of,
    make_ring_view,
    ring_window_of,
)
from tlf.support.affine.index_access import AffineSum
from tlf.support.affine.mixed_offsets import Index


def read_parallel(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """A parallel nest, which writes where its destinations are."""
    places = [reader.view_of(init) for init in op.inits]
    _wait_for_operands(reader, op)
    for place, argument in zip(places, op.carried_values, strict=True):
        storage = SharedStorage(is_writable=False, is_destination=True)
        reader.bind_view(argument, place, storage)
    _read_body(reader, op)
    for place, init, result in zip(places, op.inits, op.results, strict=True):
        around = reader.storages[init].enclosing
        reader.bind_view(result, place, SharedStorage(enclosing=around))


def read_sequential(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """A sequential nest, whose carried tiles have places of their own, or rings."""
    rings = reader.rings.rings_of(op)
    for ring in rings.values():
        _open_ring(reader, ring)
    places = {
        number: _carried_view(reader, op, number)
        for number in range(len(op.inits))
        if number not in rings
    }
    _wait_for_operands(reader, op)
    for number, place in places.items():
        written = op.is_destination(number)
        storage = SharedStorage(is_writable=not written, is_destination=written)
        reader.bind_view(op.carried_values[number], place, storage)
    nest = _open_nest(reader, op)
    for ring in rings.values():
        reader.bind_view(
            ring.loop.carried_values[ring.carried_index],
            current_window(reader, ring),
            ring.storage,
        )
    items, around = reader.items, reader.nest
    reader.items, reader.nest = nest.body, nest
    reader.read_inner_block(op.body.block)
    for number, place in places.items():
        copy_tile(reader, reader.view_of(op.yield_op.arguments[number]), place)
    reader.items, reader.nest = items, around
    for number, place in places.items():
        around_it = reader.storages[op.inits[number]].enclosing
        reader.bind_view(op.results[number], place, SharedStorage(enclosing=around_it))
    for ring in rings.values():
        _close_ring(reader, ring)


def _wait_for_operands(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """Wait for everything that a loop uses."""
    used = dict.fromkeys(
        reader.storages[operand]
        for inner in op.walk()
        for operand in inner.operands
        if operand in reader.storages
    )
    inits = [reader.storages[each] for each in op.inits if each in reader.storages]
    reader.wait_for_conflicts(reads=list(used), writes=inits)


def _carried_view(reader: ScheduleReader, op: tile.WhileOp, number: int) -> BufferView:
    """Return the place of a carried value."""
    init = op.inits[number]
    place = reader.view_of(init)
    if reader.storages[init].is_destination:
        return place
    return writable_view(reader, op, init)[0]


def _read_body(reader: ScheduleReader, op: tile.WhileOp) -> None:
    if not op.step_values:
        reader.read_inner_block(op.body.block)
        return
    nest = _open_nest(reader, op)
    items, around = reader.items, reader.nest
    reader.items, reader.nest = nest.body, nest
    reader.read_inner_block(op.body.block)
    reader.items, reader.nest = items, around


def _open_nest(reader: ScheduleReader, op: tile.WhileOp) -> Nest:
    """The nest of an operation, with its counters."""
    variables: list[LoopCounter] = []
    bounds = zip(op.mixed_lower, op.mixed_upper, op.step_values, strict=True)
    for (lower, upper, step), argument in zip(
        bounds, op.induction_variables, strict=True
    ):
        first, end = _constant_bound(op, lower), _constant_bound(op, upper)
        variables.append(LoopCounter(first, step, max(0, -((first - end) // step))))
        reader.indices.bind_counter(argument, variables[-1])
    if op.order is not None:
        order = op.order.get_values()
        variables = [variables[number] for number in order]
    mapping = op.mapping.data
    if mapping is tile.Mapping.GRID or mapping is tile.Mapping.HOST:
        raise UnpredictableTimeError(op, f"expected loops of one core, got {mapping}")
    if mapping is tile.Mapping.CORE and reader.target.cores > 1:
        raise UnpredictableTimeError(op, f"expected loops of one core, got {mapping}")
    overlaps = op.stages is not None and mapping is tile.Mapping.LOOP
    stages = op.stages.value.data if op.stages is not None and overlaps else 1
    nest = Nest(tuple(variables), reader.nest, stages, order=reader.next_ordinal())
    reader.items.append(nest)
    return nest


def _constant_bound(op: tile.WhileOp, bound: Index) -> int:
    if isinstance(bound, int):
        return bound
    raise UnpredictableTimeError(op, "expected bounds that are numbers")


def _open_ring(reader: ScheduleReader, ring: RingBuffer) -> None:
    """Let a ring hold the first window of its loop, before the loop starts."""
    init = ring.init
    source = reader.view_of(init)
    if ring in reader.firsts and reader.firsts[ring] == source:
        storage = reader.storages[init]
        inits = [each for each in ring.loop.inits if reader.storages[each] is storage]
        if len(inits) == 1 and reader.liveness.try_reuse(storage, ring.loop):
            reader.wait_for_conflicts(writes=[storage])
            return
    if ring.slots == ring.extent and not ring.has_outer_yield:
        place = writable_view(reader, ring.loop, init)[0]
        place.buffer.slices = ring.slots
        reader.buffers[ring] = place
        return
    reader.wait_for_reads(init)
    reader.buffers[ring] = make_ring_view(reader, ring)
    copy_tile(reader, source, first_window_of(reader.buffers[ring], ring))


def _close_ring(reader: ScheduleReader, ring: RingBuffer) -> None:
    """Let the last window be where it is, after the loop."""
    result = ring.loop.results[ring.carried_index]
    if not result.uses:
        return
    total = ring.new_slices
    for trips in trip_counts(ring.loop):
        total *= trips or 0
    start = AffineSum(total % ring.slots)
    place = ring_window_of(reader, ring, start, ring.extent)
    reader.bind_view(result, place, SharedStorage(is_writable=False))
