"""
Graph partitioning without IR: a sequence of groups, and the values resident between
them.

A combinatorial search. The caller describes a graph as a `Problem`, implements
`CostModel` for its groups, and calls `search`.
"""

from tlf.support.bit_sets import elements_of_mask, mask_of
from tlf.support.partition.candidate_groups import FusionConstraint
from tlf.support.partition.cost_model import CostModel, Option, ResidencyContext
from tlf.support.partition.fusion_queries import FusionQueryResult, find_schedule_fusing
from tlf.support.partition.objective import Objective
from tlf.support.partition.partition_problem import (
    PartitionProblem,
    ProblemOperation,
    ProblemValue,
)
from tlf.support.partition.schedule import (
    Alternative,
    NoScheduleError,
    Schedule,
    SearchResult,
    SearchStatistics,
    Step,
)
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.search_strategies import STRATEGIES, search_schedule

__all__ = [
    "STRATEGIES",
    "Alternative",
    "CostModel",
    "FusionConstraint",
    "FusionQueryResult",
    "Limits",
    "NoScheduleError",
    "Objective",
    "Option",
    "PartitionProblem",
    "ProblemOperation",
    "ProblemValue",
    "ResidencyContext",
    "Schedule",
    "SearchResult",
    "SearchStatistics",
    "Step",
    "elements_of_mask",
    "find_schedule_fusing",
    "mask_of",
    "search_schedule",
]
