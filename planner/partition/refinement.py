"""The best of a few schedules, by the event model on what they make of a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface, ViewInterface
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.target import Level, Target
from tlf.planner.context import Evaluator
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.partition.carried import carry_out
from tlf.planner.partition.changed_block import evaluate_change
from tlf.planner.partition.costs import GroupCosts
from tlf.planner.partition.orders import Orders
from tlf.planner.partition.problem import BlockProblem
from tlf.support.partition import Objective, Option, Schedule

EFFORT = 400
"""
Operations of all programs that are evaluated, at most, but for those of leads, unless
it is given how many.
"""

TRIES = 16
"""Programs that are evaluated unless it is given how many, in small ones."""

STEPS = 2_000_000
"""Instructions that are run to evaluate programs, at most."""

SMALL = 16
"""Operations of a small program."""

RUNNERS_UP = 16
"""Plans of a group that are tried instead of its own."""

LEADS = 4
"""Plans that lead are tried, at most, for each group."""

PATIENCE = 4
"""After one in so many of the tries in a row that are slower no more are made."""

CLOSE = 1.02
"""Other plans are tried of another schedule that takes so many times the best."""

NEAR = 1.5
"""Ratio to the best cost by the formula above which a schedule is not tried."""


Ranked: TypeAlias = "tuple[int, Schedule]"
"""A schedule with what it is compared by, once it was evaluated."""


@dataclass(frozen=True)
class Rehearsed:
    """Event-model times of schedules."""

    programs: int
    """Number of programs evaluated."""
    cycles: int
    """Of the one that was chosen."""
    first: int
    """Of the best one by the formula."""


@dataclass
class Refinement:
    """
    Rehearses schedules of a block: the search ranks them by a formula that prices one
    group after the other, the event model knows what runs at once. From the fastest it
    goes on to other plans of one group after the other, as long as one is faster. At
    last windows of one group after the other are computed ahead where that is faster,
    in the schedule found, in the formula's own, and in the one that the formula finds
    best with windows computed ahead.

    The number of evaluations is limited, not their time, so that the same program gets
    the same plans on every machine.
    """

    stated: BlockProblem
    costs: GroupCosts
    target: Target
    level: Level
    evaluator: Evaluator
    objective: Objective
    """Objective by which programs are compared."""
    tries: int
    """Rehearsals at most, but for those of leads."""
    _extra: int = 0
    """Number of leads tried."""
    _known: dict[tuple[object, ...], int | None] = field(
        default_factory=dict[tuple[object, ...], "int | None"]
    )

    def best(self, ways: Sequence[Schedule]) -> Schedule:
        """The fastest that is found, the first one where nothing is known to be."""
        near = [way for way in ways if self._is_near(way, ways[0])]
        if len(near) == 1 and next(self._changed(ways[0]), None) is None:
            return ways[0]
        likely = {_key(each): each for each in (self._leading(ways[0]), *near)}
        half = [*likely.values()][: (self.tries + 1) // 2]
        ranked = self._ranked(half, self._patience)
        known = [(rank, way) for rank, way in ranked if rank is not None]
        if not known:
            return ways[0]
        known += self._ordered([way for _, way in known], min(known, key=_rank_of))
        rank, way = min(known, key=_rank_of)
        found = [self._led(*self._climb(rank, way, self._patience))]
        found += self._climbed_beside(known, rank, way)
        starts = (known[0], min(known, key=self._led_model))
        others = {_key(each): (rank, each) for rank, each in starts if each is not way}
        found += [self._led(*each) for each in others.values()]
        return min(found, key=_rank_of)[1]

    def told(self, chosen: Schedule, first: Schedule) -> Rehearsed | None:
        """Return the times of two schedules; None unless both were evaluated."""
        cycles, known = (self._known.get(_key(way)) for way in (chosen, first))
        if cycles is None or known is None:
            return None
        return Rehearsed(len(self._known), cycles, known)

    @property
    def _patience(self) -> int:
        """After how many in a row that are worse no more are tried."""
        return -(-self.tries // PATIENCE)

    @property
    def _less_patience(self) -> int:
        """The same for what comes beside."""
        return (self._patience + 1) // 2

    def _ordered(self, ways: Sequence[Schedule], best: Ranked) -> list[Ranked]:
        """Those of some schedules in another order, the best by the formula first."""
        orders = Orders(self.stated.problem, self.costs)
        found = {_key(each): each for way in ways for each in orders.around(way)}
        near = [way for key, way in found.items() if key not in self._known]
        near = [way for way in near if self._is_near(way, ways[0])]
        ranked = self._ranked(sorted(near, key=self._model), self._less_patience, best)
        return [(rank, way) for rank, way in ranked if rank is not None]

    def _climbed_beside(
        self, known: Sequence[Ranked], rank: int, way: Schedule
    ) -> Iterator[Ranked]:
        """
        Yield the result of trying other plans in the next schedule of other groups, if
        it is about as fast: half as many of them are tried.
        """
        others = [each for each in known if each[1].groups != way.groups]
        other = min(others, key=_rank_of, default=None)
        if other is not None and other[0] <= CLOSE * rank:
            yield self._climb(*other, self._less_patience)

    def _ranked(
        self, ways: Iterable[Schedule], patience: int, best: Ranked | None = None
    ) -> Iterator[tuple[int | None, Schedule]]:
        """Schedules with their ranks, up to many in a row that are slower."""
        slower = 0
        for way in ways:
            rank = self._rank(way)
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
        cycles, least = self._cycles(way), self._cycles(best)
        return cycles is None or (least is not None and cycles > least)

    @property
    def _block(self) -> Block:
        return _block_of(self.stated)

    def _climb(self, rank: int, way: Schedule, patience: int) -> Ranked:
        """Go on to other plans of groups, one after the other, while that helps."""
        better = True
        while better:
            better = False
            for found, other in self._ranked(self._around(way), patience, (rank, way)):
                if found is not None and found < rank:
                    rank, way, better = found, other, True
                    break
        return rank, way

    def _around(self, way: Schedule) -> list[Schedule]:
        """The schedules near it with another plan of one group, the best first."""
        return sorted(self._others(way), key=self._model)

    def _led(self, rank: int, way: Schedule) -> Ranked:
        """Let groups compute windows ahead, one after the other, where that helps."""
        most = self._extra + self.tries // 2
        for number in range(len(way.steps)):
            for other in self._with_lead(way, number):
                if self._extra == most:
                    return rank, way
                self._extra += 1
                found = self._rank(other)
                if found is not None and found < rank:
                    rank, way = found, other
        return rank, way

    def _with_lead(self, way: Schedule, number: int) -> list[Schedule]:
        """The best schedules in which a step computes windows ahead, if it can."""
        step = way.steps[number]
        options = self.costs.led(step.group, step.context, step.option, RUNNERS_UP + 1)
        made = (_exchanged(way, number, option) for option in options)
        near = [other for other in made if self._is_near(other, way)]
        return sorted(near, key=self._model)[:LEADS]

    def _leading(self, way: Schedule) -> Schedule:
        """The best in which a step computes windows ahead, if that is better."""
        steps = range(len(way.steps))
        made = (each for number in steps for each in self._with_lead(way, number))
        return min((way, *made), key=self._model)

    def _led_model(self, ranked: Ranked) -> int:
        """Return the search's rank of a schedule with a leading step."""
        _, way = ranked
        return self._model(self._leading(way))

    def _changed(self, way: Schedule) -> Iterator[Schedule]:
        """The schedules near it with another plan of a group, or with a lead."""
        yield from self._others(way)
        for number in range(len(way.steps)):
            yield from self._with_lead(way, number)

    def _others(self, way: Schedule) -> Iterator[Schedule]:
        """The schedules near it with another plan of one group."""
        for number, step in enumerate(way.steps):
            choices = self.costs.choices(step.group, step.context, RUNNERS_UP + 1)
            for option in choices:
                other = _exchanged(way, number, option)
                if option.plan != step.option.plan and self._is_near(other, way):
                    yield other

    def _is_near(self, way: Schedule, best: Schedule) -> bool:
        """Return `True` if a schedule may turn out to be better than the best one."""
        return self._model(way) <= NEAR * self._model(best)

    def _model(self, way: Schedule) -> int:
        """Return the search's rank of a schedule, by the formula."""
        return self.objective.rank(way.time, way.bytes)[0]

    def _rank(self, way: Schedule) -> int | None:
        """
        Return the rank of a schedule by its evaluated time; None where that is not
        known.
        """
        cycles = self._cycles(way)
        return None if cycles is None else self.objective.rank(cycles, way.bytes)[0]

    def _cycles(self, way: Schedule) -> int | None:
        """
        Return the program's cycles with a schedule; None where they are not known.
        """
        key = _key(way)
        if key not in self._known:
            if len(self._known) == self.tries + self._extra:
                return None
            self._known[key] = self._rehearsed(way)
        return self._known[key]

    def _rehearsed(self, way: Schedule) -> int | None:
        def change(
            made: dict[Operation, Operation], values: dict[SSAValue, SSAValue]
        ) -> None:
            nodes = tuple(made[op] for op in self.stated.nodes)
            mapped = tuple(values.get(each, each) for each in self.stated.values)
            stated = BlockProblem(nodes, mapped, self.stated.problem)
            carry_out(stated, way, self.level)

        return evaluate_change(self._block, change, self.target, self.evaluator)


def _rank_of(ranked: Ranked) -> int:
    return ranked[0]


def _exchanged(way: Schedule, number: int, option: Option) -> Schedule:
    """A schedule with another way to run the group of a step."""
    made = replace(way.steps[number], option=option)
    return Schedule.of((*way.steps[:number], made, *way.steps[number + 1 :]))


def _key(way: Schedule) -> tuple[object, ...]:
    """Return a key that identifies a schedule."""
    return tuple(
        (step.group, step.context, _sizes(step.option.plan)) for step in way.steps
    )


def _sizes(plan: object) -> object:
    """
    Return a key that identifies a plan among those of a group; None if it is no
    `OuterPlan`.
    """
    if not isinstance(plan, OuterPlan):
        return None
    return plan.key


def tries_in(stated: BlockProblem, tries: int | None, effort: int = EFFORT) -> int:
    """
    Return the number of trial lowerings in a block, given the number asked for and the
    effort in operations of all programs together. Operations that move tensors between
    groups count, too, as they are lowered to loops as they are.
    """
    block = _block_of(stated)
    size = sum(_size_of(op) for op in block.ops if isinstance(op, graph.GroupOp))
    if tries is None:
        tries = TRIES if size <= SMALL else 0
    moving = sum(_moves(op) for op in block.ops)
    return min(tries, effort // max(1, size + moving))


def _size_of(group: graph.GroupOp) -> int:
    return len(group.body.block.ops) - 1


def _moves(op: Operation) -> bool:
    """Return `True` if an operation between groups computes a tensor of its own."""
    return not isinstance(op, graph.GroupOp | ViewInterface) and isinstance(
        op, TilingInterface | JoiningInterface
    )


def _block_of(stated: BlockProblem) -> Block:
    block = stated.nodes[0].parent
    assert block is not None
    return block
