"""
The global choice: a graph as a sequence of groups, and what stays in memory between.

A combinatorial search without IR. Whoever knows what groups cost describes a graph as a
`Problem`, answers as `Costs`, and calls `search`.
"""

from tlf.support.partition.bits import mask_of, members
from tlf.support.partition.candidates import Demand
from tlf.support.partition.costs import Context, Costs, Option
from tlf.support.partition.forced import Forced, forced
from tlf.support.partition.limits import Limits
from tlf.support.partition.objective import Objective
from tlf.support.partition.problem import Node, Problem, Value
from tlf.support.partition.schedule import (
    Alternative,
    NoScheduleError,
    Result,
    Schedule,
    Statistics,
    Step,
)
from tlf.support.partition.strategies import STRATEGIES, search

__all__ = [
    "STRATEGIES",
    "Alternative",
    "Context",
    "Costs",
    "Demand",
    "Forced",
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
    "forced",
    "mask_of",
    "members",
    "search",
]
