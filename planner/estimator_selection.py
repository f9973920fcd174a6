"""Selection of the planner's cost model for a target: NPU, GPU or none."""

from __future__ import annotations

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.context import Memo
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.estimator import Estimator
from tlf.planner.search_space import UNRESTRICTED, SearchSpace


def estimator_of(
    target: TargetSpec,
    level: Level,
    freedom: SearchSpace = UNRESTRICTED,
    memo: Memo | None = None,
) -> Estimator | None:
    """
    Return the estimator for tiles in a level: that of the machine kind whose parameters
    the target describes. None if the target describes neither fully.
    """
    npu = NpuEstimator.of(target, level, freedom, memo)
    return npu or GpuEstimator.of(target, level, freedom, memo)
