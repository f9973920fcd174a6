"""
Cost model of partitions: cost of sets of a block's operations, each run as one group.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from copy import copy
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
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.outer_plan import OuterPlan, PlanKey
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.fusion.remark_collector import (
    contraction_limit_remark,
    operation_limit_remark,
)
from tlf.planner.layout.concat_in_place import copied_concat_operands
from tlf.planner.partition.block_problem import aligned_bytes
from tlf.planner.partition.fusible_views import is_fusible_view
from tlf.planner.partition.merged_group import MergedGroup
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.planner.settings.search_budgets import PARTITION
from tlf.support.affine.index_access import Interval
from tlf.support.partition import (
    CostModel,
    Option,
    ResidencyContext,
    elements_of_mask,
    mask_of,
)


class WorkLimitError(Exception):
    """The tilings exceed the limit of analysed operations."""


class GroupCosts(CostModel):
    """
    Cost of sets of a block's operations by the model of a memory level.

    `nodes` are the operations and `values` the tensors between them, in the numbering
    of the problem. Values that are `free_values` may have any axis order.
    """

    def __init__(
        self,
        nodes: Sequence[Operation],
        values: Sequence[SSAValue],
        target: TargetSpec,
        level: Level,
        max_contractions: int,
        search_space: SearchSpace = UNRESTRICTED,
        free_values: AbstractSet[SSAValue] = frozenset(),
        max_operations: int = PARTITION.max_merged_operations,
        memo: Memo | None = None,
    ) -> None:
        self.nodes = nodes
        self.values = values
        self.target = target
        self.level = level
        self.contractions = max_contractions
        self.freedom = search_space
        self.free = free_values
        self.operations = max_operations
        self.model = OuterCostModel(target, level)
        self.nesting = nest_predictor_on(target, memo)
        self._numbers = {value: index for index, value in enumerate(values)}
        inside = set(nodes)
        self._given = {value for value in values if value.owner not in inside}
        self._copied = _collect_copied_operands(nodes)
        self._merged: dict[int, MergedGroup] = {}
        self._searches: dict[int, OuterSearch | None] = {}
        self._earlies: dict[MergedGroup, frozenset[SSAValue]] = {}
        self._joining: dict[Operation, bool] = {}
        self.forms = OpFactsCache()
        """Cached facts of the operations of all groups."""
        self._work_limit: int | None = None
        self._allowed_work = 0.0
        self._work_done = 0
        self._capacity = level.capacity
        self._known_by: GroupCosts | None = None

    def on_target(self, target: TargetSpec) -> GroupCosts:
        """
        Return the cost model for a target that differs in speed or in inner memories.
        Both share the merged groups with their nests and tilings, but not their plans.
        """
        other = copy(self)
        other.target, other.level = target, target.levels[self.level.name]
        other.model = OuterCostModel(target, other.level)
        other.model.far.free = self.model.far.free
        other._searches, other._known_by = {}, self
        return other

    @property
    def evaluated_group_count(self) -> int:
        """Number of sets of operations whose tiles were searched."""
        return len(self._searches)

    @property
    def tiling_count(self) -> int:
        """Number of tilings that were analysed."""
        searches = (each for each in self._searches.values() if each is not None)
        return sum(len(each.known_tilings) for each in searches)

    def limit_analysis_work(self, max_operations: int | None) -> None:
        """
        Limit the operations in tilings that are analysed from here on. Above the limit,
        `options` raises WorkLimitError.
        """
        self._work_limit, self._work_done = max_operations, 0
        self._allowed_work = max_operations or 0

    def report_progress(self, fraction: float) -> None:
        """
        Limit the work of a search until it has passed a fraction of the distinct
        operations: the limit would be exceeded by far at its end.
        """
        if (limit := self._work_limit) is not None:
            share = PARTITION.max_projected_work * fraction
            share = min(1, max(PARTITION.min_projected_work, share))
            self._allowed_work = limit * share
            self._check_work()

    @contextmanager
    def limit_capacity(self, capacity: int) -> Generator[None]:
        """Search plans that fit `capacity` bytes of the level, until the end."""
        self._capacity = capacity
        try:
            yield
        finally:
            self._capacity = self.level.capacity

    def drop_cached_sets_larger_than(self, count: int) -> None:
        """
        Drop the cached data of sets of more than `count` operations, to save memory.
        """
        for group in [each for each in self._merged if each.bit_count() > count]:
            self._earlies.pop(self._merged.pop(group), None)
            self._searches.pop(group, None)

    def objection_to_group(self, group: int) -> str | None:
        """
        Return the reason why a set of operations cannot be one group: one that cannot
        be grouped, or too many of them. None if it can.
        """
        operations = self._operations_in_set(group)
        if len(operations) == 1:
            return None
        ungroupable = [op for op in operations if not self._can_join_group(op)]
        if ungroupable:
            return f"{ungroupable[0].name} cannot be grouped with other operations"
        if self.count_contractions(group) > self.contractions:
            return contraction_limit_remark(self.contractions)
        if sum(map(operations_added_to_group, operations)) > self.operations:
            return operation_limit_remark(self.operations)
        return None

    def is_runnable(self, group: int) -> bool:
        """
        Return `True` if a set of operations runs untiled, or if a tile search of its
        merged group can be created.
        """
        if not self._is_tiled_as_group(group):
            return True
        return (
            self._search_with_whole_capacity(group, self._merged_group_of_set(group))
            is not None
        )

    def count_contractions(self, group: int) -> int:
        """Return the number of contractions in a group."""
        return sum(map(_contraction_count, self._operations_in_set(group)))

    def min_tile_bytes(self, group: int) -> int | None:
        """
        Return the bytes of a group's smallest tiles, or None if it cannot be tiled.
        """
        merged = self._merged_group_of_set(group)
        search = self._make_outer_search(merged, sys.maxsize)
        return None if search is None else search.min_bytes()

    def options_of_group(
        self, group: int, context: ResidencyContext
    ) -> Sequence[Option]:
        """
        Return the best plan in `context`, one without prefetch if it may be better, or
        the cost of untiled operations. Raises `WorkLimitError`.
        """
        if not self._is_tiled_as_group(group):
            around = context.resident | context.retained
            return [] if around else [self._untiled_option(group)]
        search = self._search_with_residency(group, context)
        if search is None:
            return []
        before = len(search.known_tilings)
        plans: list[OuterPlan] = []
        if (plan := search.find_best()) is not None:
            plans = [plan, *self._plans_without_prefetch(search, plan)]
        self._add_analysis_work(group, len(search.known_tilings) - before)
        return [self._plan_to_option(each, context) for each in plans]

    def _add_analysis_work(self, group: int, new_tilings: int) -> None:
        """Add the work of new tilings of a group, and check the limit."""
        self._work_done += new_tilings * sum(
            map(operations_added_to_group, self._operations_in_set(group))
        )
        self._check_work()

    def _check_work(self) -> None:
        """Raise `WorkLimitError` if more work is done than is allowed so far."""
        if self._work_limit is not None and self._work_done > self._allowed_work:
            raise WorkLimitError

    def _untiled_option(self, group: int) -> Option:
        """
        Return the cost of operations without tiles: copies of the concat operands that
        cannot be computed in place.
        """
        cycles = copied_bytes = 0
        for op in self._operations_in_set(group):
            for operand in self._copied.get(op, ()):
                box = tuple(map(Interval.whole, tensor_type(operand).get_shape()))
                cycles += self.model.far.load_cost_of(operand, box).cycles
                cycles += self.model.far.store_cost_of(operand, box).cycles
                copied_bytes += 2 * byte_count(tensor_type(operand))
        on_bus = self._bytes_moved_in_cycles(cycles)
        return Option(cycles, on_bus, 0, padding=on_bus - copied_bytes)

    def _plans_without_prefetch(
        self, search: OuterSearch, plan: OuterPlan
    ) -> Iterator[OuterPlan]:
        """
        Yield the plan that is best without prefetches, as when earlier groups have no
        time or room for them, if loops can stream some of the prefetched inputs.
        """
        cost, early = plan.cost, search.residency.early_inputs
        gain = min(
            cost.cycles_after_prefetch,
            cost.early_load_cycles,
            search.streamable_load_cycles(early),
        )
        if (
            gain * PARTITION.min_gain_divisor
            <= cost.cycles_after_prefetch + cost.early_load_cycles
        ):
            return
        search_without_prefetch = search.with_residency(
            replace(search.residency, early_inputs=frozenset()), search.capacity
        )
        if (best := search_without_prefetch.find_best()) is None:
            return
        other = search.plan_for(*best.plan_key)
        if other is not None and other.rank != plan.rank:
            yield other

    def bound_of_options(self, group: int, context: ResidencyContext) -> Option | None:
        """
        Return lower bounds on cycles and bus bytes with the residency of `context`,
        without a plan; None if untiled or unknown.
        """
        if not self._is_tiled_as_group(group):
            return None
        merged = self._merged_group_of_set(group)
        if (search := self._search_with_whole_capacity(group, merged)) is None:
            return None
        if search.lower_bounds is None:
            return None
        residency = self._residency_of(merged, context)
        lower_bound = search.lower_bounds.bound_with_residency(residency)
        early = max(
            search.lower_bounds.min_early_load_cycles(residency),
            lower_bound.channel_cycles - lower_bound.cycles,
        )
        bus_bytes = self._bytes_moved_in_cycles(lower_bound.channel_time)
        return Option(
            lower_bound.cycles, bus_bytes, 0, None, early, sys.maxsize, sys.maxsize
        )

    def best_options(
        self, group: int, context: ResidencyContext, count: int
    ) -> Sequence[Option]:
        """
        Return the best `count` options of a group, dominated or not; none if it is not
        tiled.
        """
        if not self._is_tiled_as_group(group):
            return []
        search = self._search_with_residency(group, context)
        plans = [] if search is None else search.find_best_plans(count)
        return [self._plan_to_option(plan, context) for plan in plans]

    def option_of_equal_plan(
        self, group: int, context: ResidencyContext, option: Option
    ) -> Option | None:
        """
        Return the option with the plan of one of another target, or None if the group
        has none.
        """
        if not self._is_tiled_as_group(group):
            return self._untiled_option(group)
        if not isinstance(option.plan, OuterPlan):
            return None
        return self._option_of_plan_key(group, context, option.plan.plan_key)

    def option_with_more_in_flight(
        self, group: int, context: ResidencyContext, option: Option
    ) -> Option | None:
        """
        Return the option with one more iteration in flight, or None if there are no
        more iterations or it does not fit.
        """
        if not isinstance(plan := option.plan, OuterPlan):
            return None
        sizes, sliding_axis, stages, has_prefetch = plan.plan_key
        if stages == 1 or plan.iteration_count in range(stages + 1):
            return None
        deeper = sizes, sliding_axis, stages + 1, has_prefetch
        return self._option_of_plan_key(group, context, deeper)

    def _option_of_plan_key(
        self, group: int, context: ResidencyContext, key: PlanKey
    ) -> Option | None:
        """Return the option of a group with a plan, or None if the group has none."""
        if (search := self._search_with_residency(group, context)) is None:
            return None
        plan = search.plan_for(*key)
        return None if plan is None else self._plan_to_option(plan, context)

    def prefetch_options(
        self, group: int, context: ResidencyContext, option: Option, count: int
    ) -> Sequence[Option]:
        """
        Return options of a group, a bit set, with windows computed one iteration early;
        empty without an outer plan.
        """
        if not isinstance(option.plan, OuterPlan):
            return []
        if (search := self._search_with_residency(group, context)) is None:
            return []
        plans = map(
            search.plan_with_prefetch, (option.plan, *search.find_best_plans(count))
        )
        unique = {plan.plan_key: plan for plan in plans if plan is not None}
        return [self._plan_to_option(plan, context) for plan in unique.values()]

    def _plan_to_option(self, plan: OuterPlan, context: ResidencyContext) -> Option:
        """
        Return a plan as an option: cycles after prefetch, bytes on the bus, footprint
        with resident inputs, and prefetch room.
        """
        needed, cost = (
            plan.required_bytes + self._resident_input_bytes(context),
            plan.cost,
        )
        free_bytes = (
            0 if cost.has_loads_in_loops else max(0, self.level.capacity - needed)
        )
        prefetch_cycles = int(free_bytes / self.model.bandwidth)
        on_bus = self._bytes_moved_in_cycles(cost.loads.cycles + cost.stores.cycles)
        timing, padding = (
            (cost.early_load_cycles, cost.channel_idle_cycles, prefetch_cycles),
            on_bus - cost.payload_bytes,
        )
        return Option(
            cost.cycles_after_prefetch, on_bus, needed, plan, *timing, padding
        )

    def _bytes_moved_in_cycles(self, cycles: float) -> int:
        """Return the bytes that the channel moves in some cycles, in whole bursts."""
        return round(cycles * self.model.bandwidth)

    def _resident_input_bytes(self, context: ResidencyContext) -> int:
        """Return the total aligned bytes of the inputs resident in a context."""
        return sum(
            aligned_bytes(self.values[index], self.level)
            for index in elements_of_mask(context.resident)
        )

    def _search_with_residency(
        self, group: int, context: ResidencyContext
    ) -> OuterSearch | None:
        """
        Return the search for plans with values resident around the group, or None if it
        cannot be tiled.
        """
        merged = self._merged_group_of_set(group)
        if (search := self._search_with_whole_capacity(group, merged)) is None:
            return None
        free_bytes = (
            self._capacity
            - context.occupied_bytes
            - self._resident_input_bytes(context)
        )
        return search.with_residency(self._residency_of(merged, context), free_bytes)

    def _residency_of(
        self, merged: MergedGroup, context: ResidencyContext
    ) -> Residency:
        """Return the values resident in the level around a group, as named inside."""
        results = mask_of(map(self._numbers.__getitem__, merged.results))
        return Residency(
            self._inner_values_of(merged, context.resident),
            self._inner_values_of(merged, context.retained & results),
            self._inner_values_of(merged, context.retained & results & ~context.stored),
            self._inner_values_of(
                merged, context.retained & ~results & ~context.resident
            ),
            self._early_inputs_of(merged),
        )

    def _early_inputs_of(self, merged: MergedGroup) -> frozenset[SSAValue]:
        """Return the inputs that may be loaded while an earlier group runs."""
        if merged not in self._earlies:
            self._earlies[merged] = collect_early_inputs(merged, self._given)
        return self._earlies[merged]

    def _search_with_whole_capacity(
        self, group: int, merged: MergedGroup
    ) -> OuterSearch | None:
        """
        Return the search for plans with the whole capacity of the level, or None if the
        group cannot be tiled.
        """
        if group not in self._searches:
            self._searches[group] = (
                self._make_outer_search(merged, self.level.capacity)
                if self._known_by is None
                else self._known_by._search_by_model(group, merged, self.model)
            )
        return self._searches[group]

    def _search_by_model(
        self, group: int, merged: MergedGroup, model: OuterCostModel
    ) -> OuterSearch | None:
        """Return the search for plans of a group by another cost model."""
        search = self._search_with_whole_capacity(group, merged)
        return None if search is None else search.with_model(model)

    def _make_outer_search(
        self, merged: MergedGroup, capacity: int
    ) -> OuterSearch | None:
        """
        Return a new search for plans of a merged group in `capacity` bytes; None if it
        cannot be tiled.
        """
        try:
            nests = self.nesting.predict_nests(merged.group_members)
            return OuterSearch(
                merged.group_members,
                nests,
                self.model,
                capacity,
                search_space=self.freedom,
            )
        except PassFailedException:
            return None

    def _operations_in_set(self, group: int) -> list[Operation]:
        """Return the operations of a set."""
        return [self.nodes[index] for index in elements_of_mask(group)]

    def _is_tiled_as_group(self, group: int) -> bool:
        """
        Return `True` if a bit set of operations can be tiled as one group: all may
        join, and at least one is a group without a plan.
        """
        operations = self._operations_in_set(group)
        return any(map(_is_group_without_plan, operations)) and all(
            map(self._can_join_group, operations)
        )

    def _can_join_group(self, op: Operation) -> bool:
        """
        Return `True` if an operation may be grouped with others: a view or a slice with
        a reader, and a concatenation of tiles.
        """
        if (is_groupable := self._joining.get(op)) is None:
            is_groupable = self._joining[op] = self._is_groupable(op)
        return is_groupable

    def _is_groupable(self, op: Operation) -> bool:
        if _is_group_without_plan(op) or isinstance(op, ConcatLikeInterface):
            return True
        return is_fusible_view(op, self.level) and self._is_view_read_by_group(op)

    def _is_view_read_by_group(self, view: Operation) -> bool:
        """
        Return `True` if a group or a concatenation reads a view, directly or through
        other views.
        """
        users = [use.operation for result in view.results for use in result.uses]
        return any(
            isinstance(user, graph.GroupOp | ConcatLikeInterface)
            or (is_fusible_view(user, self.level) and self._is_view_read_by_group(user))
            for user in users
        )

    def _merged_group_of_set(self, group: int) -> MergedGroup:
        """
        Return the merged copy of a set of operations, created once; its values of any
        axis order are added to the cost model.
        """
        if group not in self._merged:
            operations = self._operations_in_set(group)
            merged_ops = [
                op
                for op in operations
                if isinstance(op, graph.GroupOp | ConcatLikeInterface)
                or is_fusible_view(op, self.level)
            ]
            merged = self._merged[group] = MergedGroup(merged_ops, self.forms)
            free_values = {merged.values[v] for v in self.free if v in merged.values}
            self.model.far.free |= free_values
        return self._merged[group]

    def _inner_values_of(self, merged: MergedGroup, values: int) -> frozenset[SSAValue]:
        return frozenset(
            merged.values[self.values[index]] for index in elements_of_mask(values)
        )


def collect_early_inputs(
    group: MergedGroup, graph_inputs: Collection[SSAValue]
) -> frozenset[SSAValue]:
    """
    Return the inputs that may be loaded while an earlier group runs, as named inside:
    inputs of the graph, if the group also reads results of other groups.
    """
    early = [value for value in group.inputs if value in graph_inputs]
    if len(early) == len(group.inputs):
        return frozenset()
    return frozenset(group.values[value] for value in early)


def _is_group_without_plan(op: Operation) -> bool:
    """
    Return `True` if an operation is a group that can be tiled and has no plan yet.
    """
    if not isinstance(op, graph.GroupOp) or op.plan is not None:
        return False
    return op.tiled_root_operation is not None


def _collect_copied_operands(
    nodes: Sequence[Operation],
) -> dict[Operation, list[SSAValue]]:
    """Return the operands that each concatenation copies if it runs by itself."""
    operands: dict[Operation, list[SSAValue]] = {}
    for block in dict.fromkeys(op.parent for op in nodes):
        for each in () if block is None else copied_concat_operands(block):
            operands.setdefault(each.op, []).append(
                each.op.operands[each.operand_index]
            )
    return operands


def operations_added_to_group(op: Operation) -> int:
    """
    Return the number of operations that an operation of the block adds to a group.
    """
    if not isinstance(op, graph.GroupOp):
        return 1
    return len(op.body.block.ops) - 1


def _contraction_count(op: Operation) -> int:
    if not isinstance(op, graph.GroupOp):
        return 0
    return sum(isinstance(each, ContractionInterface) for each in op.body.block.ops)
