"""
Cost model of an NPU reduction in stages over its tiles: inner nests of a group that run
once per stage.

Accumulators are stored in the level of the loop. A nest fills them before the loop, the
nest of the reduction loads and stores them in each stage, and the operations after the
loop run in a third nest.
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
    """Return `True` if an operation accumulates over the stages of a reduction."""
    return bool(tiling.inner_loops) and (
        op is tiling.anchor or tiling.is_cascade_step(op)
    )


def split_nests_at_stage_loop(tiling: GroupTiling, nests: Nests) -> Nests:
    """Return the nests split into those before the loop, in the loop and after it."""
    split: dict[Operation, int] = {}
    phase = BEFORE
    for op, tiled in tiling.tiles.items():
        if (
            is_accumulated_over_stages(tiling, op)
            or tiled.loop_level is LoopLevel.INNER
        ):
            split[op] = nests[op] * PHASES + IN_LOOP
            phase = BEHIND
        else:
            split[op] = nests[op] * PHASES + phase
    return split


def is_nest_in_stage_loop(tiling: GroupTiling, nest: int) -> bool:
    """Return `True` if a nest runs once per stage."""
    return bool(tiling.inner_loops) and nest % PHASES == IN_LOOP


def initializing_nest_of(nest: int) -> int:
    """Return the nest that initializes the accumulators of a nest."""
    return nest - IN_LOOP + BEFORE
