"""Plans for groups, by the time that they take."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import prod
from typing import TypeAlias, TypeVar

from xdsl.ir import Operation

from tlf.analysis.affine_loops.systems import loops_of
from tlf.analysis.tiling.group import Members
from tlf.analysis.tiling.model import TilingError
from tlf.analysis.tiling.structure import Structures, structure_of
from tlf.dialects import graph, tile
from tlf.dialects.target import Level, Target
from tlf.dialects.tile import Mapping
from tlf.planner.context import Memo
from tlf.planner.cost.npu.nearest import GRID, ROUGH, STAGES, Machinery, NearestSearch
from tlf.planner.cost.npu.nests import Nesting, Nests
from tlf.planner.cost.npu.outer import OuterModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.cost.npu.shortlist import Choice
from tlf.planner.freedom import ANYTHING, Freedom
from tlf.planner.fusion.cascades import Cascades

T = TypeVar("T")

RUNNERS_UP = 6
"""Number of other plans kept for a group, which may be better in combination."""


Plans: TypeAlias = tuple[graph.PlanAttr, ...]


def is_timed(target: Target) -> bool:
    """Return `True` if there is a timing model of a target."""
    engines = {"matrix", "vector"}
    return target.backend == "npu" and engines <= set(target.engines)


class TimedTiles:
    """
    Finds plans for one memory level of an NPU; groups of one structure have one plan.
    """

    def __init__(
        self,
        target: Target,
        level: Level,
        freedom: Freedom = ANYTHING,
        memo: Memo | None = None,
    ) -> None:
        memo = Memo() if memo is None else memo
        self.target = target
        self.level = level
        self.freedom = freedom
        self.is_nearest = level is next(iter(target.levels.values()))
        self.machinery = Machinery(target, level)
        if not self.is_nearest:
            self.outer = OuterModel(target, level)
            self.nesting = nesting_on(target, memo)
        self._structures = Structures()
        self._known: dict[Hashable, Plans] = {}
        circumstances = repr((target.data, level.name, freedom))
        self._answers: dict[Hashable, int | None] = memo.table("cycles", circumstances)
        self._plans: dict[Hashable, Plans] = memo.table("plans", circumstances)

    @property
    def prices_cascades(self) -> bool:
        """Loops near the engines are run on the event model; tiles farther out not."""
        return self.is_nearest

    @staticmethod
    def of(
        target: Target,
        level: Level,
        freedom: Freedom = ANYTHING,
        memo: Memo | None = None,
    ) -> TimedTiles | None:
        """A finder for a level, or None where there is no model of the target."""
        return TimedTiles(target, level, freedom, memo) if is_timed(target) else None

    def plan(self, members: Members) -> graph.PlanAttr | None:
        """The fastest plan, or None where none of those tried fits."""
        return next(iter(self.plans(members)), None)

    def plans(self, members: Members) -> Plans:
        """The fastest plan, and behind it others that take little longer, if known."""
        structure = self._structures.of(members.operations, members.results)
        key = structure, _executions(members.root)
        if key not in self._known:
            find = self._nearest if self.is_nearest else self._outer
            self._known[key] = _remembered(self._plans, members, find)
        return self._known[key]

    def fastest(self, members: Members) -> int | None:
        """About the cycles of a group by itself with the best tiles it has."""
        find = self._fastest_near if self.is_nearest else self._fastest_far
        return _remembered(self._answers, members, find)

    def _fastest_near(self, members: Members) -> int | None:
        try:
            choice = self._search(members, ROUGH).rough()
        except TilingError:
            return None
        return None if choice is None else choice.cycles

    def _fastest_far(self, members: Members) -> int | None:
        plan = self._outer_plan(members)
        return None if plan is None else plan.cost.cycles

    def _nearest(self, members: Members) -> Plans:
        search = self._search(members)
        if (best := search.best()) is None:
            return ()
        chosen = search.near(best)[: RUNNERS_UP + 1]
        return tuple(self._attribute(choice) for choice in chosen)

    def _attribute(self, choice: Choice) -> graph.PlanAttr:
        return graph.PlanAttr(
            self.level.name,
            choice.tile,
            choice.reduce,
            Mapping.CORE if self.target.cores > 1 else Mapping.LOOP,
            stages=choice.stages.tiles,
            reduce_stages=choice.stages.pieces,
        )

    def _search(self, members: Members, grid: int = GRID) -> NearestSearch:
        """A search for tiles of a group near the engines."""
        axes = self.freedom.cut(members.axes(self.machinery.rules))
        stages = self.freedom.counts(STAGES)
        often = _executions(members.root)
        return NearestSearch(
            members, axes, self.level, self.machinery, often, stages, grid
        )

    def _outer(self, members: Members) -> Plans:
        best = self._outer_plan(members)
        return () if best is None else (best.attribute(self.level.name),)

    def _outer_plan(self, members: Members) -> OuterPlan | None:
        nests = self.nesting.of(members)
        search = OuterSearch(
            members, nests, self.outer, self.level.capacity, freedom=self.freedom
        )
        return search.best()


def nesting_on(target: Target, memo: Memo | None = None) -> Nesting:
    """Finds nests as `graph-group` does for the nearest memory of a target."""
    nearest = next(iter(target.levels.values()))
    timed = TimedTiles.of(target, nearest, memo=memo)
    return Nesting(target, None if timed is None else Cascades(target, timed))


def nests_of(members: Members, target: Target, memo: Memo | None = None) -> Nests:
    """The nests of one group."""
    return nesting_on(target, memo).of(members)


def _remembered(
    known: dict[Hashable, T], members: Members, find: Callable[[Members], T]
) -> T:
    """
    Return the result of `find` for a group, computed once for all groups of its
    structure that run as many times.
    """
    structure = structure_of(members.operations, members.results)
    key = structure, _executions(members.root)
    if key not in known:
        known[key] = find(members)
    return known[key]


def _executions(op: Operation) -> int:
    """
    Return how many times the loops around run an operation; a loop of unknown trip
    count counts once.
    """
    count, around = 1, op.parent_op()
    while around is not None:
        if isinstance(around, tile.WhileOp):
            count *= prod(loop.trips or 1 for loop in loops_of(around))
        around = around.parent_op()
    return count
