"""Look for the layouts of stored tensors with which groups take the least time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.layout.costs import LayoutCosts
from tlf.planner.layout.tensors import StoredTensor
from tlf.support.affine.orders import Order, orders, row_major, with_last

Assignment: TypeAlias = dict[StoredTensor, Order]

GAIN = 0.005
"""Another layout pays where it saves at least this part of the time of the groups."""

BEATEN = 1.1
"""A plan that takes more than this times of another one counted on other layouts."""


@dataclass
class LayoutSearch:
    """
    Starts from tensors as they are, and from all of a rank with one axis last; then
    changes one tensor after the other while that helps, by the tiles that groups have
    and those that they would have with the best orders. What is found counts with the
    best tiles. Some tensors have a layout that they must have.
    """

    tensors: Sequence[StoredTensor]
    fixed: Assignment
    costs: LayoutCosts
    _names: dict[graph.GroupOp, list[tuple[StoredTensor, SSAValue]]] = field(
        default_factory=dict[graph.GroupOp, list[tuple[StoredTensor, SSAValue]]]
    )

    def __post_init__(self) -> None:
        for tensor in (*self.tensors, *self.fixed):
            for group in tensor.groups:
                inside = {*group.body.block.args, *group.yielded}
                self._names.setdefault(group, []).extend(
                    (tensor, name) for name in tensor.names if name in inside
                )

    def best(self) -> Assignment:
        """The layouts that are best, of the tensors that have one to gain from."""
        given = {tensor: tensor.order for tensor in self.tensors} | self.fixed
        self.tensors = [each for each in self.tensors if self._may_gain(each, given)]
        if not self.tensors:
            return given
        found = min(map(self._improved, self._starts(given)), key=self._estimated)
        worth = GAIN * self._total(given)
        return found if self._total(given) - self._total(found) > worth else given

    def plans(self, assignment: Assignment) -> dict[graph.GroupOp, graph.PlanAttr]:
        """The plans of groups which may have another one, where they need it."""
        plans: dict[graph.GroupOp, graph.PlanAttr] = {}
        for group, names in self._names.items():
            changed = any(assignment[tensor] != tensor.order for tensor, _ in names)
            plan = self._plan(group, assignment)
            if plan is None or not self.costs.is_open(group):
                continue
            if changed or self._is_beaten(group, assignment, plan):
                plans[group] = plan.attribute(self.costs.level.name)
        return plans

    def _is_beaten(
        self, group: graph.GroupOp, assignment: Assignment, plan: OuterPlan
    ) -> bool:
        """
        Return `True` if the plan of a group relied on orders of axes that it did not
        get.
        """
        own = self.costs.own(group, self._layouts(group, assignment))
        return own is not None and _rank(own) > _rank(plan) * BEATEN

    def _may_gain(self, tensor: StoredTensor, given: Assignment) -> bool:
        """
        Return `True` if a group around a tensor takes longer than with the best order
        for each move.
        """
        return any(
            (plan := self._plan(group, given)) is not None
            and (limit := self._limit(group, given)) is not None
            and _rank(plan) > _rank(limit) * (1 + GAIN)
            for group in tensor.groups
        )

    def _limit(self, group: graph.GroupOp, given: Assignment) -> OuterPlan | None:
        """The plan of a group were all orders best but those that are fixed."""
        around = self._names[group]
        free = frozenset(name for tensor, name in around if tensor not in self.fixed)
        return self.costs.limit(group, self._layouts(group, given), free)

    def _starts(self, given: Assignment) -> Iterator[Assignment]:
        yield given
        shapes = {
            tensor: tensor_type(tensor.value).get_shape() for tensor in self.tensors
        }
        for rank in sorted({len(shape) for shape in shapes.values()}):
            for last in range(rank - 1):
                yield given | {
                    tensor: with_last(last, rank)
                    for tensor, shape in shapes.items()
                    if len(shape) == rank and shape[last] > 1
                }

    def _improved(self, assignment: Assignment) -> Assignment:
        """The layouts after all changes of one tensor that help."""
        changed = True
        while changed:
            changed = False
            for tensor in self.tensors:
                better = self._best_order(tensor, assignment)
                changed = changed or better != assignment[tensor]
                assignment = {**assignment, tensor: better}
        return assignment

    def _best_order(self, tensor: StoredTensor, assignment: Assignment) -> Order:
        """The best order for a tensor, others as they are; row-major of equal ones."""
        shape = tensor_type(tensor.value).get_shape()
        options = dict.fromkeys((*orders(shape), assignment[tensor]))
        plain = row_major(len(shape))

        def price(order: Order) -> tuple[float, bool, bool]:
            tried = {**assignment, tensor: order}
            cost = sum(self._estimate(group, tried) for group in tensor.groups)
            return cost, order != plain, order != assignment[tensor]

        return min(options, key=price)

    def _total(self, assignment: Assignment) -> float:
        return sum(self._cost(group, assignment) for group in self._names)

    def _estimated(self, assignment: Assignment) -> float:
        return sum(self._estimate(group, assignment) for group in self._names)

    def _estimate(self, group: graph.GroupOp, assignment: Assignment) -> float:
        """The time with the tiles that are best as it is, or were all orders best."""
        around = [tensor for tensor, _ in self._names[group]]
        given = {tensor: self.fixed.get(tensor, tensor.order) for tensor in around}
        plans = self._plan(group, given), self._limit(group, given)
        known = [plan for plan in plans if plan is not None]
        best = self.costs.estimate(group, self._layouts(group, assignment), known)
        return 0 if best is None else _rank(best)

    def _cost(self, group: graph.GroupOp, assignment: Assignment) -> float:
        plan = self._plan(group, assignment)
        return 0 if plan is None else _rank(plan)

    def _plan(self, group: graph.GroupOp, assignment: Assignment) -> OuterPlan | None:
        return self.costs.plan(group, self._layouts(group, assignment))

    def _layouts(
        self, group: graph.GroupOp, assignment: Assignment
    ) -> Mapping[SSAValue, Order]:
        return {name: assignment[tensor] for tensor, name in self._names[group]}


def _rank(plan: OuterPlan) -> float:
    """Return the rank of a plan: its time, and to a small degree its traffic."""
    return plan.rank[0]
