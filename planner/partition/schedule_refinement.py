"""
Search for the best of several schedules of groups, by trial evaluation on the event
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import TilingInterface, ViewInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.planner.context import Evaluator
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.block_evaluation import evaluate_change
from tlf.planner.partition.block_problem import BlockProblem
from tlf.planner.partition.group_cost_model import GroupCosts, operation_count
from tlf.planner.partition.step_orders import StepOrders
from tlf.planner.settings.search_budgets import REFINEMENT
from tlf.support.partition import Objective, Option, Schedule

Ranked: TypeAlias = "tuple[int, Schedule]"
"""Schedule and its rank by evaluated cycles."""


@dataclass(frozen=True)
class EvaluatedTimes:
    """Evaluated cycles of the selected and of the first schedule."""

    programs: int
    """Number of programs evaluated."""
    cycles: int
    """Cycles of the selected schedule."""
    first: int
    """Cycles of the best schedule by the cost model."""


@dataclass
class ScheduleRefinement:
    """
    Refinement of a block's schedules by trial evaluation on the event model. A hill
    climb from the fastest schedule changes the plan of one group at a time, as long as
    that is faster. Finally, prefetch of windows is added to one group after the other
    if that is faster, in the schedule found, in the best schedule by the cost model,
    and in the best one by the cost model with prefetch.

    The number of evaluations is limited, not their time, so that the same program gets
    the same plans on every machine.
    """

    stated: BlockProblem
    costs: GroupCosts
    target: TargetSpec
    level: Level
    evaluator: Evaluator
    apply_schedule: Callable[[BlockProblem, Schedule, Level], object]
    """Rewrite of a copy of the block that applies a schedule to it."""
    objective: Objective
    """Objective by which programs are compared."""
    max_evaluations: int
    """Maximum number of evaluations, except for prefetch candidates."""
    _extra: int = 0
    """Number of prefetch candidates evaluated."""
    _known: dict[tuple[object, ...], int | None] = field(
        default_factory=dict[tuple[object, ...], "int | None"]
    )

    def find_best(self, ways: Sequence[Schedule]) -> Schedule:
        """
        Return the fastest schedule that is found, or the first one if no cycles are
        known.
        """
        promising = [
            schedule for schedule in ways if self._is_promising(schedule, ways[0])
        ]
        if len(promising) == 1 and next(self._all_neighbours(ways[0]), None) is None:
            return ways[0]
        candidates = {
            _key_of(each): each
            for each in (self._best_with_prefetch(ways[0]), *promising)
        }
        first_half = [*candidates.values()][: (self.max_evaluations + 1) // 2]
        ranked = self._rank_until_stalled(first_half, self._patience)
        evaluated = [(rank, schedule) for rank, schedule in ranked if rank is not None]
        if not evaluated:
            return ways[0]
        evaluated += self._evaluate_orders(
            [schedule for _, schedule in evaluated], min(evaluated, key=_rank_of)
        )
        rank, schedule = min(evaluated, key=_rank_of)
        results = [
            self._add_prefetch(*self._hill_climb(rank, schedule, self._patience))
        ]
        results += self._climb_runner_up(evaluated, rank, schedule)
        starts = (evaluated[0], min(evaluated, key=self._prefetch_rank))
        starts_by_key = {
            _key_of(each): (rank, each) for rank, each in starts if each is not schedule
        }
        results += [self._add_prefetch(*each) for each in starts_by_key.values()]
        return min(results, key=_rank_of)[1]

    def evaluated_times_of(
        self, chosen: Schedule, first: Schedule
    ) -> EvaluatedTimes | None:
        """Return the cycles of two schedules, or None unless both were evaluated."""
        cycles, first_cycles = (
            self._known.get(_key_of(schedule)) for schedule in (chosen, first)
        )
        if cycles is None or first_cycles is None:
            return None
        return EvaluatedTimes(len(self._known), cycles, first_cycles)

    @property
    def _patience(self) -> int:
        """Number of consecutive slower candidates after which a search stops."""
        return -(-self.max_evaluations // REFINEMENT.patience_divisor)

    @property
    def _half_patience(self) -> int:
        """Patience of secondary searches."""
        return (self._patience + 1) // 2

    def _evaluate_orders(self, ways: Sequence[Schedule], best: Ranked) -> list[Ranked]:
        """
        Return the evaluated schedules with two steps of the given ones swapped, the
        best by the cost model first.
        """
        orders = StepOrders(self.stated.problem, self.costs)
        swapped = {
            _key_of(each): each
            for schedule in ways
            for each in orders.swap_neighbours(schedule)
        }
        candidates = [
            schedule for key, schedule in swapped.items() if key not in self._known
        ]
        candidates = [
            schedule for schedule in candidates if self._is_promising(schedule, ways[0])
        ]
        ranked = self._rank_until_stalled(
            sorted(candidates, key=self._modelled_rank), self._half_patience, best
        )
        return [(rank, schedule) for rank, schedule in ranked if rank is not None]

    def _climb_runner_up(
        self, known: Sequence[Ranked], rank: int, way: Schedule
    ) -> Iterator[Ranked]:
        """
        Yield the result of a hill climb with half the patience from the next schedule
        with other groups, if it is about as fast.
        """
        with_other_groups = [each for each in known if each[1].groups != way.groups]
        other = min(with_other_groups, key=_rank_of, default=None)
        if other is not None and other[0] <= REFINEMENT.runner_up_ratio * rank:
            yield self._hill_climb(*other, self._half_patience)

    def _rank_until_stalled(
        self, ways: Iterable[Schedule], patience: int, best: Ranked | None = None
    ) -> Iterator[tuple[int | None, Schedule]]:
        """Yield schedules with their ranks, until `patience` in a row are slower."""
        slower = 0
        for schedule in ways:
            rank = self._evaluated_rank(schedule)
            yield rank, schedule
            if rank is not None and (best is None or rank < best[0]):
                best, slower = (rank, schedule), 0
            elif best is not None and self._is_slower(schedule, best[1]):
                slower += 1
            if slower >= patience:
                return

    def _is_slower(self, way: Schedule, best: Schedule) -> bool:
        """
        Return `True` if a schedule takes more cycles than the best one, regardless of
        traffic, or if its cycles are unknown.
        """
        cycles, best_cycles = self._cycles_of(way), self._cycles_of(best)
        return cycles is None or (best_cycles is not None and cycles > best_cycles)

    @property
    def _block(self) -> Block:
        return _block_of(self.stated)

    def _hill_climb(self, rank: int, way: Schedule, patience: int) -> Ranked:
        """Change the plan of one group at a time while that reduces the rank."""
        has_improved = True
        while has_improved:
            has_improved = False
            for found_rank, other in self._rank_until_stalled(
                self._neighbours_by_rank(way), patience, (rank, way)
            ):
                if found_rank is not None and found_rank < rank:
                    rank, way, has_improved = found_rank, other, True
                    break
        return rank, way

    def _neighbours_by_rank(self, way: Schedule) -> list[Schedule]:
        """Return the schedules with another plan of one group, the best first."""
        return sorted(self._plan_neighbours(way), key=self._modelled_rank)

    def _add_prefetch(self, rank: int, way: Schedule) -> Ranked:
        """Add prefetch to one group after the other if that is faster."""
        limit = self._extra + self.max_evaluations // 2
        for index in range(len(way.steps)):
            for other in self._prefetch_schedules(way, index):
                if self._extra == limit:
                    return rank, way
                self._extra += 1
                other_rank = self._evaluated_rank(other)
                if other_rank is not None and other_rank < rank:
                    rank, way = other_rank, other
        return rank, way

    def _prefetch_schedules(self, way: Schedule, number: int) -> list[Schedule]:
        """Return the best schedules in which a step prefetches windows, if it can."""
        step = way.steps[number]
        options = self.costs.prefetch_candidates(
            step.group, step.context, step.option, REFINEMENT.alternative_plans + 1
        )
        schedules = (_with_option(way, number, option) for option in options)
        promising = [other for other in schedules if self._is_promising(other, way)]
        return sorted(promising, key=self._modelled_rank)[: REFINEMENT.prefetch_plans]

    def _best_with_prefetch(self, way: Schedule) -> Schedule:
        """
        Return the best schedule by the cost model with at most one more step that
        prefetches windows.
        """
        steps = range(len(way.steps))
        schedules = (
            each for index in steps for each in self._prefetch_schedules(way, index)
        )
        return min((way, *schedules), key=self._modelled_rank)

    def _prefetch_rank(self, ranked: Ranked) -> int:
        """
        Return the rank by the cost model of a schedule with one more step that
        prefetches.
        """
        _, schedule = ranked
        return self._modelled_rank(self._best_with_prefetch(schedule))

    def _all_neighbours(self, way: Schedule) -> Iterator[Schedule]:
        """Yield the schedules with another plan of one group, or with prefetch."""
        yield from self._plan_neighbours(way)
        for index in range(len(way.steps)):
            yield from self._prefetch_schedules(way, index)

    def _plan_neighbours(self, way: Schedule) -> Iterator[Schedule]:
        """Yield the schedules with another plan of one group."""
        for index, step in enumerate(way.steps):
            choices = self.costs.candidates(
                step.group, step.context, REFINEMENT.alternative_plans + 1
            )
            for option in choices:
                other = _with_option(way, index, option)
                if option.plan != step.option.plan and self._is_promising(other, way):
                    yield other

    def _is_promising(self, way: Schedule, best: Schedule) -> bool:
        """
        Return `True` if a schedule may be better than the best one once evaluated.
        """
        return self._modelled_rank(way) <= REFINEMENT.prune_ratio * self._modelled_rank(
            best
        )

    def _modelled_rank(self, way: Schedule) -> int:
        """Return the rank of a schedule by the cost model."""
        return self.objective.rank(way.time, way.bytes)[0]

    def _evaluated_rank(self, way: Schedule) -> int | None:
        """Return the rank of a schedule by its evaluated cycles, or None if unknown."""
        cycles = self._cycles_of(way)
        return None if cycles is None else self.objective.rank(cycles, way.bytes)[0]

    def _cycles_of(self, way: Schedule) -> int | None:
        """Return the program's cycles with a schedule, or None if unknown."""
        key = _key_of(way)
        if key not in self._known:
            if len(self._known) == self.max_evaluations + self._extra:
                return None
            self._known[key] = self._evaluate_schedule(way)
        return self._known[key]

    def _evaluate_schedule(self, way: Schedule) -> int | None:
        def change(
            copies: dict[Operation, Operation], values: dict[SSAValue, SSAValue]
        ) -> None:
            nodes = tuple(copies[op] for op in self.stated.nodes)
            mapped = tuple(values.get(each, each) for each in self.stated.values)
            problem = BlockProblem(nodes, mapped, self.stated.problem)
            self.apply_schedule(problem, way, self.level)

        return evaluate_change(self._block, change, self.target, self.evaluator)


def _rank_of(ranked: Ranked) -> int:
    return ranked[0]


def _with_option(way: Schedule, number: int, option: Option) -> Schedule:
    """Return a schedule with another option of one step."""
    step = replace(way.steps[number], option=option)
    return Schedule.of((*way.steps[:number], step, *way.steps[number + 1 :]))


def _key_of(way: Schedule) -> tuple[object, ...]:
    """Return a key that identifies a schedule."""
    return tuple(
        (step.group, step.context, _plan_key(step.option.plan)) for step in way.steps
    )


def _plan_key(plan: object) -> object:
    """
    Return a key that identifies a plan among those of a group; None if it is no
    `OuterPlan`.
    """
    if not isinstance(plan, OuterPlan):
        return None
    return plan.key


def limit_evaluations(
    stated: BlockProblem,
    tries: int | None,
    effort: int = REFINEMENT.evaluated_operations,
) -> int:
    """
    Return the number of trial lowerings in a block, given the number asked for and the
    effort in operations of all programs together. Operations that move tensors between
    groups count, too, as they are also lowered to loops.
    """
    block = _block_of(stated)
    size = sum(operation_count(op) for op in block.ops if isinstance(op, graph.GroupOp))
    if tries is None:
        tries = (
            REFINEMENT.schedule_evaluations if size <= REFINEMENT.small_program else 0
        )
    materialized = sum(_is_materialized(op) for op in block.ops)
    return min(tries, effort // max(1, size + materialized))


def _is_materialized(op: Operation) -> bool:
    """Return `True` if an operation between groups computes a tensor of its own."""
    return not isinstance(op, graph.GroupOp | ViewInterface) and isinstance(
        op, TilingInterface | ConcatLikeInterface
    )


def _block_of(stated: BlockProblem) -> Block:
    block = stated.nodes[0].parent
    assert block is not None
    return block
