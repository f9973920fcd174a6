"""Select the best of several schedules by trial evaluation on the event model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.planner.partition.schedule_application import apply_schedule
from tlf.planner.partition.step_orders import StepOrders
from tlf.support.partition import Objective, Option, Schedule

MAX_EVALUATED_OPERATIONS = 400
"""
Operations of all programs that are evaluated, at most, but for those of leads, unless
it is given how many.
"""

MAX_EVALUATIONS = 16
"""Programs that are evaluated unless it is given how many, in small ones."""

MAX_INSTRUCTIONS = 2_000_000
"""Instructions that are run to evaluate programs, at most."""

SMALL = 16
"""Operations of a small program."""

RUNNERS_UP = 16
"""Plans of a group that are tried instead of its own."""

MAX_PREFETCH_PLANS = 4
"""Plans that lead are tried, at most, for each group."""

PATIENCE_DIVISOR = 4
"""After one in so many of the tries in a row that are slower no more are made."""

RUNNER_UP_RATIO = 1.02
"""Other plans are tried of another schedule that takes so many times the best."""

PRUNE_RATIO = 1.5
"""Ratio to the best cost by the formula above which a schedule is not tried."""


Ranked: TypeAlias = "tuple[int, Schedule]"
"""A schedule with what it is compared by, once it was evaluated."""


@dataclass(frozen=True)
class EvaluatedTimes:
    """Evaluated cycles of the selected and of the first schedule."""

    programs: int
    """Number of programs evaluated."""
    cycles: int
    """Of the one that was chosen."""
    first: int
    """Of the best one by the formula."""


@dataclass
class ScheduleRefinement:
    """
    Refinement of a block's schedules by trial evaluation on the event model. From the
    fastest it goes on to other plans of one group after the other, as long as one is
    faster. At last windows of one group after the other are computed ahead where that
    is faster, in the schedule found, in the formula's own, and in the one that the
    formula finds best with windows computed ahead.

    The number of evaluations is limited, not their time, so that the same program gets
    the same plans on every machine.
    """

    stated: BlockProblem
    costs: GroupCosts
    target: TargetSpec
    level: Level
    evaluator: Evaluator
    objective: Objective
    """Objective by which programs are compared."""
    max_evaluations: int
    """Rehearsals at most, but for those of leads."""
    _extra: int = 0
    """Number of leads tried."""
    _known: dict[tuple[object, ...], int | None] = field(
        default_factory=dict[tuple[object, ...], "int | None"]
    )

    def find_best(self, ways: Sequence[Schedule]) -> Schedule:
        """The fastest that is found, the first one where nothing is known to be."""
        near = [way for way in ways if self._is_promising(way, ways[0])]
        if len(near) == 1 and next(self._all_neighbours(ways[0]), None) is None:
            return ways[0]
        likely = {
            _key_of(each): each for each in (self._best_with_prefetch(ways[0]), *near)
        }
        half = [*likely.values()][: (self.max_evaluations + 1) // 2]
        ranked = self._rank_until_stalled(half, self._patience)
        known = [(rank, way) for rank, way in ranked if rank is not None]
        if not known:
            return ways[0]
        known += self._evaluate_orders(
            [way for _, way in known], min(known, key=_rank_of)
        )
        rank, way = min(known, key=_rank_of)
        found = [self._add_prefetch(*self._hill_climb(rank, way, self._patience))]
        found += self._climb_runner_up(known, rank, way)
        starts = (known[0], min(known, key=self._prefetch_rank))
        others = {
            _key_of(each): (rank, each) for rank, each in starts if each is not way
        }
        found += [self._add_prefetch(*each) for each in others.values()]
        return min(found, key=_rank_of)[1]

    def evaluated_times_of(
        self, chosen: Schedule, first: Schedule
    ) -> EvaluatedTimes | None:
        """Return the times of two schedules; None unless both were evaluated."""
        cycles, known = (self._known.get(_key_of(way)) for way in (chosen, first))
        if cycles is None or known is None:
            return None
        return EvaluatedTimes(len(self._known), cycles, known)

    @property
    def _patience(self) -> int:
        """Number of consecutive slower candidates after which a search stops."""
        return -(-self.max_evaluations // PATIENCE_DIVISOR)

    @property
    def _half_patience(self) -> int:
        """Patience of searches beside the main one."""
        return (self._patience + 1) // 2

    def _evaluate_orders(self, ways: Sequence[Schedule], best: Ranked) -> list[Ranked]:
        """Those of some schedules in another order, the best by the formula first."""
        orders = StepOrders(self.stated.problem, self.costs)
        found = {
            _key_of(each): each for way in ways for each in orders.swap_neighbours(way)
        }
        near = [way for key, way in found.items() if key not in self._known]
        near = [way for way in near if self._is_promising(way, ways[0])]
        ranked = self._rank_until_stalled(
            sorted(near, key=self._modelled_rank), self._half_patience, best
        )
        return [(rank, way) for rank, way in ranked if rank is not None]

    def _climb_runner_up(
        self, known: Sequence[Ranked], rank: int, way: Schedule
    ) -> Iterator[Ranked]:
        """
        Yield the result of trying other plans in the next schedule of other groups, if
        it is about as fast: half as many of them are tried.
        """
        others = [each for each in known if each[1].groups != way.groups]
        other = min(others, key=_rank_of, default=None)
        if other is not None and other[0] <= RUNNER_UP_RATIO * rank:
            yield self._hill_climb(*other, self._half_patience)

    def _rank_until_stalled(
        self, ways: Iterable[Schedule], patience: int, best: Ranked | None = None
    ) -> Iterator[tuple[int | None, Schedule]]:
        """Schedules with their ranks, up to many in a row that are slower."""
        slower = 0
        for way in ways:
            rank = self._evaluated_rank(way)
            yield rank, way
            if rank is not None and (best is None or rank < best[0]):
                best, slower = (rank, way), 0
            elif best is not None and self._is_slower(way, best[1]):
                slower += 1
            if slower >= patience:
                return

    def _is_slower(self, way: Schedule, best: Schedule) -> bool:
        """
        Return `True` if a schedule takes more time than the best one, whatever its
        traffic, or if its time is not known.
        """
        cycles, least = self._cycles_of(way), self._cycles_of(best)
        return cycles is None or (least is not None and cycles > least)

    @property
    def _block(self) -> Block:
        return _block_of(self.stated)

    def _hill_climb(self, rank: int, way: Schedule, patience: int) -> Ranked:
        """Go on to other plans of groups, one after the other, while that helps."""
        better = True
        while better:
            better = False
            for found, other in self._rank_until_stalled(
                self._neighbours_by_rank(way), patience, (rank, way)
            ):
                if found is not None and found < rank:
                    rank, way, better = found, other, True
                    break
        return rank, way

    def _neighbours_by_rank(self, way: Schedule) -> list[Schedule]:
        """The schedules near it with another plan of one group, the best first."""
        return sorted(self._plan_neighbours(way), key=self._modelled_rank)

    def _add_prefetch(self, rank: int, way: Schedule) -> Ranked:
        """Add prefetch to one group after the other where that is faster."""
        most = self._extra + self.max_evaluations // 2
        for number in range(len(way.steps)):
            for other in self._prefetch_schedules(way, number):
                if self._extra == most:
                    return rank, way
                self._extra += 1
                found = self._evaluated_rank(other)
                if found is not None and found < rank:
                    rank, way = found, other
        return rank, way

    def _prefetch_schedules(self, way: Schedule, number: int) -> list[Schedule]:
        """The best schedules in which a step computes windows ahead, if it can."""
        step = way.steps[number]
        options = self.costs.prefetch_candidates(
            step.group, step.context, step.option, RUNNERS_UP + 1
        )
        made = (_with_option(way, number, option) for option in options)
        near = [other for other in made if self._is_promising(other, way)]
        return sorted(near, key=self._modelled_rank)[:MAX_PREFETCH_PLANS]

    def _best_with_prefetch(self, way: Schedule) -> Schedule:
        """The best in which a step computes windows ahead, if that is better."""
        steps = range(len(way.steps))
        made = (
            each for number in steps for each in self._prefetch_schedules(way, number)
        )
        return min((way, *made), key=self._modelled_rank)

    def _prefetch_rank(self, ranked: Ranked) -> int:
        """Return the search's rank of a schedule with a leading step."""
        _, way = ranked
        return self._modelled_rank(self._best_with_prefetch(way))

    def _all_neighbours(self, way: Schedule) -> Iterator[Schedule]:
        """The schedules near it with another plan of a group, or with a lead."""
        yield from self._plan_neighbours(way)
        for number in range(len(way.steps)):
            yield from self._prefetch_schedules(way, number)

    def _plan_neighbours(self, way: Schedule) -> Iterator[Schedule]:
        """The schedules near it with another plan of one group."""
        for number, step in enumerate(way.steps):
            choices = self.costs.candidates(step.group, step.context, RUNNERS_UP + 1)
            for option in choices:
                other = _with_option(way, number, option)
                if option.plan != step.option.plan and self._is_promising(other, way):
                    yield other

    def _is_promising(self, way: Schedule, best: Schedule) -> bool:
        """Return `True` if a schedule may turn out to be better than the best one."""
        return self._modelled_rank(way) <= PRUNE_RATIO * self._modelled_rank(best)

    def _modelled_rank(self, way: Schedule) -> int:
        """Return the search's rank of a schedule, by the formula."""
        return self.objective.rank(way.time, way.bytes)[0]

    def _evaluated_rank(self, way: Schedule) -> int | None:
        """
        Return the rank of a schedule by its evaluated time; None where that is not
        known.
        """
        cycles = self._cycles_of(way)
        return None if cycles is None else self.objective.rank(cycles, way.bytes)[0]

    def _cycles_of(self, way: Schedule) -> int | None:
        """
        Return the program's cycles with a schedule; None where they are not known.
        """
        key = _key_of(way)
        if key not in self._known:
            if len(self._known) == self.max_evaluations + self._extra:
                return None
            self._known[key] = self._evaluate_schedule(way)
        return self._known[key]

    def _evaluate_schedule(self, way: Schedule) -> int | None:
        def change(
            made: dict[Operation, Operation], values: dict[SSAValue, SSAValue]
        ) -> None:
            nodes = tuple(made[op] for op in self.stated.nodes)
            mapped = tuple(values.get(each, each) for each in self.stated.values)
            stated = BlockProblem(nodes, mapped, self.stated.problem)
            apply_schedule(stated, way, self.level)

        return evaluate_change(self._block, change, self.target, self.evaluator)


def _rank_of(ranked: Ranked) -> int:
    return ranked[0]


def _with_option(way: Schedule, number: int, option: Option) -> Schedule:
    """A schedule with another way to run the group of a step."""
    made = replace(way.steps[number], option=option)
    return Schedule.of((*way.steps[:number], made, *way.steps[number + 1 :]))


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
    stated: BlockProblem, tries: int | None, effort: int = MAX_EVALUATED_OPERATIONS
) -> int:
    """
    Return the number of trial lowerings in a block, given the number asked for and the
    effort in operations of all programs together. Operations that move tensors between
    groups count, too, as they are lowered to loops as they are.
    """
    block = _block_of(stated)
    size = sum(
        _operation_count(op) for op in block.ops if isinstance(op, graph.GroupOp)
    )
    if tries is None:
        tries = MAX_EVALUATIONS if size <= SMALL else 0
    moving = sum(_is_materialized(op) for op in block.ops)
    return min(tries, effort // max(1, size + moving))


def _operation_count(group: graph.GroupOp) -> int:
    return len(group.body.block.ops) - 1


def _is_materialized(op: Operation) -> bool:
    """Return `True` if an operation between groups computes a tensor of its own."""
    return not isinstance(op, graph.GroupOp | ViewInterface) and isinstance(
        op, TilingInterface | ConcatLikeInterface
    )


def _block_of(stated: BlockProblem) -> Block:
    block = stated.nodes[0].parent
    assert block is not None
    return block
