"""
Explanation of plans: search for the best schedules with and without two operations in
one group.
"""

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
from tlf.planner.partition.block_problem import BlockProblem, partition_problem_of
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.support.partition import (
    FusionQueryResult,
    NoScheduleError,
    Schedule,
    SearchResult,
    Step,
    elements_of_mask,
    find_schedule_fusing,
    mask_of,
    search_schedule,
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
        return partition_problem_of(self.nodes, self.level, self.free_values)

    @cached_property
    def costs(self) -> GroupCosts:
        """Cost model of groups."""
        return self.partitioner.cost_model_of(
            self.block_problem, self.target, self.level
        )

    @cached_property
    def best(self) -> SearchResult | None:
        """
        Search result with the best schedule by the cost model, joint or not, that the
        strategy of `partitioner` finds; `None` if there is no schedule.
        """
        options = self.partitioner
        try:
            return search_schedule(
                self.block_problem.problem,
                self.costs,
                options.strategy,
                options.objective_for_target(self.target, self.level),
                options.search_limits(),
            )
        except NoScheduleError:
            return None

    @cached_property
    def best_together(self) -> FusionQueryResult:
        """The best schedule with both in one group, or the reason why there is none."""
        requested, problem = self.partitioner.strategy, self.block_problem.problem
        strategy = requested if requested in CONSTRAINED else "dp"
        objective = self.partitioner.objective_for_target(self.target, self.level)
        limits = self.partitioner.search_limits()
        pair = elements_of_mask(self.pair_mask)
        return find_schedule_fusing(
            problem, self.costs, pair, strategy, objective, limits
        )

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

    def find_joint_step(self, result: SearchResult) -> Step | None:
        """Return the step of a schedule that runs both, if there is one."""
        steps = result.schedule.steps
        return next(
            (s for s in steps if s.group & self.pair_mask == self.pair_mask), None
        )

    def restrict_to(self, group_mask: int) -> FusionQuery:
        """Return the query restricted to a group and the groups that overlap it."""
        selected = group_mask
        for step in self.best.schedule.steps if self.best is not None else ():
            selected |= step.group if step.group & group_mask else 0
        return replace(
            self, nodes=tuple(self.nodes[n] for n in elements_of_mask(selected))
        )

    def with_capacity(self, capacity: int) -> FusionQuery:
        """Return the query with another capacity of the level, in bytes."""
        resized = self.target.with_capacities({self.level.name: capacity})
        return replace(self, target=resized)

    def without_limits(self) -> FusionQuery:
        """
        Return a copy of the query without limits on operations and contractions per
        group.
        """
        indices = range(len(self.nodes))
        contractions = self.costs.count_contractions(mask_of(indices))
        unlimited = replace(
            self.partitioner,
            max_group_size=len(self.nodes),
            max_contractions=contractions,
        )
        return replace(self, partitioner=unlimited)


def cost_of_result(result: SearchResult) -> Cost:
    """Return the cost of a schedule."""
    return Cost(result.schedule.time, result.schedule.payload)


def find_matching_steps(
    node_mask: int, *found: SearchResult
) -> Sequence[Sequence[Step]]:
    """Return the fewest steps of each schedule that run the same operations."""
    steps = [[e for e in each.schedule.steps if e.group & node_mask] for each in found]
    covered = node_mask
    for step in chain.from_iterable(steps):
        covered |= step.group
    return steps if covered == node_mask else find_matching_steps(covered, *found)
