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
from tlf.dialects.encoding import layout_of
from tlf.dialects.graph.residency import is_read_in_inner_level, is_retained, needs_load
from tlf.dialects.interfaces import ConstantInterface
from tlf.dialects.io_layouts import ANY_LAYOUT, Layout
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import tensor_type
from tlf.planner.context import Memo
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.planner.cost.npu.npu_estimator import nest_predictor_on
from tlf.planner.cost.npu.outer_model import OuterModel
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.cost.npu.outer_search import OuterSearch
from tlf.planner.cost.npu.tile_search import Tilings
from tlf.planner.search_space import UNRESTRICTED, SearchSpace
from tlf.support.affine.axis_orders import Order, row_major

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
        freedom: SearchSpace = UNRESTRICTED,
        known: KnownPlans | None = None,
        memo: Memo | None = None,
    ) -> None:
        self.target = target
        self.level = level
        self.freedom = freedom
        self.free: AbstractSet[SSAValue] = frozenset()
        """Values of any axis order in the search that found the groups' plans."""
        self.model = OuterModel(target, level)
        self.model.far.phased = True
        self._groups: dict[graph.GroupOp, _GroupEntry | None] = {}
        self._known: KnownPlans = {} if known is None else known
        self._nesting = nest_predictor_on(target, memo)

    def best_plan(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """
        Return the best plan of a group with the given layouts of values inside of it,
        or None if the model has none.
        """
        if (entry := self._entry_of(group)) is None:
            return None
        return self._cached_plan(entry, _non_default_layouts(layouts), frozenset())

    def best_plan_any_layout(
        self,
        group: graph.GroupOp,
        layouts: Mapping[SSAValue, Order],
        free: AbstractSet[SSAValue],
    ) -> OuterPlan | None:
        """
        Return the best plan of a group in which each transfer of a free value has its
        best axis order: a lower bound for all layouts of these values.
        """
        if (entry := self._entry_of(group)) is None:
            return None
        return self._cached_plan(entry, _non_default_layouts(layouts), free)

    def select_plan(
        self,
        group: graph.GroupOp,
        layouts: Mapping[SSAValue, Order],
        plans: Sequence[OuterPlan],
    ) -> OuterPlan | None:
        """Return the best of some plans of a group with the given layouts, or None."""
        if (entry := self._entry_of(group)) is None:
            return None
        layouts = _non_default_layouts(layouts)
        sizes = tuple(plan.key for plan in plans)
        key = sizes, entry.key, entry.near, entry.layouts_of_values(layouts)
        if key not in self._known:
            search = self._search_for(entry)
            with self._use_layouts(layouts):
                plans_or_none = [search.plan_for(*each) for each in sizes]
            legal_plans = (plan for plan in plans_or_none if plan is not None)
            self._known[key] = min(
                legal_plans, key=lambda plan: plan.rank, default=None
            )
        return self._known[key]

    def _entry_of(self, group: graph.GroupOp) -> _GroupEntry | None:
        if group not in self._groups:
            self._groups[group] = self._make_entry(group)
        return self._groups[group]

    def _cached_plan(
        self,
        priced: _GroupEntry,
        layouts: Mapping[SSAValue, Order],
        free: AbstractSet[SSAValue],
    ) -> OuterPlan | None:
        orders = priced.layouts_of_values(layouts, free)
        key = priced.key, priced.near, priced.given, orders
        if key not in self._known:
            with self._use_layouts(layouts, free):
                self._known[key] = self._find_plan(priced)
        return self._known[key]

    @contextmanager
    def _use_layouts(
        self,
        layouts: Mapping[SSAValue, Order],
        free: AbstractSet[SSAValue] = frozenset(),
    ) -> Generator[None]:
        """Assign layouts to values of the model while the context is active."""
        outer, inner = self.model.far, self.model.near
        outer.layouts, inner.layouts, outer.free = layouts, layouts, free
        yield
        outer.layouts, inner.layouts, outer.free = {}, {}, frozenset()

    def own_plan(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """
        Return the plan of a group with the given layouts if it is the model's own, else
        None.
        """
        entry = self._entry_of(group)
        if entry is None or entry.own is None:
            return None
        return self.select_plan(group, layouts, [entry.own])

    def can_replan(self, group: graph.GroupOp) -> bool:
        """
        Return `True` if a group may get another plan: it has none, or the model's own.
        """
        entry = self._groups.get(group)
        return entry is not None and entry.given is None

    def _find_plan(self, priced: _GroupEntry) -> OuterPlan | None:
        search = self._search_for(priced)
        if (plan := priced.given) is None:
            return search.find_best()
        sizes = (*plan.tile_sizes, *plan.reduce_sizes)
        return search.plan_for(
            sizes, plan.sliding_axis, plan.innermost_stages, plan.has_prefetch
        )

    def _search_for(self, priced: _GroupEntry) -> OuterSearch:
        return OuterSearch(
            priced.members,
            priced.nests,
            self.model,
            self.level.capacity,
            priced.keeping,
            self.freedom,
            tilings=priced.tilings,
        )

    def _make_entry(self, group: graph.GroupOp) -> _GroupEntry | None:
        try:
            members = members_of_group_op(group)
            residency = residency_of(group)
            entry = _GroupEntry(
                members, self._nesting.predict_nests(members), residency
            )
        except PassFailedException:
            return None
        if group.plan is not None and not self._has_own_plan(group, entry):
            entry.given = group.plan
        return entry

    def _has_own_plan(self, group: graph.GroupOp, priced: _GroupEntry) -> bool:
        """
        Return `True` if the plan of a group is the one that the model finds for the
        group by itself.
        """
        if priced.keeping.retained or priced.keeping.inner_inputs:
            return False
        best = self._standalone_plan(priced, frozenset(self._free_values_in(group)))
        if best is None or best.to_attribute(self.level.name) != group.plan:
            return False
        priced.own = best
        return True

    def _standalone_plan(
        self, priced: _GroupEntry, free: AbstractSet[SSAValue]
    ) -> OuterPlan | None:
        """
        Return the model's plan for a group, with the best axis order for each transfer.
        """
        key = "alone", priced.key, priced.near, priced.layouts_of_values({}, free)
        if key not in self._known:
            outer = self.model.far
            outer.phased, outer.free = False, free
            self._known[key] = self._search_for(priced).find_best()
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

    def __init__(self, members: GroupMembers, nests: Nests, keeping: Residency) -> None:
        self.members = members
        self.nests = nests
        self.keeping = keeping
        self.key = structural_key_of(members.operations, members.results)
        used = (value for op in members.operations for value in op.operands)
        self.values = tuple(dict.fromkeys((*used, *members.results)))
        """
        Values that may have a layout, in an order that depends on the structure only.
        """
        self.near = tuple(map(self._residency_sets, self.values))
        """Residency of each of these values around the group."""
        self.tilings: Tilings = {}
        self.given: graph.PlanAttr | None = None
        """Plan that must be kept, if any."""
        self.own: OuterPlan | None = None
        """Plan that the model found with the best axis order for each transfer."""

    def layouts_of_values(
        self,
        layouts: Mapping[SSAValue, Order],
        free: AbstractSet[SSAValue] = frozenset(),
    ) -> tuple[Layout | None, ...]:
        """Return the layout of each of the values; None for the layout of its type."""
        return tuple(
            ANY_LAYOUT if value in free else layouts.get(value) for value in self.values
        )

    def _residency_sets(self, value: SSAValue) -> tuple[bool, ...]:
        residency = self.keeping
        sets = (
            residency.resident,
            residency.retained,
            residency.unstored,
            residency.loaded,
            residency.early,
        )
        return tuple(value in each for each in sets)


def residency_of(group: graph.GroupOp) -> Residency:
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
            if is_read_in_inner_level(outer_value)
        ),
        frozenset(inputs[n][1] for n in loaded),
        frozenset(early),
    )


def _non_default_layouts(layouts: Mapping[SSAValue, Order]) -> Mapping[SSAValue, Order]:
    """Return the layouts that differ from those of the types."""
    return {
        value: each for value, each in layouts.items() if each != _default_order(value)
    }


def _default_order(value: SSAValue) -> Order:
    """Return the axis order in memory by the type of a tensor."""
    type_ = tensor_type(value)
    return layout_of(type_) or row_major(type_.get_num_dims())
