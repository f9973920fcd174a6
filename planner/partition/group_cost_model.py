"""Cost of sets of a block's operations, each run as one group."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.dialects import graph
from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import byte_count, tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.npu_estimator import nest_predictor_on
from tlf.planner.cost.npu.outer_model import OuterModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.fusion.remark_collector import (
    too_many_contractions,
    too_many_operations,
)
from tlf.planner.layout.concat_in_place import copied_operands
from tlf.planner.partition.block_problem import aligned_bytes
from tlf.planner.partition.merged_group import MergedGroup
from tlf.planner.partition.slice_fusion import is_fusible_view
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.support.affine.index_access import Interval
from tlf.support.partition import Context, CostModel, Option, mask_of, members

MAX_OPERATIONS = 144
"""
Maximum number of operations in a group made of several, unless more are asked for.
"""

LEAST_GAIN = 16
"""Plans are looked for where one part in so many of the cycles may be saved."""


class WorkLimitError(Exception):
    """More tilings would have to be analysed than may be."""


class GroupCosts(CostModel):
    """
    Cost of sets of a block's operations by the model of a memory level.

    `nodes` are the operations, `values` the tensors they hand on, in the numbering of
    the problem. Those that are `free` are to lie in any order of their axes.
    """

    def __init__(
        self,
        nodes: Sequence[Operation],
        values: Sequence[SSAValue],
        target: TargetSpec,
        level: Level,
        contractions: int,
        freedom: SearchSpace = UNRESTRICTED,
        free: AbstractSet[SSAValue] = frozenset(),
        operations: int = MAX_OPERATIONS,
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
        self.nesting = nest_predictor_on(target, memo)
        self._numbers = {value: number for number, value in enumerate(values)}
        inside = set(nodes)
        self._given = {value for value in values if value.owner not in inside}
        self._copied = _collect_copied_operands(nodes)
        self._merged: dict[int, MergedGroup] = {}
        self._searches: dict[int, OuterSearch | None] = {}
        self._earlies: dict[MergedGroup, frozenset[SSAValue]] = {}
        self._joining: dict[Operation, bool] = {}
        self.forms = OpFactsCache()
        """Cached forms of the operations of all groups."""
        self._work_left: int | None = None

    @property
    def evaluated_groups(self) -> int:
        """For how many sets of operations tiles were searched."""
        return len(self._searches)

    @property
    def tiling_count(self) -> int:
        """Number of tilings that were analysed."""
        searches = (each for each in self._searches.values() if each is not None)
        return sum(len(each.tilings) for each in searches)

    def limit_work(self, work: int | None) -> None:
        """
        Limit the operations in tilings that may be analysed from here on. Beyond that,
        `options` raises WorkError.
        """
        self._work_left = work

    def forget_larger_than(self, count: int) -> None:
        """Forget what is known of sets of more operations, which take room."""
        for group in [each for each in self._merged if each.bit_count() > count]:
            self._earlies.pop(self._merged.pop(group), None)
            self._searches.pop(group, None)

    def objection(self, group: int) -> str | None:
        picked = self._operations_in(group)
        if len(picked) == 1:
            return None
        others = [op for op in picked if not self._can_group(op)]
        if others:
            return f"{others[0].name} is not a group to be planned"
        if self.count_contractions(group) > self.contractions:
            return too_many_contractions(self.contractions)
        if sum(map(_operation_count, picked)) > self.operations:
            return too_many_operations(self.operations)
        return None

    def is_runnable(self, group: int) -> bool:
        if not self._is_tiled(group):
            return True
        return self._whole_search(group, self._merged_group(group)) is not None

    def count_contractions(self, group: int) -> int:
        """Return the number of contractions in a group."""
        return sum(map(_contraction_count, self._operations_in(group)))

    def min_bytes(self, group: int) -> int | None:
        """Return the bytes that a group's smallest tiles take; `None` if untileable."""
        merged = self._merged_group(group)
        search = self._make_search(merged, sys.maxsize)
        return None if search is None else search.min_bytes()

    def options(self, group: int, context: Context) -> Sequence[Option]:
        if not self._is_tiled(group):
            held = context.resident | context.retained
            return [] if held else [self._untiled_option(group)]
        search = self._search_around(group, context)
        if search is None:
            return []
        before = len(search.tilings)
        plans: list[OuterPlan] = []
        if (plan := search.find_best()) is not None:
            plans = [plan, *self._streaming_plans(search, plan)]
        self._charge_work(group, len(search.tilings) - before)
        return [self._to_option(each, context) for each in plans]

    def _charge_work(self, group: int, tilings: int) -> None:
        """Take the work of new tilings of a group from what is allowed."""
        if self._work_left is not None:
            self._work_left -= tilings * sum(
                map(_operation_count, self._operations_in(group))
            )
            if self._work_left < 0:
                raise WorkLimitError

    def _untiled_option(self, group: int) -> Option:
        """
        Return the cost of operations without tiles: copies of the concat operands that
        cannot be computed in place.
        """
        cycles = moved = 0
        for op in self._operations_in(group):
            for operand in self._copied.get(op, ()):
                box = tuple(map(Interval.whole, tensor_type(operand).get_shape()))
                cycles += self.model.far.load_cost_of(operand, box).cycles
                cycles += self.model.far.store_cost_of(operand, box).cycles
                moved += 2 * byte_count(tensor_type(operand))
        on_bus = self._bus_bytes(cycles)
        return Option(cycles, on_bus, 0, padding=on_bus - moved)

    def _streaming_plans(
        self, search: OuterSearch, plan: OuterPlan
    ) -> Iterator[OuterPlan]:
        """
        The plan that is better than another one where nothing is loaded early, as when
        earlier groups have no time or room for it; if some of that can come in loops.
        """
        cost, early = plan.cost, search.residency.early
        gain = min(
            cost.cycles_after_prefetch,
            cost.early_cycles,
            search.streamable_cycles(early),
        )
        if gain * LEAST_GAIN <= cost.cycles_after_prefetch + cost.early_cycles:
            return
        late = search.with_residency(
            replace(search.residency, early=frozenset()), search.capacity
        )
        if (best := late.find_best()) is None:
            return
        other = search.plan_for(*best.key)
        if other is not None and other.rank != plan.rank:
            yield other

    def bound(self, group: int, context: Context) -> Option | None:
        if not self._is_tiled(group):
            return None
        merged = self._merged_group(group)
        if (search := self._whole_search(group, merged)) is None:
            return None
        if search.lower_bounds is None:
            return None
        keeping = self._residency_of(merged, context)
        least = search.lower_bounds.bound_with(keeping)
        early = max(
            search.lower_bounds.min_early_cycles(keeping),
            least.channel_cycles - least.cycles,
        )
        moved = self._bus_bytes(least.channel_time)
        return Option(least.cycles, moved, 0, None, early, sys.maxsize, sys.maxsize)

    def candidates(self, group: int, context: Context, count: int) -> Sequence[Option]:
        """The best few ways to run a group, whatever beats them; none for no group."""
        if not self._is_tiled(group):
            return []
        search = self._search_around(group, context)
        plans = [] if search is None else search.rank_plans(count)
        return [self._to_option(plan, context) for plan in plans]

    def prefetch_candidates(
        self, group: int, context: Context, option: Option, count: int
    ) -> Sequence[Option]:
        """Return the options of a group with windows computed ahead."""
        if not isinstance(option.plan, OuterPlan):
            return []
        if (search := self._search_around(group, context)) is None:
            return []
        led = map(search.with_prefetch, (option.plan, *search.rank_plans(count)))
        found = {plan.key: plan for plan in led if plan is not None}
        return [self._to_option(plan, context) for plan in found.values()]

    def _to_option(self, plan: OuterPlan, context: Context) -> Option:
        needed, cost = plan.required_bytes + self._resident_bytes(context), plan.cost
        free = 0 if cost.in_loops else max(0, self.level.capacity - needed)
        room = int(free / self.model.bandwidth)
        on_bus = self._bus_bytes(cost.loads.cycles + cost.stores.cycles)
        timing, padding = (
            (cost.early_cycles, cost.idle_cycles, room),
            on_bus - cost.payload_bytes,
        )
        return Option(
            cost.cycles_after_prefetch, on_bus, needed, plan, *timing, padding
        )

    def _bus_bytes(self, cycles: float) -> int:
        """The bytes that the channel moves in so many cycles, in whole bursts."""
        return round(cycles * self.model.bandwidth)

    def _resident_bytes(self, context: Context) -> int:
        """The bytes of inputs that are there already."""
        return sum(
            aligned_bytes(self.values[number], self.level)
            for number in members(context.resident)
        )

    def _search_around(self, group: int, context: Context) -> OuterSearch | None:
        """The search for plans, with values in the level around the group."""
        merged = self._merged_group(group)
        if (search := self._whole_search(group, merged)) is None:
            return None
        room = self.level.capacity - context.occupied - self._resident_bytes(context)
        return search.with_residency(self._residency_of(merged, context), room)

    def _residency_of(self, merged: MergedGroup, context: Context) -> Residency:
        """Return the values resident in the level around a group, as named inside."""
        results = mask_of(map(self._numbers.__getitem__, merged.results))
        return Residency(
            self._values_inside(merged, context.resident),
            self._values_inside(merged, context.retained & results),
            self._values_inside(merged, context.retained & results & ~context.stored),
            self._values_inside(
                merged, context.retained & ~results & ~context.resident
            ),
            self._early_inputs_of(merged),
        )

    def _early_inputs_of(self, merged: MergedGroup) -> frozenset[SSAValue]:
        """The inputs that may be loaded while an earlier group runs."""
        if merged not in self._earlies:
            self._earlies[merged] = collect_early_inputs(merged, self._given)
        return self._earlies[merged]

    def _whole_search(self, group: int, merged: MergedGroup) -> OuterSearch | None:
        """The search for plans with all of the level, or None where it is not tiled."""
        if group not in self._searches:
            self._searches[group] = self._make_search(merged, self.level.capacity)
        return self._searches[group]

    def _make_search(self, merged: MergedGroup, capacity: int) -> OuterSearch | None:
        try:
            nests = self.nesting.predict_nests(merged.members)
            return OuterSearch(
                merged.members,
                nests,
                self.model,
                capacity,
                search_space=self.freedom,
            )
        except PassFailedException:
            return None

    def _operations_in(self, group: int) -> list[Operation]:
        """The operations of a set."""
        return [self.nodes[number] for number in members(group)]

    def _is_tiled(self, group: int) -> bool:
        """Return `True` if a set of operations is tiled as a group."""
        picked = self._operations_in(group)
        return any(map(_needs_plan, picked)) and all(map(self._can_group, picked))

    def _can_group(self, op: Operation) -> bool:
        """
        Return `True` if an operation may run in a group with others: a view or a slice
        does so for a reader, and a concatenation can concatenate tiles.
        """
        if (found := self._joining.get(op)) is None:
            found = self._joining[op] = self._is_groupable(op)
        return found

    def _is_groupable(self, op: Operation) -> bool:
        if _needs_plan(op) or isinstance(op, ConcatLikeInterface):
            return True
        return is_fusible_view(op, self.level) and self._is_read(op)

    def _is_read(self, view: Operation) -> bool:
        """
        Return `True` if a group or a concatenation reads a view, maybe through other
        views.
        """
        users = [use.operation for result in view.results for use in result.uses]
        return any(
            isinstance(user, graph.GroupOp | ConcatLikeInterface)
            or (is_fusible_view(user, self.level) and self._is_read(user))
            for user in users
        )

    def _merged_group(self, group: int) -> MergedGroup:
        if group not in self._merged:
            picked = self._operations_in(group)
            joined = [
                op
                for op in picked
                if isinstance(op, graph.GroupOp | ConcatLikeInterface)
                or is_fusible_view(op, self.level)
            ]
            merged = self._merged[group] = MergedGroup(joined, self.forms)
            inside = {merged.values[v] for v in self.free if v in merged.values}
            self.model.far.free |= inside
        return self._merged[group]

    def _values_inside(self, merged: MergedGroup, values: int) -> frozenset[SSAValue]:
        return frozenset(
            merged.values[self.values[number]] for number in members(values)
        )


def collect_early_inputs(
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


def _needs_plan(op: Operation) -> bool:
    """
    Return `True` if an operation is a group that can be tiled and has no plan yet.
    """
    if not isinstance(op, graph.GroupOp) or op.plan is not None:
        return False
    return op.tiled_operation is not None


def _collect_copied_operands(
    nodes: Sequence[Operation],
) -> dict[Operation, list[SSAValue]]:
    """Return the operands that concatenations copy, were they to run as they are."""
    found: dict[Operation, list[SSAValue]] = {}
    for block in dict.fromkeys(op.parent for op in nodes):
        for each in () if block is None else copied_operands(block):
            found.setdefault(each.op, []).append(each.op.operands[each.number])
    return found


def _operation_count(op: Operation) -> int:
    """Return the number of operations that one adds to a group."""
    if not isinstance(op, graph.GroupOp):
        return 1
    return len(op.body.block.ops) - 1


def _contraction_count(op: Operation) -> int:
    if not isinstance(op, graph.GroupOp):
        return 0
    return sum(isinstance(each, ContractionInterface) for each in op.body.block.ops)
