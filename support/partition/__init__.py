"""
Graph partitioning without IR: a sequence of groups, and the values resident between
them.

A combinatorial search. The caller describes a graph as a `Problem`, implements
`CostModel` for its groups, and calls `search`.
"""

from tlf.support.bit_sets import mask_of, members
from tlf.support.partition.candidate_groups import Demand
from tlf.support.partition.cost_model import Context, CostModel, Option
from tlf.support.partition.objective import Objective
from tlf.support.partition.partition_problem import Node, Problem, Value
from tlf.support.partition.schedule import (
    Alternative,
    NoScheduleError,
    Result,
    Schedule,
    Statistics,
    Step,
)
from tlf.support.partition.search_limits import Limits
from tlf.support.partition.search_strategies import STRATEGIES, search
from tlf.support.partition.what_if import WhatIf, force_together

__all__ = [
    "STRATEGIES",
    "Alternative",
    "Context",
    "CostModel",
    "Demand",
    "Limits",
    "NoScheduleError",
    "Node",
    "Objective",
    "Option",
    "Problem",
    "Result",
    "Schedule",
    "Statistics",
    "Step",
    "Value",
    "WhatIf",
    "force_together",
    "mask_of",
    "members",
    "search",
]
