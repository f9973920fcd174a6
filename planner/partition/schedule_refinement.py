"""
Search for the best of several schedules of a block's groups, by trial lowering and
simulation of copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import TilingInterface, ViewInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.planner.context import Evaluator
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.block_evaluation import evaluate_block_change
from tlf.planner.partition.block_problem import BlockProblem
from tlf.planner.partition.group_cost_model import GroupCosts, operations_added_to_group
from tlf.planner.partition.restricted_schedules import RestrictedSchedule
from tlf.planner.partition.step_order_candidates import StepOrders
from tlf.planner.restricted_targets import targets_with_half_a_resource
from tlf.planner.settings.search_budgets import REFINEMENT
from tlf.support.partition import Objective, Option, Schedule

Ranked: TypeAlias = "tuple[int, Schedule]"
"""Schedule and its rank by evaluated cycles."""


@dataclass(frozen=True)
class EvaluatedTimes:
    """Evaluated cycles of the selected and of the analytically best schedule."""

    program_count: int
    """Number of programs evaluated."""
    selected_cycles: int
    """Cycles of the selected schedule."""
    analytic_best_cycles: int
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

    block_problem: BlockProblem
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
    max_slowdown: float = REFINEMENT.max_slowdown_for_traffic
    """Maximum ratio of the cycles of the selected schedule to those of the fastest."""
    extra_evaluations: int = 0
    """
    Number of evaluations beyond the maximum: of prefetch candidates so far, of
    schedules for one core, and of those for less of a resource.
    """
    _cycles_by_schedule: dict[tuple[object, ...], int | None] = field(
        default_factory=dict[tuple[object, ...], "int | None"]
    )
    _evaluated_schedules: dict[tuple[object, ...], Schedule] = field(
        default_factory=dict[tuple[object, ...], Schedule]
    )

    def find_best(
        self,
        schedules: Sequence[Schedule],
        restricted: Sequence[Schedule] = (),
        restricted_by_resource: Sequence[RestrictedSchedule] = (),
    ) -> Schedule:
        """
        Return the fastest schedule that is found, or the first one if no cycles are
        known. `restricted` are the best schedules under further restrictions, which are
        evaluated however they rank by the cost model. So are those of targets with less
        of a resource, which are evaluated with innermost plans for these, too, where
        they may be faster.
        """
        known = {_schedule_key(each) for each in schedules}
        promising = [
            each.schedule
            for each in restricted_by_resource
            if self._can_be_better_than(
                each.schedule, schedules[0], REFINEMENT.restricted_ratio
            )
        ]
        self.extra_evaluations += len({*map(_schedule_key, promising)} - known)
        best = self._find_best_by_cycles(schedules, (*restricted, *promising))
        return self._compare_with_restricted_tiles(best, restricted_by_resource)

    def _compare_with_restricted_tiles(
        self, best: Schedule, restricted: Sequence[RestrictedSchedule]
    ) -> Schedule:
        """
        Return the fastest of the best schedule and of the fastest ones with innermost
        plans for targets with less of a resource.
        """
        if (cycles := self._cycles_by_schedule.get(_schedule_key(best))) is None:
            return best
        faster = self._restrictions_with_other_tiles(best, cycles, restricted)
        ranked = chain.from_iterable(map(self._rank_with_tiles_of, faster))
        found = islice(ranked, self.max_evaluations // 2)
        own = self._rank_of_cycles(cycles, best), best
        return min((own, *found), key=_rank_of_schedule)[1]

    def _restrictions_with_other_tiles(
        self, best: Schedule, cycles: int, restricted: Sequence[RestrictedSchedule]
    ) -> list[RestrictedSchedule]:
        """
        Return the schedules of targets with other innermost plans that differ from the
        best one and take fewer cycles by the cost model, the fastest first.
        """
        innermost = next(iter(self.target.levels.values()))
        targets = [*targets_with_half_a_resource(self.target, innermost)]
        key = _schedule_key(best)
        faster = (
            each
            for each in restricted
            if each.time < cycles
            and each.target in targets
            and _schedule_key(each.schedule) != key
        )
        return sorted(faster, key=lambda each: each.time)

    def _rank_with_tiles_of(self, restricted: RestrictedSchedule) -> Iterator[Ranked]:
        """
        Yield the fastest schedules so far, and that of a target with less of a
        resource, with innermost plans for it.
        """
        evaluator = self.evaluator.with_innermost_plans_for(restricted.target)
        known = {
            key: cycles
            for key, cycles in self._cycles_by_schedule.items()
            if cycles is not None
        }
        fastest = sorted(known, key=known.__getitem__)
        candidates = {
            key: self._evaluated_schedules[key]
            for key in fastest[: REFINEMENT.restricted_schedules]
        }
        candidates[_schedule_key(restricted.schedule)] = restricted.schedule
        for key, schedule in candidates.items():
            if (cycles := self._evaluate_schedule(schedule, evaluator)) is None:
                return
            self._cycles_by_schedule[key] = min(cycles, known.get(key, cycles))
            yield self._rank_of_cycles(cycles, schedule), schedule

    def _find_best_by_cycles(
        self, schedules: Sequence[Schedule], restricted: Sequence[Schedule]
    ) -> Schedule:
        """Return the fastest schedule with the innermost plans of the target."""
        promising = [
            schedule
            for schedule in schedules
            if self._can_be_better_than(schedule, schedules[0])
        ]
        if (
            len(promising) == 1
            and next(self._plan_and_prefetch_neighbours(schedules[0]), None) is None
        ):
            return schedules[0]
        first = self._best_with_prefetch(schedules[0])
        evaluated = self._evaluate_schedules((first, *promising), restricted)
        if not evaluated:
            return schedules[0]
        rank, schedule = min(evaluated, key=_rank_of_schedule)
        results = [
            self._add_prefetch_while_faster(
                *self._hill_climb(rank, schedule, self._max_slower_in_a_row)
            )
        ]
        results += self._hill_climb_from_runner_up(evaluated, rank, schedule)
        results += self._add_prefetch_to_starts(evaluated, schedule)
        return self._best_of_fastest([*results, *evaluated])

    def _evaluate_schedules(
        self, schedules: Sequence[Schedule], restricted: Sequence[Schedule]
    ) -> list[Ranked]:
        """
        Return the evaluated schedules of the given ones, until they get slower, of the
        restricted ones, and of all of these with two steps swapped.
        """
        candidates = {_schedule_key(each): each for each in schedules}
        first_half = [*candidates.values()][: (self.max_evaluations + 1) // 2]
        ranked = [*self._rank_until_stalled(first_half, self._max_slower_in_a_row)]
        if all(rank is None for rank, _ in ranked):
            return []
        ranked += [(self._evaluated_rank(each), each) for each in restricted]
        evaluated = [(rank, schedule) for rank, schedule in ranked if rank is not None]
        return evaluated + self._evaluate_swapped_steps(
            [schedule for _, schedule in evaluated],
            min(evaluated, key=_rank_of_schedule),
        )

    def _best_of_fastest(self, ranked_schedules: Sequence[Ranked]) -> Schedule:
        """Return the schedule with the best rank of the fastest ones."""
        cycles = {
            _schedule_key(schedule): self._cycles_of(schedule) or 0
            for _, schedule in ranked_schedules
        }
        limit = self.max_slowdown * min(cycles.values())
        fastest = (
            each for each in ranked_schedules if cycles[_schedule_key(each[1])] <= limit
        )
        return min(fastest, key=_rank_of_schedule)[1]

    def _add_prefetch_to_starts(
        self, ranked_schedules: Sequence[Ranked], best: Schedule
    ) -> list[Ranked]:
        """Add prefetch to the first schedule and to the best with one prefetch more."""
        starts = (ranked_schedules[0], min(ranked_schedules, key=self._prefetch_rank))
        starts_by_key = {
            _schedule_key(each): (rank, each)
            for rank, each in starts
            if each is not best
        }
        return [
            self._add_prefetch_while_faster(*each) for each in starts_by_key.values()
        ]

    def evaluated_times_of(
        self, selected: Schedule, first_schedule: Schedule
    ) -> EvaluatedTimes | None:
        """Return the cycles of two schedules, or None unless both were evaluated."""
        cycles, analytic_best_cycles = (
            self._cycles_by_schedule.get(_schedule_key(schedule))
            for schedule in (selected, first_schedule)
        )
        if cycles is None or analytic_best_cycles is None:
            return None
        return EvaluatedTimes(
            len(self._cycles_by_schedule), cycles, analytic_best_cycles
        )

    @property
    def _max_slower_in_a_row(self) -> int:
        """Number of consecutive slower candidates after which a search stops."""
        return -(-self.max_evaluations // REFINEMENT.patience_divisor)

    @property
    def _max_slower_in_secondary(self) -> int:
        """Patience of secondary searches."""
        return (self._max_slower_in_a_row + 1) // 2

    def _evaluate_swapped_steps(
        self, schedules: Sequence[Schedule], best: Ranked
    ) -> list[Ranked]:
        """
        Return the evaluated schedules with two steps of the given ones swapped, the
        best by the cost model first.
        """
        orders = StepOrders(self.block_problem.problem, self.costs)
        swapped = {
            _schedule_key(each): each
            for schedule in schedules
            for each in orders.schedules_with_swapped_steps(schedule)
        }
        candidates = [
            schedule
            for key, schedule in swapped.items()
            if key not in self._cycles_by_schedule
        ]
        candidates = [
            schedule
            for schedule in candidates
            if self._can_be_better_than(schedule, schedules[0])
        ]
        ranked = self._rank_until_stalled(
            sorted(candidates, key=self._modelled_rank),
            self._max_slower_in_secondary,
            best,
        )
        return [(rank, schedule) for rank, schedule in ranked if rank is not None]

    def _hill_climb_from_runner_up(
        self, ranked_schedules: Sequence[Ranked], rank: int, schedule: Schedule
    ) -> Iterator[Ranked]:
        """
        Yield the result of a hill climb with half the patience from the next schedule
        with other groups, if it is about as fast.
        """
        with_other_groups = [
            each for each in ranked_schedules if each[1].groups != schedule.groups
        ]
        other = min(with_other_groups, key=_rank_of_schedule, default=None)
        if other is not None and other[0] <= REFINEMENT.runner_up_ratio * rank:
            yield self._hill_climb(*other, self._max_slower_in_secondary)

    def _rank_until_stalled(
        self, schedules: Iterable[Schedule], patience: int, best: Ranked | None = None
    ) -> Iterator[tuple[int | None, Schedule]]:
        """Yield schedules with their ranks, until `patience` in a row are slower."""
        slower = 0
        for schedule in schedules:
            rank = self._evaluated_rank(schedule)
            yield rank, schedule
            if rank is not None and (best is None or rank < best[0]):
                best, slower = (rank, schedule), 0
            elif best is not None and self._is_slower(schedule, best[1]):
                slower += 1
            if slower >= patience:
                return

    def _is_slower(self, schedule: Schedule, best_schedule: Schedule) -> bool:
        """
        Return `True` if a schedule takes more cycles than the best one, regardless of
        traffic, or if its cycles are unknown.
        """
        cycles, best_cycles = self._cycles_of(schedule), self._cycles_of(best_schedule)
        return cycles is None or (best_cycles is not None and cycles > best_cycles)

    @property
    def _block(self) -> Block:
        return _block_of_problem(self.block_problem)

    def _hill_climb(self, rank: int, schedule: Schedule, patience: int) -> Ranked:
        """Change the plan of one group at a time while that reduces the rank."""
        has_improved = True
        while has_improved:
            has_improved = False
            deeper = [*self._neighbours_with_more_in_flight(schedule)]
            for found_rank, other in self._rank_until_stalled(
                [*deeper, *self._neighbours_by_rank(schedule)],
                patience + len(deeper),
                (rank, schedule),
            ):
                if found_rank is not None and found_rank < rank:
                    rank, schedule, has_improved = found_rank, other, True
                    break
        return rank, schedule

    def _neighbours_by_rank(self, schedule: Schedule) -> list[Schedule]:
        """Return the schedules with another plan of one group, the best first."""
        return sorted(
            self._neighbours_with_other_plan(schedule), key=self._modelled_rank
        )

    def _neighbours_with_more_in_flight(self, schedule: Schedule) -> Iterator[Schedule]:
        """Yield copies of a schedule with one more iteration of one group in flight."""
        for index, step in enumerate(schedule.steps):
            option = self.costs.option_with_more_in_flight(
                step.group, step.context, step.option
            )
            if option is not None:
                yield _with_step_option(schedule, index, option)

    def _add_prefetch_while_faster(self, rank: int, schedule: Schedule) -> Ranked:
        """
        Return a schedule with prefetch added to each group where that lowers the
        evaluated rank, and this rank.
        """
        limit = self.extra_evaluations + self.max_evaluations // 2
        for index in range(len(schedule.steps)):
            for other in self._schedules_with_prefetch_at(schedule, index):
                if self.extra_evaluations == limit:
                    return rank, schedule
                self.extra_evaluations += 1
                other_rank = self._evaluated_rank(other)
                if other_rank is not None and other_rank < rank:
                    rank, schedule = other_rank, other
        return rank, schedule

    def _schedules_with_prefetch_at(
        self, schedule: Schedule, step_index: int
    ) -> list[Schedule]:
        """Return the best schedules in which a step prefetches windows, if it can."""
        step = schedule.steps[step_index]
        options = self.costs.prefetch_options(
            step.group, step.context, step.option, REFINEMENT.alternative_plans + 1
        )
        schedules = (
            _with_step_option(schedule, step_index, option) for option in options
        )
        promising = [
            other for other in schedules if self._can_be_better_than(other, schedule)
        ]
        return sorted(promising, key=self._modelled_rank)[: REFINEMENT.prefetch_plans]

    def _best_with_prefetch(self, schedule: Schedule) -> Schedule:
        """
        Return the best schedule by the cost model with at most one more step that
        prefetches windows.
        """
        steps = range(len(schedule.steps))
        schedules = (
            each
            for index in steps
            for each in self._schedules_with_prefetch_at(schedule, index)
        )
        return min((schedule, *schedules), key=self._modelled_rank)

    def _prefetch_rank(self, ranked: Ranked) -> int:
        """
        Return the rank by the cost model of a schedule with one more step that
        prefetches.
        """
        _, schedule = ranked
        return self._modelled_rank(self._best_with_prefetch(schedule))

    def _plan_and_prefetch_neighbours(self, schedule: Schedule) -> Iterator[Schedule]:
        """Yield the schedules with another plan of one group, or with prefetch."""
        yield from self._neighbours_with_other_plan(schedule)
        for index in range(len(schedule.steps)):
            yield from self._schedules_with_prefetch_at(schedule, index)

    def _neighbours_with_other_plan(self, schedule: Schedule) -> Iterator[Schedule]:
        """Yield promising copies of a schedule with another plan of one group."""
        for index, step in enumerate(schedule.steps):
            choices = self.costs.best_options(
                step.group, step.context, REFINEMENT.alternative_plans + 1
            )
            for option in choices:
                other = _with_step_option(schedule, index, option)
                if option.plan != step.option.plan and self._can_be_better_than(
                    other, schedule
                ):
                    yield other

    def _can_be_better_than(
        self,
        schedule: Schedule,
        best_schedule: Schedule,
        ratio: float = REFINEMENT.prune_ratio,
    ) -> bool:
        """
        Return `True` if a schedule may be better than the best one once evaluated: if
        its rank by the cost model is at most `ratio` times that of the best one.
        """
        rank = self._modelled_rank(schedule)
        return rank <= ratio * self._modelled_rank(best_schedule)

    def _modelled_rank(self, schedule: Schedule) -> int:
        """Return the rank of a schedule by the cost model."""
        return self.objective.sort_key_of_cost(schedule.time, schedule.bytes)[0]

    def _evaluated_rank(self, schedule: Schedule) -> int | None:
        """Return the rank of a schedule by its evaluated cycles, or None if unknown."""
        cycles = self._cycles_of(schedule)
        return None if cycles is None else self._rank_of_cycles(cycles, schedule)

    def _rank_of_cycles(self, cycles: int, schedule: Schedule) -> int:
        """Return the rank of a schedule that takes some cycles."""
        return self.objective.sort_key_of_cost(cycles, schedule.bytes)[0]

    def _cycles_of(self, schedule: Schedule) -> int | None:
        """Return the program's cycles with a schedule, or None if unknown."""
        key = _schedule_key(schedule)
        if key not in self._cycles_by_schedule:
            if (
                len(self._cycles_by_schedule)
                == self.max_evaluations + self.extra_evaluations
            ):
                return None
            cycles = self._evaluate_schedule(schedule, self.evaluator)
            self._cycles_by_schedule[key] = cycles
            self._evaluated_schedules[key] = schedule
        return self._cycles_by_schedule[key]

    def _evaluate_schedule(
        self, schedule: Schedule, evaluator: Evaluator
    ) -> int | None:
        """
        Return the cycles of a copy of the program with a schedule applied to its block,
        or None if unknown.
        """

        def change(
            copies: dict[Operation, Operation], values: dict[SSAValue, SSAValue]
        ) -> None:
            nodes = tuple(copies[op] for op in self.block_problem.nodes)
            mapped = tuple(values.get(each, each) for each in self.block_problem.values)
            problem = BlockProblem(nodes, mapped, self.block_problem.problem)
            self.apply_schedule(problem, schedule, self.level)

        return evaluate_block_change(self._block, change, self.target, evaluator)


def _rank_of_schedule(ranked: Ranked) -> int:
    return ranked[0]


def _with_step_option(schedule: Schedule, step_index: int, option: Option) -> Schedule:
    """Return a copy of a schedule with `option` for the step at `step_index`."""
    step = replace(schedule.steps[step_index], option=option)
    return Schedule.of(
        (*schedule.steps[:step_index], step, *schedule.steps[step_index + 1 :])
    )


def _schedule_key(schedule: Schedule) -> tuple[object, ...]:
    """Return a key that identifies the program of a schedule."""
    return tuple(
        (step.group, step.context, _plan_key(step.option.plan))
        for step in schedule.steps
    )


def _plan_key(plan: object) -> object:
    """
    Return a key that identifies the program of a plan among those of a group; None if
    it is no `OuterPlan`.
    """
    if not isinstance(plan, OuterPlan):
        return None
    return plan.program_key


def limit_evaluations(
    block_problem: BlockProblem,
    requested: int | None,
    effort: int = REFINEMENT.evaluated_operations,
) -> int:
    """
    Return the number of trial lowerings in a block, given the number asked for and the
    effort in operations of all programs together. Operations that move tensors between
    groups count, too, as they are also lowered to loops.
    """
    block = _block_of_problem(block_problem)
    size = sum(
        operations_added_to_group(op)
        for op in block.ops
        if isinstance(op, graph.GroupOp)
    )
    if requested is None:
        requested = (
            REFINEMENT.schedule_evaluations if size <= REFINEMENT.small_program else 0
        )
    materialized = sum(_has_own_tensor(op) for op in block.ops)
    return min(requested, effort // max(1, size + materialized))


def _has_own_tensor(op: Operation) -> bool:
    """Return `True` if an operation between groups computes a tensor of its own."""
    return not isinstance(op, graph.GroupOp | ViewInterface) and isinstance(
        op, TilingInterface | ConcatLikeInterface
    )


def _block_of_problem(block_problem: BlockProblem) -> Block:
    block = block_problem.nodes[0].parent
    assert block is not None
    return block
