"""What a group costs, by the layouts of the tensors that it reads and writes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from tlf.dialects import graph
from tlf.dialects.encoding import layout_of
from tlf.dialects.target import Level, Target
from tlf.dialects.types import tensor_type
from tlf.passes.cost.nests import Nests, nests_of
from tlf.passes.cost.outer import OuterModel
from tlf.passes.cost.outer_search import OuterPlan, OuterSearch, Tilings
from tlf.passes.cost.structure import structure_of
from tlf.passes.graph_choose_tiles import members_of_group
from tlf.passes.layouts.orders import Order, row_major
from tlf.passes.layouts.tensors import is_kept
from tlf.passes.tiling.group import Members


class LayoutCosts:
    """
    Prices groups, each with the tiles that are best for it, by the model of a memory
    level. Groups of one structure are priced once.
    """

    def __init__(self, target: Target, level: Level) -> None:
        self.target = target
        self.level = level
        self.model = OuterModel(target, level)
        self.model.far.phased = True
        self._groups: dict[graph.GroupOp, _Priced | None] = {}
        self._known: dict[Hashable, OuterPlan | None] = {}

    def plan(
        self, group: graph.GroupOp, layouts: Mapping[SSAValue, Order]
    ) -> OuterPlan | None:
        """
        The best plan of a group with some layouts of tensors, by their names inside of
        it; None where the model has none.
        """
        if group not in self._groups:
            self._groups[group] = self._priced(group)
        if (priced := self._groups[group]) is None:
            return None
        layouts = {
            value: order for value, order in layouts.items() if order != _order(value)
        }
        orders = tuple(layouts.get(value) for value in priced.values)
        key = priced.key, priced.given, orders
        if key not in self._known:
            self.model.far.layouts = layouts
            self._known[key] = self._found(priced)
            self.model.far.layouts = {}
        return self._known[key]

    def is_open(self, group: graph.GroupOp) -> bool:
        """Whether a group may get another plan: it has none, or the model's own."""
        priced = self._groups.get(group)
        return priced is not None and priced.given is None

    def floor(self, group: graph.GroupOp) -> float:
        """The cycles that no layout takes a group below."""
        priced = self._groups.get(group)
        return 0 if priced is None else self._search(priced).floor()

    def _found(self, priced: _Priced) -> OuterPlan | None:
        search = self._search(priced)
        if (given := priced.given) is None:
            return search.best()
        return search.plan(given.tile_sizes, given.rolled_axis, given.stage_count)

    def _search(self, priced: _Priced) -> OuterSearch:
        return OuterSearch(
            priced.members,
            priced.nests,
            self.model,
            self.level.capacity,
            tilings=priced.tilings,
        )

    def _priced(self, group: graph.GroupOp) -> _Priced | None:
        try:
            members = members_of_group(group)
            priced = _Priced(members, nests_of(members, self.target))
        except PassFailedException:
            return None
        if group.plan is not None and not self._is_own(group, priced):
            priced.given = group.plan
        return priced

    def _is_own(self, group: graph.GroupOp, priced: _Priced) -> bool:
        """Whether the plan of a group is what the model finds for it alone."""
        if any(is_kept(value) for value in (*group.inputs, *group.results)):
            return False
        self.model.far.phased = False
        best = self._search(priced).best()
        self.model.far.phased = True
        return best is not None and best.attribute(self.level.name) == group.plan


class _Priced:
    """A group, as the model takes it."""

    def __init__(self, members: Members, nests: Nests) -> None:
        self.members = members
        self.nests = nests
        self.key = structure_of(members.operations, members.results)
        used = (value for op in members.operations for value in op.operands)
        self.values = tuple(dict.fromkeys((*used, *members.results)))
        """What may have a layout, in an order that the structure tells."""
        self.tilings: Tilings = {}
        self.given: graph.PlanAttr | None = None
        """The plan that stays."""


def _order(value: SSAValue) -> Order:
    """The order in which the axes of a tensor lie as its type says."""
    type_ = tensor_type(value)
    return layout_of(type_) or row_major(type_.get_num_dims())
