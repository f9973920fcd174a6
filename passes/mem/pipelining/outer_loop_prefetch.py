"""
Prefetching of the inputs of inner loops by one iteration of the outer loop.

A loop without stages may have one in its body whose iterations overlap: for tiles of
rows, say, a loop over keys. What an iteration loads for all of it, such as the queries
of its rows, would start when the iteration before is over, and its products would wait
for it. With two slots it is there by then, and its first products need not even wait
for what other engines do at the end of the iteration before.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block

from tlf.analysis.buffers.memory_effects import root_of
from tlf.analysis.buffers.normalized_loops import (
    Nest,
    normalize_nest,
    stages_of,
    trips_of,
)
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.passes.mem.pipelining.multibuffer import (
    multibuffer_allocation,
    multibuffer_index,
)
from tlf.passes.mem.pipelining.multibuffer_capacity import MultibufferCapacity
from tlf.passes.mem.pipelining.prefetch_distance import (
    LoopLoads,
    is_local_fill,
    prefetch_moves,
)

MULTIBUFFER_COUNT = 2
"""Copies of a buffer: one is in use while the next one is loaded."""


def normalize_outer_loop(nest: Sequence[Nest], levels: Sequence[Level]) -> Nest:
    """
    Normalize a nest to one loop from 0 if it loads into the innermost level for the
    loops in its body.
    """
    return (
        normalize_nest(nest)
        if _inner_level_fills(nest[-1].body.block, levels)
        else nest[0]
    )


def prefetch_outer_loads(loop: scf.ForOp, levels: Sequence[Level]) -> None:
    """
    Prefetch by one iteration what a loop without stages loads into the innermost level
    for the loops in its body, tile by tile as far as there is capacity.
    """
    if stages_of(loop) > 1:
        return
    body = loop.body.block
    buffers: list[mem.AllocOp] = []
    for buffer in _inner_level_fills(body, levels):
        room = MultibufferCapacity.of(loop, body, [*buffers, buffer], MULTIBUFFER_COUNT)
        if room.has_room_without_sharing(levels[0]):
            buffers.append(buffer)
    ahead = LoopLoads.of(loop, [level.name for level in levels]).select_prefetchable(
        buffers, MULTIBUFFER_COUNT - 1
    )
    moved = {root_of(load.destination).owner for load in ahead}
    if not moved:
        return
    number = multibuffer_index(loop, trips_of([loop]), MULTIBUFFER_COUNT)
    for buffer in buffers:
        if buffer in moved:
            multibuffer_allocation(
                loop, buffer, number, MULTIBUFFER_COUNT, levels[0].alignment
            )
    prefetch_moves(ahead, MULTIBUFFER_COUNT - 1)


def _inner_level_fills(body: Block, levels: Sequence[Level]) -> list[mem.AllocOp]:
    """
    Return the buffers in the innermost level that moves of a body fill, if iterations
    of a loop in it may overlap.
    """
    loops = [op for op in body.ops if isinstance(op, scf.ForOp | scf.ParallelOp)]
    if not any(stages_of(loop) > 1 for loop in loops):
        return []
    moves = [op for op in body.ops if isinstance(op, mem.DmaOp)]
    filled = (
        root_of(move.destination).owner for move in moves if is_local_fill(body, move)
    )
    return [
        owner
        for owner in dict.fromkeys(filled)
        if isinstance(owner, mem.AllocOp) and owner.level == levels[0].name
    ]
