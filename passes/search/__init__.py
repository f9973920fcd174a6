"""
The global choice: a graph as a sequence of groups, and what stays in memory between.

A combinatorial search without IR. Whoever knows what groups cost describes a graph as a
`Problem`, answers as `Costs`, and calls `search`.
"""

from tlf.passes.search.bits import mask_of, members
from tlf.passes.search.candidates import Demand
from tlf.passes.search.costs import Context, Costs, Option
from tlf.passes.search.forced import Forced, forced
from tlf.passes.search.limits import Limits
from tlf.passes.search.objective import Objective
from tlf.passes.search.problem import Node, Problem, Value
from tlf.passes.search.schedule import (
    Alternative,
    NoScheduleError,
    Result,
    Schedule,
    Statistics,
    Step,
)
from tlf.passes.search.strategies import STRATEGIES, search

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
