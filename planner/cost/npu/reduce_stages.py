"""
Stages of a reduction over its tiles: which inner nests run once per stage.

What is summed up lies in the level of the loop. A nest of its own fills it before the
loop, that of the sum brings it nearer and back for each piece, and what follows comes
in another nest.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import Operation

from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel
from tlf.planner.cost.npu.nest_prediction import Nests

BEFORE, IN_LOOP, BEHIND, PHASES = range(4)


def reduce_stage_count(tiling: GroupTiling) -> int:
    """Return the number of stages of a tile's reduction; 1 if it is whole."""
    return prod(loop.trips for loop in tiling.inner_loops.values())


def is_accumulated_over_stages(tiling: GroupTiling, op: Operation) -> bool:
    """Return `True` if an operation accumulates over the pieces of a reduction."""
    return bool(tiling.inner_loops) and (op is tiling.anchor or tiling.is_step(op))


def split_nests(tiling: GroupTiling, nests: Nests) -> Nests:
    """The nests before the loop, in it and behind it."""
    found: dict[Operation, int] = {}
    phase = BEFORE
    for op, tiled in tiling.tiles.items():
        if (
            is_accumulated_over_stages(tiling, op)
            or tiled.loop_level is LoopLevel.INNER
        ):
            found[op] = nests[op] * PHASES + IN_LOOP
            phase = BEHIND
        else:
            found[op] = nests[op] * PHASES + phase
    return found


def is_in_stage_loop(tiling: GroupTiling, number: int) -> bool:
    """Return `True` if a nest runs for each piece."""
    return bool(tiling.inner_loops) and number % PHASES == IN_LOOP


def initial_nest_of(number: int) -> int:
    """The nest that fills what another one adds to."""
    return number - IN_LOOP + BEFORE
