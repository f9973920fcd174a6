"""
Prefetching of the inputs of inner loops, an iteration of the outer loop ahead.

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

from tlf.analysis.buffers.counters import Nest, linear, stages_of, trips_of
from tlf.analysis.buffers.touches import root_of
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.passes.mem.pipelining.ahead import Loads, is_filled_in, start_ahead
from tlf.passes.mem.pipelining.room import Room
from tlf.passes.mem.pipelining.slots import give_slots, slot_number

SLOTS = 2
"""Of one the tile is in use while the next one is on its way."""


def counted(nest: Sequence[Nest], levels: Sequence[Level]) -> Nest:
    """
    The loop from 0 on that a nest becomes if it brings anything to the nearest level
    for the loops in its body, whose slots count on from one iteration to the next.
    """
    return linear(nest) if _loaded(nest[-1].body.block, levels) else nest[0]


def load_around(loop: scf.ForOp, levels: Sequence[Level]) -> None:
    """
    Let what a loop without stages that counts from 0 brings to the nearest level for
    the loops in its body start an iteration ahead, tile by tile as far as there is
    room.
    """
    if stages_of(loop) > 1:
        return
    body = loop.body.block
    buffers: list[mem.AllocOp] = []
    for buffer in _loaded(body, levels):
        room = Room.of(loop, body, [*buffers, buffer], SLOTS)
        if room.side_by_side(levels[0]):
            buffers.append(buffer)
    ahead = Loads.of(loop, [level.name for level in levels]).movable(buffers, SLOTS - 1)
    moved = {root_of(load.destination).owner for load in ahead}
    if not moved:
        return
    number = slot_number(loop, trips_of([loop]), SLOTS)
    for buffer in buffers:
        if buffer in moved:
            give_slots(loop, buffer, number, SLOTS, levels[0].alignment)
    start_ahead(ahead, SLOTS - 1)


def _loaded(body: Block, levels: Sequence[Level]) -> list[mem.AllocOp]:
    """
    The buffers of a body that moves in it fill in the nearest level, if it has a loop
    of which iterations may overlap.
    """
    loops = [op for op in body.ops if isinstance(op, scf.ForOp | scf.ParallelOp)]
    if not any(stages_of(loop) > 1 for loop in loops):
        return []
    moves = [op for op in body.ops if isinstance(op, mem.DmaOp)]
    filled = (
        root_of(move.destination).owner for move in moves if is_filled_in(body, move)
    )
    return [
        owner
        for owner in dict.fromkeys(filled)
        if isinstance(owner, mem.AllocOp) and owner.level == levels[0].name
    ]
