"""The model of a target's time."""

from __future__ import annotations

from tlf.dialects.target import Level, Target
from tlf.planner.context import Memo
from tlf.planner.cost.gpu.tiles import GpuTiles
from tlf.planner.cost.npu.timed import TimedTiles
from tlf.planner.estimator import Estimator
from tlf.planner.freedom import ANYTHING, Freedom


def estimator_of(
    target: Target,
    level: Level,
    freedom: Freedom = ANYTHING,
    memo: Memo | None = None,
) -> Estimator | None:
    """
    The estimator for tiles in a level: that of the machine whose figures the target
    describes. None where it does not say enough for either.
    """
    timed = TimedTiles.of(target, level, freedom, memo)
    return timed or GpuTiles.of(target, level, freedom, memo)
