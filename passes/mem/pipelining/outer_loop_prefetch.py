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
from xdsl.ir import Block

from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.analysis.buffers.normalized_loops import (
    Nest,
    max_iterations_in_flight,
    trip_count_of_nest,
)
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.passes.mem.loop_normalization import replace_nest_by_normalized_loop
from tlf.passes.mem.pipelining.multibuffer import (
    replace_by_multibuffer,
    slot_index_of_iteration,
)
from tlf.passes.mem.pipelining.multibuffer_capacity import MultibufferCapacity
from tlf.passes.mem.pipelining.prefetch_distance import (
    LoopLoads,
    is_fill_of_body_buffer,
    prefetch_moves,
)

MULTIBUFFER_COUNT = 2
"""Number of copies of a buffer: one is used while the next is loaded."""


def normalize_loop_of_pipelined_loops(
    nest: Sequence[Nest], levels: Sequence[Level]
) -> Nest:
    """
    Normalize a nest to one loop from 0 if its body has pipelined loops and loads to the
    innermost level; otherwise return the nest.
    """
    return (
        replace_nest_by_normalized_loop(nest)
        if _buffers_filled_in_innermost_level(nest[-1].body.block, levels)
        else nest[0]
    )


def prefetch_loads_of_outer_loop(loop: scf.ForOp, levels: Sequence[Level]) -> None:
    """
    Prefetch loads to the innermost level by one iteration in a loop without stages
    whose body has pipelined loops, for each buffer for which there is capacity.
    """
    if max_iterations_in_flight(loop) > 1:
        return
    body = loop.body.block
    buffers: list[mem.AllocOp] = []
    for buffer in _buffers_filled_in_innermost_level(body, levels):
        capacity = MultibufferCapacity.create_for_loop(
            loop, body, [*buffers, buffer], MULTIBUFFER_COUNT
        )
        if capacity.has_capacity_without_sharing(levels[0]):
            buffers.append(buffer)
    prefetched = LoopLoads.find_in_loop(
        loop, [level.name for level in levels]
    ).select_prefetchable_loads(buffers, MULTIBUFFER_COUNT - 1)
    filled = {root_buffer_of(load.destination).owner for load in prefetched}
    if not filled:
        return
    slot = slot_index_of_iteration(loop, trip_count_of_nest([loop]), MULTIBUFFER_COUNT)
    for buffer in buffers:
        if buffer in filled:
            replace_by_multibuffer(
                loop, buffer, slot, MULTIBUFFER_COUNT, levels[0].alignment
            )
    prefetch_moves(prefetched, MULTIBUFFER_COUNT - 1)


def _buffers_filled_in_innermost_level(
    body: Block, levels: Sequence[Level]
) -> list[mem.AllocOp]:
    """
    Return the buffers in the innermost level that moves of a body fill, if the body has
    a pipelined loop.
    """
    loops = [op for op in body.ops if isinstance(op, scf.ForOp | scf.ParallelOp)]
    if not any(max_iterations_in_flight(loop) > 1 for loop in loops):
        return []
    moves = [op for op in body.ops if isinstance(op, mem.DmaOp)]
    filled = (
        root_buffer_of(move.destination).owner
        for move in moves
        if is_fill_of_body_buffer(body, move)
    )
    return [
        owner
        for owner in dict.fromkeys(filled)
        if isinstance(owner, mem.AllocOp) and owner.level == levels[0].name
    ]
