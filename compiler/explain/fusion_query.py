"""Explanation of fusion: schedules with and without two operations fused."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from xdsl.ir import Operation, SSAValue

from tlf.compiler.explain.partition_choices import Cost
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.planner.partition.block_problem import BlockProblem, problem_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.support.partition import (
    NoScheduleError,
    Result,
    Schedule,
    Step,
    WhatIf,
    force_together,
    mask_of,
    members,
    search,
)
from tlf.support.partition.search_strategies import CONSTRAINED


@dataclass(frozen=True)
class FusionQuery:
    """
    Query for the best schedules of a block, with two operations in one group or not.
    """

    nodes: tuple[Operation, ...]
    pair: tuple[Operation, Operation]
    target: TargetSpec
    partitioner: GraphPartitionPass
    free_values: AbstractSet[SSAValue] = frozenset()
    """Tensors whose layout may be any permutation of their axes."""

    @property
    def level(self) -> Level:
        """Memory level of the tiles."""
        return find_tile_level(self.target, self.partitioner.level)

    @cached_property
    def block_problem(self) -> BlockProblem:
        """Partition problem of the operations."""
        return problem_of(self.nodes, self.level, self.free_values)

    @cached_property
    def costs(self) -> GroupCosts:
        """Cost model of groups."""
        return self.partitioner.cost_model_of(
            self.block_problem, self.target, self.level
        )

    @cached_property
    def best(self) -> Result | None:
        """The best schedule, or `None` if there is none."""
        options = self.partitioner
        try:
            return search(
                self.block_problem.problem,
                self.costs,
                options.strategy,
                options.objective(self.target, self.level),
                options.search_limits(),
            )
        except NoScheduleError:
            return None

    @cached_property
    def best_together(self) -> WhatIf:
        """The best schedule with both in one group, or the reason why there is none."""
        requested, problem = self.partitioner.strategy, self.block_problem.problem
        strategy = requested if requested in CONSTRAINED else "dp"
        objective = self.partitioner.objective(self.target, self.level)
        limits = self.partitioner.search_limits()
        pair = members(self.pair_mask)
        return force_together(problem, self.costs, pair, strategy, objective, limits)

    @property
    def pair_mask(self) -> int:
        """Bit mask of both operations."""
        return mask_of(map(self.nodes.index, self.pair))

    @property
    def smallest_joint_group(self) -> int:
        """Convex closure of both operations."""
        return self.block_problem.problem.convex_closure(self.pair_mask)

    def has_joint_step(self, schedule: Schedule) -> bool:
        """Return `True` if one step of a schedule runs both."""
        return any(
            step.group & self.pair_mask == self.pair_mask for step in schedule.steps
        )

    def find_joint_step(self, found: Result) -> Step | None:
        """Return the step of a schedule that runs both, if there is one."""
        steps = found.schedule.steps
        return next(
            (s for s in steps if s.group & self.pair_mask == self.pair_mask), None
        )

    def restrict_to(self, group: int) -> FusionQuery:
        """Return the query restricted to a group and the groups that overlap it."""
        selected = group
        for step in self.best.schedule.steps if self.best is not None else ():
            selected |= step.group if step.group & group else 0
        return replace(self, nodes=tuple(self.nodes[n] for n in members(selected)))

    def with_capacity(self, capacity: int) -> FusionQuery:
        """Return the query with another capacity of the level, in bytes."""
        resized = self.target.with_capacities({self.level.name: capacity})
        return replace(self, target=resized)

    def without_limits(self) -> FusionQuery:
        """Return the query without limits on the size of groups."""
        indices = range(len(self.nodes))
        contractions = self.costs.count_contractions(mask_of(indices))
        unlimited = replace(
            self.partitioner,
            max_group_size=len(self.nodes),
            max_contractions=contractions,
        )
        return replace(self, partitioner=unlimited)


def cost_of(found: Result) -> Cost:
    """Return the cost of a schedule."""
    return Cost(found.schedule.time, found.schedule.payload)


def match_steps(nodes: int, *found: Result) -> Sequence[Sequence[Step]]:
    """Return the fewest steps of each schedule that run the same operations."""
    steps = [[e for e in each.schedule.steps if e.group & nodes] for each in found]
    covered = nodes
    for step in chain.from_iterable(steps):
        covered |= step.group
    return steps if covered == nodes else match_steps(covered, *found)
