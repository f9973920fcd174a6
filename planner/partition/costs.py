"""Cost of running groups of a block as one, for the search."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.form import Forms
from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.joining import JoiningInterface
from tlf.dialects.target import Level, Target
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.keeping import Keeping
from tlf.planner.cost.npu.outer import OuterModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.cost.npu.timed import nesting_on
from tlf.planner.freedom import ANYTHING, Freedom
from tlf.planner.fusion.notes import too_many_contractions, too_many_operations
from tlf.planner.layout.joined_values import copied_operands
from tlf.planner.partition.cuts import is_seen
from tlf.planner.partition.merged import MergedGroup
from tlf.planner.partition.problem import aligned_bytes
from tlf.support.affine.access import Interval
from tlf.support.partition import Context, Costs, Option, mask_of, members

OPERATIONS = 144
"""
Maximum number of operations in a group made of several, unless more are asked for.
"""

LEAST_GAIN = 16
"""Plans are looked for where one part in so many of the cycles may be saved."""


class WorkError(Exception):
    """More tilings would have to be analysed than may be."""


class GroupCosts(Costs):
    """
    Prices sets of the operations of a block by the model of a memory level.

    `nodes` are the operations, `values` the tensors they hand on, in the numbering of
    the problem. Those that are `free` are to lie in any order of their axes.
    """

    def __init__(
        self,
        nodes: Sequence[Operation],
        values: Sequence[SSAValue],
        target: Target,
        level: Level,
        contractions: int,
        freedom: Freedom = ANYTHING,
        free: AbstractSet[SSAValue] = frozenset(),
        operations: int = OPERATIONS,
        memo: Memo | None = None,
    ) -> None:
        self.nodes = nodes
        self.values = values
        self.target = target
        self.level = level
        self.contractions = contractions
        self.freedom = freedom
        self.free = free
        self.operations = operations
        self.model = OuterModel(target, level)
        self.nesting = nesting_on(target, memo)
        self._numbers = {value: number for number, value in enumerate(values)}
        inside = set(nodes)
        self._given = {value for value in values if value.owner not in inside}
        self._copied = _copied(nodes)
        self._merged: dict[int, MergedGroup] = {}
        self._searches: dict[int, OuterSearch | None] = {}
        self._earlies: dict[MergedGroup, frozenset[SSAValue]] = {}
        self._joining: dict[Operation, bool] = {}
        self.forms = Forms()
        """Cached forms of the operations of all groups."""
        self._work_left: int | None = None

    @property
    def priced(self) -> int:
        """For how many sets of operations tiles were searched."""
        return len(self._searches)

    @property
    def tilings(self) -> int:
        """Number of tilings that were analysed."""
        searches = (each for each in self._searches.values() if each is not None)
        return sum(len(each.tilings) for each in searches)

    def allow(self, work: int | None) -> None:
        """
        Let tilings of so many operations be analysed to price groups from here on, or
        any number of them. Beyond that, `options` raises WorkError.
        """
        self._work_left = work

    def forget(self, count: int) -> None:
        """Forget what is known of sets of more operations, which take room."""
        for group in [each for each in self._merged if each.bit_count() > count]:
            self._earlies.pop(self._merged.pop(group), None)
            self._searches.pop(group, None)

    def objection(self, group: int) -> str | None:
        picked = self._picked(group)
        if len(picked) == 1:
            return None
        others = [op for op in picked if not self._may_join(op)]
        if others:
            return f"{others[0].name} is not a group to be planned"
        if self.contractions_in(group) > self.contractions:
            return too_many_contractions(self.contractions)
        if sum(map(_operations, picked)) > self.operations:
            return too_many_operations(self.operations)
        return None

    def is_runnable(self, group: int) -> bool:
        if not self._is_planned(group):
            return True
        return self._whole_search(group, self._merge(group)) is not None

    def contractions_in(self, group: int) -> int:
        """Return the number of contractions in a group."""
        return sum(map(_contractions, self._picked(group)))

    def least(self, group: int) -> int | None:
        """
        The bytes of the level that a group takes with its smallest tiles, however few
        there are; None where it cannot be tiled.
        """
        merged = self._merge(group)
        search = self._search(merged, sys.maxsize)
        return None if search is None else search.least()

    def options(self, group: int, context: Context) -> Sequence[Option]:
        if not self._is_planned(group):
            held = context.resident | context.kept
            return [] if held else [self._apart(group)]
        search = self._around(group, context)
        if search is None:
            return []
        before = len(search.tilings)
        plans: list[OuterPlan] = []
        if (plan := search.best()) is not None:
            plans = [plan, *self._streaming(search, plan)]
        self._count(group, len(search.tilings) - before)
        return [self._option(each, context) for each in plans]

    def _count(self, group: int, tilings: int) -> None:
        """Take the work of new tilings of a group from what is allowed."""
        if self._work_left is not None:
            self._work_left -= tilings * sum(map(_operations, self._picked(group)))
            if self._work_left < 0:
                raise WorkError

    def _apart(self, group: int) -> Option:
        """
        Return the cost of operations without tiles: copies of the concat operands that
        cannot be computed in place.
        """
        cycles = moved = 0
        for op in self._picked(group):
            for operand in self._copied.get(op, ()):
                box = tuple(map(Interval.whole, tensor_type(operand).get_shape()))
                cycles += self.model.far.into(operand, box).cycles
                cycles += self.model.far.back(operand, box).cycles
                moved += 2 * byte_count(tensor_type(operand))
        on_bus = self._on_bus(cycles)
        return Option(cycles, on_bus, 0, padding=on_bus - moved)

    def _streaming(self, search: OuterSearch, plan: OuterPlan) -> Iterator[OuterPlan]:
        """
        The plan that is better than another one where nothing is loaded early, as when
        earlier groups have no time or room for it; if some of that can come in loops.
        """
        cost, early = plan.cost, search.keeping.early
        gain = min(cost.alone, cost.early, search.streamable(early))
        if gain * LEAST_GAIN <= cost.alone + cost.early:
            return
        late = search.around(
            replace(search.keeping, early=frozenset()), search.capacity
        )
        if (best := late.best()) is None:
            return
        other = search.plan(*best.key)
        if other is not None and other.rank != plan.rank:
            yield other

    def bound(self, group: int, context: Context) -> Option | None:
        if not self._is_planned(group):
            return None
        merged = self._merge(group)
        if (search := self._whole_search(group, merged)) is None:
            return None
        if search.bound is None:
            return None
        keeping = self._keeping(merged, context)
        least = search.bound.of(keeping)
        early = max(search.bound.early(keeping), least.channel - least.cycles)
        moved = self._on_bus(least.moved)
        return Option(least.cycles, moved, 0, None, early, sys.maxsize, sys.maxsize)

    def choices(self, group: int, context: Context, count: int) -> Sequence[Option]:
        """The best few ways to run a group, whatever beats them; none for no group."""
        if not self._is_planned(group):
            return []
        search = self._around(group, context)
        plans = [] if search is None else search.ranked(count)
        return [self._option(plan, context) for plan in plans]

    def led(
        self, group: int, context: Context, option: Option, count: int
    ) -> Sequence[Option]:
        """
        The ways to run a group with windows computed ahead: with the plan of an option,
        and with the best few others where there is room for it.
        """
        if not isinstance(option.plan, OuterPlan):
            return []
        if (search := self._around(group, context)) is None:
            return []
        led = map(search.led, (option.plan, *search.ranked(count)))
        found = {plan.key: plan for plan in led if plan is not None}
        return [self._option(plan, context) for plan in found.values()]

    def _option(self, plan: OuterPlan, context: Context) -> Option:
        needed, cost = plan.needed + self._held(context), plan.cost
        free = 0 if cost.in_loops else max(0, self.level.capacity - needed)
        room = int(free / self.model.bandwidth)
        on_bus = self._on_bus(cost.loads.cycles + cost.stores.cycles)
        timing, padding = (cost.early, cost.idle, room), on_bus - cost.bytes
        return Option(cost.alone, on_bus, needed, plan, *timing, padding)

    def _on_bus(self, cycles: float) -> int:
        """The bytes that the channel moves in so many cycles, in whole bursts."""
        return round(cycles * self.model.bandwidth)

    def _held(self, context: Context) -> int:
        """The bytes of inputs that are there already."""
        return sum(
            aligned_bytes(self.values[number], self.level)
            for number in members(context.resident)
        )

    def _around(self, group: int, context: Context) -> OuterSearch | None:
        """The search for plans, with values in the level around the group."""
        merged = self._merge(group)
        if (search := self._whole_search(group, merged)) is None:
            return None
        room = self.level.capacity - context.taken - self._held(context)
        return search.around(self._keeping(merged, context), room)

    def _keeping(self, merged: MergedGroup, context: Context) -> Keeping:
        """Return the values resident in the level around a group, as named inside."""
        results = mask_of(map(self._numbers.__getitem__, merged.results))
        return Keeping(
            self._inside(merged, context.resident),
            self._inside(merged, context.kept & results),
            self._inside(merged, context.kept & results & ~context.stored),
            self._inside(merged, context.kept & ~results & ~context.resident),
            self._early(merged),
        )

    def _early(self, merged: MergedGroup) -> frozenset[SSAValue]:
        """The inputs that may be loaded while an earlier group runs."""
        if merged not in self._earlies:
            self._earlies[merged] = early_inputs(merged, self._given)
        return self._earlies[merged]

    def _whole_search(self, group: int, merged: MergedGroup) -> OuterSearch | None:
        """The search for plans with all of the level, or None where it is not tiled."""
        if group not in self._searches:
            self._searches[group] = self._search(merged, self.level.capacity)
        return self._searches[group]

    def _search(self, merged: MergedGroup, capacity: int) -> OuterSearch | None:
        try:
            nests = self.nesting.of(merged.members)
            return OuterSearch(
                merged.members,
                nests,
                self.model,
                capacity,
                freedom=self.freedom,
            )
        except PassFailedException:
            return None

    def _picked(self, group: int) -> list[Operation]:
        """The operations of a set."""
        return [self.nodes[number] for number in members(group)]

    def _is_planned(self, group: int) -> bool:
        """Return `True` if a set of operations is tiled as a group."""
        picked = self._picked(group)
        return any(map(_is_open, picked)) and all(map(self._may_join, picked))

    def _may_join(self, op: Operation) -> bool:
        """
        Return `True` if an operation may run in a group with others: a view or a slice
        does so for a reader, and a concatenation can concatenate tiles.
        """
        if (found := self._joining.get(op)) is None:
            found = self._joining[op] = self._joins(op)
        return found

    def _joins(self, op: Operation) -> bool:
        if _is_open(op) or isinstance(op, JoiningInterface):
            return True
        return is_seen(op, self.level) and self._is_read(op)

    def _is_read(self, view: Operation) -> bool:
        """
        Return `True` if a group or a concatenation reads a view, maybe through other
        views.
        """
        users = [use.operation for result in view.results for use in result.uses]
        return any(
            isinstance(user, graph.GroupOp | JoiningInterface)
            or (is_seen(user, self.level) and self._is_read(user))
            for user in users
        )

    def _merge(self, group: int) -> MergedGroup:
        if group not in self._merged:
            picked = self._picked(group)
            joined = [
                op
                for op in picked
                if isinstance(op, graph.GroupOp | JoiningInterface)
                or is_seen(op, self.level)
            ]
            merged = self._merged[group] = MergedGroup(joined, self.forms)
            inside = {merged.values[v] for v in self.free if v in merged.values}
            self.model.far.free |= inside
        return self._merged[group]

    def _inside(self, merged: MergedGroup, values: int) -> frozenset[SSAValue]:
        return frozenset(
            merged.values[self.values[number]] for number in members(values)
        )


def early_inputs(
    group: MergedGroup, given: Collection[SSAValue]
) -> frozenset[SSAValue]:
    """
    The inputs that may be loaded while an earlier group runs, as they are named inside:
    those that are given, if the group reads what another one makes.
    """
    early = [value for value in group.inputs if value in given]
    if len(early) == len(group.inputs):
        return frozenset()
    return frozenset(group.values[value] for value in early)


def _is_open(op: Operation) -> bool:
    """
    Return `True` if an operation is a group that can be tiled and has no plan yet.
    """
    if not isinstance(op, graph.GroupOp) or op.plan is not None:
        return False
    return op.tiled_operation is not None


def _copied(nodes: Sequence[Operation]) -> dict[Operation, list[SSAValue]]:
    """Return the operands that concatenations copy, were they to run as they are."""
    found: dict[Operation, list[SSAValue]] = {}
    for block in dict.fromkeys(op.parent for op in nodes):
        for each in () if block is None else copied_operands(block):
            found.setdefault(each.op, []).append(each.op.operands[each.number])
    return found


def _operations(op: Operation) -> int:
    """Return the number of operations that one adds to a group."""
    if not isinstance(op, graph.GroupOp):
        return 1
    return len(op.body.block.ops) - 1


def _contractions(op: Operation) -> int:
    if not isinstance(op, graph.GroupOp):
        return 0
    return sum(isinstance(each, ContractionInterface) for each in op.body.block.ops)
