"""Schedules of a part of a program, with two of its operations together or not."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from xdsl.ir import Operation, SSAValue

from tlf.compiler.explain.choices import Cost
from tlf.dialects.target import Level, Target
from tlf.dialects.target.levels import level_named
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.partition.costs import GroupCosts
from tlf.planner.partition.problem import BlockProblem, problem_of
from tlf.support.partition import (
    Forced,
    NoScheduleError,
    Result,
    Schedule,
    Step,
    forced,
    mask_of,
    members,
    search,
)
from tlf.support.partition.strategies import DEMANDING


@dataclass(frozen=True)
class Trial:
    """
    Operations of a block to be scheduled, of which two are looked at, for a target and
    by the options of a pass.
    """

    nodes: tuple[Operation, ...]
    pair: tuple[Operation, Operation]
    target: Target
    partitioner: GraphPartitionPass
    free: AbstractSet[SSAValue] = frozenset()
    """Tensors that may lie in any order of their axes."""

    @property
    def level(self) -> Level:
        """The memory level that tiles are brought to."""
        return level_named(self.target, self.partitioner.level)

    @cached_property
    def stated(self) -> BlockProblem:
        """The search problem."""
        return problem_of(self.nodes, self.level, self.free)

    @cached_property
    def costs(self) -> GroupCosts:
        """The costs of groups."""
        return self.partitioner.costs(self.stated, self.target, self.level)

    @cached_property
    def best(self) -> Result | None:
        """The best schedule, or None if there is none."""
        options = self.partitioner
        try:
            return search(
                self.stated.problem,
                self.costs,
                options.strategy,
                options.objective(self.target, self.level),
                options.limits(),
            )
        except NoScheduleError:
            return None

    @cached_property
    def together(self) -> Forced:
        """The best schedule with both in one group, or why there is none."""
        asked, problem = self.partitioner.strategy, self.stated.problem
        strategy = asked if asked in DEMANDING else "dp"
        objective = self.partitioner.objective(self.target, self.level)
        limits = self.partitioner.limits()
        both = members(self.both)
        return forced(problem, self.costs, both, strategy, objective, limits)

    @property
    def both(self) -> int:
        """The two, as a set of the problem."""
        return mask_of(map(self.nodes.index, self.pair))

    @property
    def least_group(self) -> int:
        """Both, with all that lies on ways between them."""
        return self.stated.problem.closure(self.both)

    def runs_both(self, schedule: Schedule) -> bool:
        """Return `True` if one step of a schedule runs both."""
        return any(step.group & self.both == self.both for step in schedule.steps)

    def joint(self, found: Result) -> Step | None:
        """The step of a schedule that runs both, if one does."""
        steps = found.schedule.steps
        return next((s for s in steps if s.group & self.both == self.both), None)

    def part(self, group: int) -> Trial:
        """
        The same with the operations of a group alone, and of all groups of the best
        schedule that have one of these.
        """
        picked = group
        for step in self.best.schedule.steps if self.best is not None else ():
            picked |= step.group if step.group & group else 0
        return replace(self, nodes=tuple(self.nodes[n] for n in members(picked)))

    def sized(self, capacity: int) -> Trial:
        """The same with another capacity of the level, in bytes."""
        resized = self.target.resized({self.level.name: capacity})
        return replace(self, target=resized)

    def unlimited(self) -> Trial:
        """The same with groups of any size."""
        every = range(len(self.nodes))
        contractions = self.costs.contractions_in(mask_of(every))
        free = replace(
            self.partitioner,
            max_group_size=len(self.nodes),
            max_contractions=contractions,
        )
        return replace(self, partitioner=free)


def cost_of(found: Result) -> Cost:
    """Return the cost of a schedule."""
    return Cost(found.schedule.time, found.schedule.payload)


def steps_of_same(nodes: int, *found: Result) -> Sequence[Sequence[Step]]:
    """
    The steps of schedules that run some operations, and as many of the others as it
    takes for each of these to run the same.
    """
    steps = [[e for e in each.schedule.steps if e.group & nodes] for each in found]
    more = nodes
    for step in chain.from_iterable(steps):
        more |= step.group
    return steps if more == nodes else steps_of_same(more, *found)
