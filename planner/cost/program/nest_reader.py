"""Cost model of NPU tile programs: loops of the IR read as nests of its schedule."""

from __future__ import annotations

from tlf.analysis.buffers.ring_buffers import RingBuffer, trip_counts_of_loops
from tlf.analysis.buffers.tile_liveness import SharedStorage
from tlf.dialects import tile
from tlf.dialects.mixed_offsets import Index
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import LoopCounter, Nest
from tlf.planner.cost.program.level_copies import copy_view, writable_view_of_operand
from tlf.planner.cost.program.schedule_reader import ScheduleReader
from tlf.planner.cost.program.tile_reader import (
    current_ring_window,
    first_ring_window_of,
    make_ring_buffer,
    ring_window_of,
)
from tlf.support.affine.index_access import AffineSum


def read_parallel_loop(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """Add a parallel nest, which writes to the views of its destinations."""
    views = [reader.view_of(init) for init in op.inits]
    _wait_for_values_used_in_loop(reader, op)
    for view, argument in zip(views, op.carried_values, strict=True):
        storage = SharedStorage(is_writable=False, is_destination=True)
        reader.bind_view(argument, view, storage)
    _read_loop_body(reader, op)
    for view, init, result in zip(views, op.inits, op.results, strict=True):
        enclosing = reader.storages[init].enclosing_storage
        reader.bind_view(result, view, SharedStorage(enclosing_storage=enclosing))


def read_sequential_loop(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """Add a sequential nest, whose carried tiles have their own buffers or rings."""
    rings = reader.rings.rings_of(op)
    for ring in rings.values():
        _store_first_window_in_ring(reader, ring)
    views = {
        index: _view_of_carried_value(reader, op, index)
        for index in range(len(op.inits))
        if index not in rings
    }
    _wait_for_values_used_in_loop(reader, op)
    for index, view in views.items():
        is_destination = op.is_only_written(index)
        storage = SharedStorage(
            is_writable=not is_destination, is_destination=is_destination
        )
        reader.bind_view(op.carried_values[index], view, storage)
    nest = _add_nest_of_loop(reader, op)
    for ring in rings.values():
        reader.bind_view(
            ring.loop.carried_values[ring.carried_index],
            current_ring_window(reader, ring),
            ring.storage,
        )
    items, outer_nest = reader.items, reader.nest
    reader.items, reader.nest = nest.body, nest
    reader.read_loop_block(op.body.block)
    for index, view in views.items():
        copy_view(reader, reader.view_of(op.yield_op.arguments[index]), view)
    reader.items, reader.nest = items, outer_nest
    for index, view in views.items():
        enclosing = reader.storages[op.inits[index]].enclosing_storage
        reader.bind_view(
            op.results[index], view, SharedStorage(enclosing_storage=enclosing)
        )
    for ring in rings.values():
        _bind_result_to_last_window(reader, ring)


def _wait_for_values_used_in_loop(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """Append a wait for pending moves that conflict with a loop's reads and inits."""
    used = dict.fromkeys(
        reader.storages[operand]
        for inner in op.walk()
        for operand in inner.operands
        if operand in reader.storages
    )
    inits = [reader.storages[each] for each in op.inits if each in reader.storages]
    reader.wait_for_conflicts(reads=list(used), writes=inits)


def _view_of_carried_value(
    reader: ScheduleReader, op: tile.WhileOp, index: int
) -> BufferView:
    """Return the view that a loop updates for a carried value: its init's or a copy."""
    init = op.inits[index]
    view = reader.view_of(init)
    if reader.storages[init].is_destination:
        return view
    return writable_view_of_operand(reader, op, init)[0]


def _read_loop_body(reader: ScheduleReader, op: tile.WhileOp) -> None:
    """
    Add the body of a loop to the schedule as a nest, or without one if the loop has no
    induction variables.
    """
    if not op.step_values:
        reader.read_loop_block(op.body.block)
        return
    nest = _add_nest_of_loop(reader, op)
    items, outer_nest = reader.items, reader.nest
    reader.items, reader.nest = nest.body, nest
    reader.read_loop_block(op.body.block)
    reader.items, reader.nest = items, outer_nest


def _add_nest_of_loop(reader: ScheduleReader, op: tile.WhileOp) -> Nest:
    """Append and return a new empty nest for a loop, and bind its counters."""
    variables: list[LoopCounter] = []
    bounds = zip(
        op.mixed_lower_bounds, op.mixed_upper_bounds, op.step_values, strict=True
    )
    for (lower, upper, step), argument in zip(
        bounds, op.induction_variables, strict=True
    ):
        first, end = _constant_loop_bound(op, lower), _constant_loop_bound(op, upper)
        variables.append(LoopCounter(first, step, max(0, -((first - end) // step))))
        reader.indices.bind_counter(argument, variables[-1])
    if op.order is not None:
        order = op.order.get_values()
        variables = [variables[index] for index in order]
    mapping = op.mapping.data
    if mapping.is_grid or mapping is tile.Mapping.HOST:
        raise UnpredictableTimeError(op, f"expected loops of an NPU, got {mapping}")
    is_core_loop = mapping is tile.Mapping.CORE and reader.target.cores > 1
    overlaps = op.stages is not None and (mapping is tile.Mapping.LOOP or is_core_loop)
    stages = op.stages.value.data if op.stages is not None and overlaps else 1
    nest = Nest(
        tuple(variables),
        reader.nest,
        stages,
        program_position=reader.next_program_position(),
        is_core_loop=is_core_loop,
    )
    reader.items.append(nest)
    return nest


def _constant_loop_bound(op: tile.WhileOp, bound: Index) -> int:
    if isinstance(bound, int):
        return bound
    raise UnpredictableTimeError(op, "expected constant bounds")


def _store_first_window_in_ring(reader: ScheduleReader, ring: RingBuffer) -> None:
    """Store the first window of a loop in its ring before the loop starts."""
    init = ring.first_window
    source = reader.view_of(init)
    if ring in reader.firsts and reader.firsts[ring] == source:
        storage = reader.storages[init]
        inits = [each for each in ring.loop.inits if reader.storages[each] is storage]
        if len(inits) == 1 and reader.liveness.try_reuse_dead_storage(
            storage, ring.loop
        ):
            reader.wait_for_conflicts(writes=[storage])
            return
    if ring.slot_count == ring.window_extent and not ring.has_outer_yield:
        view = writable_view_of_operand(reader, ring.loop, init)[0]
        view.buffer.slice_count = ring.slot_count
        reader.buffers[ring] = view
        return
    reader.wait_for_pending_writes(init)
    reader.buffers[ring] = make_ring_buffer(reader, ring)
    copy_view(reader, source, first_ring_window_of(reader.buffers[ring], ring))


def _bind_result_to_last_window(reader: ScheduleReader, ring: RingBuffer) -> None:
    """Bind the result of a loop, if used, to a view of the last window in its ring."""
    result = ring.loop.results[ring.carried_index]
    if not result.uses:
        return
    total = ring.new_slices
    for trips in trip_counts_of_loops(ring.loop):
        total *= trips or 0
    start = AffineSum(total % ring.slot_count)
    view = ring_window_of(reader, ring, start, ring.window_extent)
    reader.bind_view(result, view, SharedStorage(is_writable=False))
