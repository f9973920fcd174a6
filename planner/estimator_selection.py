"""
Planning: selection of the cost model for a target, that of NPUs, that of GPUs or none.
"""

from __future__ import annotations

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.context import Memo
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.estimator import Estimator
from tlf.planner.search_space import UNRESTRICTED, SearchSpace


def select_estimator(
    target: TargetSpec,
    level: Level,
    search_space: SearchSpace = UNRESTRICTED,
    memo: Memo | None = None,
) -> Estimator | None:
    """
    Return the estimator for tiles in a level: that of the machine kind whose parameters
    the target describes. None if the target describes neither fully.
    """
    npu = NpuEstimator.create_for_level(target, level, search_space, memo)
    return npu or GpuEstimator.create_for_level(target, level, search_space, memo)
