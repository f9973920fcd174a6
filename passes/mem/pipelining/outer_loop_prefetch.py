"""
Rewrite of the pass `mem-pipeline`: prefetching of the inputs of inner loops by one
iteration of the outer loop.

A loop without stages may contain a pipelined loop: for each tile of rows, for example,
a loop over keys. Loads before the inner loop, such as the queries of the rows, would
start only after the previous outer iteration, and contractions would stall. With two
slots, these loads are complete by then, and the first contractions can overlap with the
operations of other engines at the end of the previous iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf

from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.analysis.buffers.normalized_loops import (
    Nest,
    max_iterations_in_flight,
    trip_count_of_nest,
)
from tlf.dialects.target import Level
from tlf.passes.mem.loop_normalization import replace_nest_by_normalized_loop
from tlf.passes.mem.pipelining.multibuffer import replace_by_multibuffers
from tlf.passes.mem.pipelining.prefetch_distance import (
    add_remarks_on_late_loads,
    prefetch_loads,
)
from tlf.planner.overlap.ahead_selection import select_loads_ahead
from tlf.planner.overlap.mem_loop_body import MemLoopBody
from tlf.planner.overlap.slot_selection import (
    OUTER_LOOP_SLOTS,
    find_buffers_loaded_for_inner_loops,
    select_slots_for_inner_loops,
)


def normalize_loop_of_pipelined_loops(
    nest: Sequence[Nest], levels: Sequence[Level]
) -> Nest:
    """
    Normalize a nest to one loop from 0 if its body has pipelined loops and loads to the
    innermost level; otherwise return the nest.
    """
    operations = MemLoopBody.of_nest(nest).operations
    if find_buffers_loaded_for_inner_loops(operations, levels[0]):
        return replace_nest_by_normalized_loop(nest)
    return nest[0]


def prefetch_loads_of_outer_loop(loop: scf.ForOp, levels: Sequence[Level]) -> None:
    """
    Prefetch loads to the innermost level by one iteration in a loop without stages
    whose body has pipelined loops, for each buffer for which there is capacity.
    """
    if max_iterations_in_flight(loop) > 1:
        return
    body, distance = MemLoopBody.of_nest([loop]), OUTER_LOOP_SLOTS - 1
    buffers = select_slots_for_inner_loops(body, levels[0])
    selection = select_loads_ahead(body, buffers, distance, levels)
    add_remarks_on_late_loads(body, selection)
    if not selection.early:
        return
    filled = [root_buffer_of(body.move_at(e).destination) for e in selection.early]
    replace_by_multibuffers(
        loop,
        [each for each in buffers if each in filled],
        trip_count_of_nest([loop]),
        OUTER_LOOP_SLOTS,
        levels,
    )
    prefetch_loads(body, selection.early, distance)
