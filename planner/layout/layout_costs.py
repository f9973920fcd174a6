"""
Cost model of layouts: cost of a group for given layouts of its operands and results.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TypeAlias

from xdsl.ir import Block, SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.analysis.tiling.structural_keys import structural_key_of
from tlf.dialects import graph
from tlf.dialects.encoding_attribute import layout_of
from tlf.dialects.graph.residency import (
    is_read_only_in_inner_level,
    is_retained,
    needs_load,
)
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.io_layout_attributes import ANY_LAYOUT, Layout
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.npu_estimator import nest_predictor_on
from tlf.planner.cost.npu.outer_model import OuterCostModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.cost.npu.tile_search import Tilings
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.support.affine.axis_orders import Order, row_major_order

KnownPlans: TypeAlias = dict[Hashable, OuterPlan | None]
"""Plans of groups, by structure and layouts, on one level and in one search space."""


class LayoutCosts:
    """
    Costs of groups, each with its best tiles, by the cost model of a memory level.
    Groups of one structure are evaluated once, also across the programs that share
    `known`.
    """

    def __init__(
        self,
        target: TargetSpec,
        level: Level,
        search_space: SearchSpace = UNRESTRICTED,
        known_plans: KnownPlans | None = None,
        memo: Memo | None = None,
    ) -> None:
        self.target = target
        self.level = level
        self.freedom = search_space
        self.free: AbstractSet[SSAValue] = frozenset()
        """Values of any axis order in the search that found the groups' plans."""
        self.model = OuterCostModel(target, level)
        self.model.far.phased = True
        self._groups: dict[graph.GroupOp, _GroupEntry | None] = {}
        self._known: KnownPlans = {} if known_plans is None else known_plans
        self._nesting = nest_predictor_on(target, memo)

    def best_plan(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """
        Return the best plan of a group with the given layouts of values inside of it,
        or None if the model has none.
        """
        if (entry := self._memoized_entry_of(group)) is None:
            return None
        return self._cached_plan(entry, _non_default_layouts(layouts), frozenset())

    def best_plan_any_layout(
        self,
        group: graph.GroupOp,
        layouts: Mapping[SSAValue, Order],
        free_values: AbstractSet[SSAValue],
    ) -> OuterPlan | None:
        """
        Return the best plan of a group in which each transfer of a free value has its
        best axis order: a lower bound for all layouts of these values.
        """
        if (entry := self._memoized_entry_of(group)) is None:
            return None
        return self._cached_plan(entry, _non_default_layouts(layouts), free_values)

    def select_best_plan(
        self,
        group: graph.GroupOp,
        layouts: Mapping[SSAValue, Order],
        plans: Sequence[OuterPlan],
    ) -> OuterPlan | None:
        """Return the best of some plans of a group with the given layouts, or None."""
        if (entry := self._memoized_entry_of(group)) is None:
            return None
        layouts = _non_default_layouts(layouts)
        sizes = tuple(plan.plan_key for plan in plans)
        key = sizes, entry.key, entry.near, entry.layouts_of_values(layouts)
        if key not in self._known:
            search = self._outer_search_of(entry)
            with self._assign_layouts_temporarily(layouts):
                plans_or_none = [search.plan_for(*each) for each in sizes]
            legal_plans = (plan for plan in plans_or_none if plan is not None)
            self._known[key] = min(
                legal_plans, key=lambda plan: plan.rank, default=None
            )
        return self._known[key]

    def _memoized_entry_of(self, group: graph.GroupOp) -> _GroupEntry | None:
        if group not in self._groups:
            self._groups[group] = self._make_group_entry(group)
        return self._groups[group]

    def _cached_plan(
        self,
        entry: _GroupEntry,
        layouts: Mapping[SSAValue, Order],
        free_values: AbstractSet[SSAValue],
    ) -> OuterPlan | None:
        """
        Return the plan of a group with the given layouts, found once for all groups of
        equal structure, residency and layouts.
        """
        orders = entry.layouts_of_values(layouts, free_values)
        key = entry.key, entry.near, entry.given, orders
        if key not in self._known:
            with self._assign_layouts_temporarily(layouts, free_values):
                self._known[key] = self._find_plan(entry)
        return self._known[key]

    @contextmanager
    def _assign_layouts_temporarily(
        self,
        layouts: Mapping[SSAValue, Order],
        free_values: AbstractSet[SSAValue] = frozenset(),
    ) -> Generator[None]:
        """Assign layouts to values of the model while the context is active."""
        outer, inner = self.model.far, self.model.near
        outer.layouts, inner.layouts, outer.free = layouts, layouts, free_values
        yield
        outer.layouts, inner.layouts, outer.free = {}, {}, frozenset()

    def plan_if_model_own(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """
        Return the plan of a group with the given layouts if it is the model's own, else
        None.
        """
        entry = self._memoized_entry_of(group)
        if entry is None or entry.own is None:
            return None
        return self.select_best_plan(group, layouts, [entry.own])

    def can_replan(self, group: graph.GroupOp) -> bool:
        """
        Return `True` if a group may get another plan: it has none, or the model's own.
        """
        entry = self._groups.get(group)
        return entry is not None and entry.given is None

    def _find_plan(self, entry: _GroupEntry) -> OuterPlan | None:
        """
        Return the plan that a group must keep with its cost in the model's layouts,
        else the best plan; None if it does not fit.
        """
        search = self._outer_search_of(entry)
        if (plan := entry.given) is None:
            return search.find_best()
        sizes = (*plan.tile_sizes, *plan.reduce_sizes)
        return search.plan_for(
            sizes,
            plan.sliding_window_axis,
            plan.innermost_stage_count,
            plan.has_prefetch,
        )

    def _outer_search_of(self, entry: _GroupEntry) -> OuterSearch:
        """
        Return a new tile search for a group in this level, with its residency and known
        tilings.
        """
        return OuterSearch(
            entry.members,
            entry.nests,
            self.model,
            self.level.capacity,
            entry.keeping,
            self.freedom,
            known_tilings=entry.tilings,
        )

    def _make_group_entry(self, group: graph.GroupOp) -> _GroupEntry | None:
        """
        Return a group's members, nests, residency, and its plan if it must be kept;
        None if a pass error shows that it cannot be tiled.
        """
        try:
            members = members_of_group_op(group)
            residency = planned_residency_of(group)
            entry = _GroupEntry(
                members, self._nesting.predict_nests(members), residency
            )
        except PassFailedException:
            return None
        if group.plan is not None and not self._has_own_plan(group, entry):
            entry.given = group.plan
        return entry

    def _has_own_plan(self, group: graph.GroupOp, entry: _GroupEntry) -> bool:
        """
        Return `True` if the plan of a group is the one that the model finds for the
        group by itself.
        """
        if entry.keeping.retained_results or entry.keeping.whole_inputs_in_level:
            return False
        best = self._standalone_plan(entry, frozenset(self._free_values_in(group)))
        if best is None or best.to_plan_attribute(self.level.name) != group.plan:
            return False
        entry.own = best
        return True

    def _standalone_plan(
        self, entry: _GroupEntry, free_values: AbstractSet[SSAValue]
    ) -> OuterPlan | None:
        """
        Return the model's plan for a group, with the best axis order for each transfer.
        """
        key = "alone", entry.key, entry.near, entry.layouts_of_values({}, free_values)
        if key not in self._known:
            outer = self.model.far
            outer.phased, outer.free = False, free_values
            self._known[key] = self._outer_search_of(entry).find_best()
            outer.phased, outer.free = True, frozenset()
        return self._known[key]

    def _free_values_in(self, group: graph.GroupOp) -> Iterator[SSAValue]:
        """
        Yield the values inside of a group that correspond to free values outside of it.
        """
        for outer_value, inner_value in (
            *zip(group.inputs, group.body.block.args, strict=True),
            *zip(group.results, group.yielded_values, strict=True),
        ):
            if outer_value in self.free:
                yield inner_value


class _GroupEntry:
    """Group with its cached plans, as input of the cost model."""

    def __init__(
        self, members: GroupMembers, nests: Nests, residency: Residency
    ) -> None:
        self.members = members
        self.nests = nests
        self.keeping = residency
        self.key = structural_key_of(members.operations, members.results)
        used = (value for op in members.operations for value in op.operands)
        self.values = tuple(dict.fromkeys((*used, *members.results)))
        """
        Values that may have a layout, in an order that depends on the structure only.
        """
        self.near = tuple(map(self._residency_flags_of, self.values))
        """Residency of each of these values around the group."""
        self.tilings: Tilings = {}
        self.given: graph.PlanAttr | None = None
        """Plan that must be kept, if any."""
        self.own: OuterPlan | None = None
        """Plan that the model found with the best axis order for each transfer."""

    def layouts_of_values(
        self,
        layouts: Mapping[SSAValue, Order],
        free_values: AbstractSet[SSAValue] = frozenset(),
    ) -> tuple[Layout | None, ...]:
        """Return the layout of each of the values; None for the layout of its type."""
        return tuple(
            ANY_LAYOUT if value in free_values else layouts.get(value)
            for value in self.values
        )

    def _residency_flags_of(self, value: SSAValue) -> tuple[bool, ...]:
        """
        Return five flags of a value: resident input, retained, unstored, loaded as a
        whole, loaded early.
        """
        residency = self.keeping
        sets = (
            residency.resident_inputs,
            residency.retained_results,
            residency.unstored_results,
            residency.whole_loaded_inputs,
            residency.early_inputs,
        )
        return tuple(value in each for each in sets)


def planned_residency_of(group: graph.GroupOp) -> Residency:
    """Return the values resident in the level around a group, by its plan."""
    inputs = list(zip(group.inputs, group.body.block.args, strict=True))
    plan = group.plan
    resident = () if plan is None else plan.resident_operands
    loaded = {index for index in resident if needs_load(group, index)}
    results = list(zip(group.results, group.yielded_values, strict=True))
    retained = [pair for pair in results if is_retained(pair[0])]
    group_inputs = [
        inner_value
        for outer_value, inner_value in inputs
        if isinstance(outer_value.owner, Block | ConstantInterface)
    ]
    early = () if len(group_inputs) == len(inputs) else group_inputs
    return Residency(
        frozenset(inputs[n][1] for n in resident if n not in loaded),
        frozenset(inner_value for _, inner_value in retained),
        frozenset(
            inner_value
            for outer_value, inner_value in retained
            if is_read_only_in_inner_level(outer_value)
        ),
        frozenset(inputs[n][1] for n in loaded),
        frozenset(early),
    )


def _non_default_layouts(layouts: Mapping[SSAValue, Order]) -> Mapping[SSAValue, Order]:
    """Return the entries of `layouts` that differ from those of the values' types."""
    return {
        value: each
        for value, each in layouts.items()
        if each != _axis_order_of_type(value)
    }


def _axis_order_of_type(value: SSAValue) -> Order:
    """Return the axis order in memory by the type of a tensor."""
    type_ = tensor_type(value)
    return layout_of(type_) or row_major_order(type_.get_num_dims())
