"""Cost of a group for given layouts of its operands and results."""

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
"""The plans of groups, by structure and layouts, on one level with some freedom."""


class LayoutCosts:
    """
    Prices groups, each with the tiles that are best for it, by the model of a memory
    level. Groups of one structure are priced once, and where several programs have
    them, in all that share what is `known`.
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
        """Values that the groups' plans were found with in any order of their axes."""
        self.model = OuterModel(target, level)
        self.model.far.phased = True
        self._groups: dict[graph.GroupOp, _GroupEntry | None] = {}
        self._known: KnownPlans = {} if known is None else known
        self._nesting = nest_predictor_on(target, memo)

    def best_plan(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """
        The best plan of a group with some layouts of tensors, by their names inside of
        it; None where the model has none.
        """
        if (priced := self._entry_of(group)) is None:
            return None
        return self._cached_plan(priced, _non_default_layouts(layouts), frozenset())

    def best_plan_any_layout(
        self,
        group: graph.GroupOp,
        layouts: Mapping[SSAValue, Order],
        free: AbstractSet[SSAValue],
    ) -> OuterPlan | None:
        """
        The best plan of a group each of whose moves has the best order of the axes of
        tensors that are free: no layouts of these have a better one.
        """
        if (priced := self._entry_of(group)) is None:
            return None
        return self._cached_plan(priced, _non_default_layouts(layouts), free)

    def select_plan(
        self,
        group: graph.GroupOp,
        layouts: Mapping[SSAValue, Order],
        plans: Sequence[OuterPlan],
    ) -> OuterPlan | None:
        """The best of some plans of a group, with some layouts of tensors."""
        if (priced := self._entry_of(group)) is None:
            return None
        layouts = _non_default_layouts(layouts)
        sizes = tuple(plan.key for plan in plans)
        key = sizes, priced.key, priced.near, priced.layouts_of_values(layouts)
        if key not in self._known:
            search = self._search_for(priced)
            with self._use_layouts(layouts):
                tried = [search.plan_for(*each) for each in sizes]
            known = (plan for plan in tried if plan is not None)
            self._known[key] = min(known, key=lambda plan: plan.rank, default=None)
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
        far, near = self.model.far, self.model.near
        far.layouts, near.layouts, far.free = layouts, layouts, free
        yield
        far.layouts, near.layouts, far.free = {}, {}, frozenset()

    def own_plan(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """The plan that a group has, if it is the model's own, with some layouts."""
        priced = self._entry_of(group)
        if priced is None or priced.own is None:
            return None
        return self.select_plan(group, layouts, [priced.own])

    def can_replan(self, group: graph.GroupOp) -> bool:
        """
        Return `True` if a group may get another plan: it has none, or the model's own.
        """
        priced = self._groups.get(group)
        return priced is not None and priced.given is None

    def _find_plan(self, priced: _GroupEntry) -> OuterPlan | None:
        search = self._search_for(priced)
        if (given := priced.given) is None:
            return search.find_best()
        sizes = (*given.tile_sizes, *given.reduce_sizes)
        return search.plan_for(
            sizes, given.sliding_axis, given.innermost_stages, given.has_prefetch
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
            keeping = residency_of(group)
            priced = _GroupEntry(members, self._nesting.predict_nests(members), keeping)
        except PassFailedException:
            return None
        if group.plan is not None and not self._has_own_plan(group, priced):
            priced.given = group.plan
        return priced

    def _has_own_plan(self, group: graph.GroupOp, priced: _GroupEntry) -> bool:
        """
        Return `True` if the plan of a group is the one that the model finds for it
        alone.
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
        Return the model's plan for a group, with the best order of axes for each move.
        """
        key = "alone", priced.key, priced.near, priced.layouts_of_values({}, free)
        if key not in self._known:
            far = self.model.far
            far.phased, far.free = False, free
            self._known[key] = self._search_for(priced).find_best()
            far.phased, far.free = True, frozenset()
        return self._known[key]

    def _free_values_in(self, group: graph.GroupOp) -> Iterator[SSAValue]:
        """The values inside of a group that stand for what may lie in any order."""
        for outside, inside in (
            *zip(group.inputs, group.body.block.args, strict=True),
            *zip(group.results, group.yielded_values, strict=True),
        ):
            if outside in self.free:
                yield inside


class _GroupEntry:
    """Group with its cached plans, as the model takes it."""

    def __init__(self, members: GroupMembers, nests: Nests, keeping: Residency) -> None:
        self.members = members
        self.nests = nests
        self.keeping = keeping
        self.key = structural_key_of(members.operations, members.results)
        used = (value for op in members.operations for value in op.operands)
        self.values = tuple(dict.fromkeys((*used, *members.results)))
        """
        Values that may have a layout, in an order that depends on the structure alone.
        """
        self.near = tuple(map(self._residency_sets, self.values))
        """Of each of them, where it lies around the group."""
        self.tilings: Tilings = {}
        self.given: graph.PlanAttr | None = None
        """The plan that stays."""
        self.own: OuterPlan | None = None
        """The plan that the model found, were orders as good as they may be."""

    def layouts_of_values(
        self,
        layouts: Mapping[SSAValue, Order],
        free: AbstractSet[SSAValue] = frozenset(),
    ) -> tuple[Layout | None, ...]:
        """The layout of each of the values, where it is not that of its type."""
        return tuple(
            ANY_LAYOUT if value in free else layouts.get(value) for value in self.values
        )

    def _residency_sets(self, value: SSAValue) -> tuple[bool, ...]:
        near = self.keeping
        sets = near.resident, near.retained, near.unstored, near.loaded, near.early
        return tuple(value in each for each in sets)


def residency_of(group: graph.GroupOp) -> Residency:
    """Return the values resident in the level around a group, by its plan."""
    inputs = list(zip(group.inputs, group.body.block.args, strict=True))
    plan = group.plan
    held = () if plan is None else plan.resident_operands
    loaded = {number for number in held if needs_load(group, number)}
    results = list(zip(group.results, group.yielded_values, strict=True))
    kept = [pair for pair in results if is_retained(pair[0])]
    given = [
        inside
        for outside, inside in inputs
        if isinstance(outside.owner, Block | ConstantInterface)
    ]
    early = () if len(given) == len(inputs) else given
    return Residency(
        frozenset(inputs[n][1] for n in held if n not in loaded),
        frozenset(inside for _, inside in kept),
        frozenset(
            inside for outside, inside in kept if is_read_in_inner_level(outside)
        ),
        frozenset(inputs[n][1] for n in loaded),
        frozenset(early),
    )


def _non_default_layouts(layouts: Mapping[SSAValue, Order]) -> Mapping[SSAValue, Order]:
    """The layouts that are not those of the types."""
    return {
        value: each for value, each in layouts.items() if each != _default_order(value)
    }


def _default_order(value: SSAValue) -> Order:
    """The order in which the axes of a tensor lie as its type says."""
    type_ = tensor_type(value)
    return layout_of(type_) or row_major(type_.get_num_dims())
