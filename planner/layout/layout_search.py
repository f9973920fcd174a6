"""Search for the layouts of stored tensors that minimize the time of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.outer_plan import OuterPlan
from tlf.planner.layout.layout_costs import LayoutCosts
from tlf.planner.layout.stored_tensors import StoredTensor
from tlf.planner.settings.search_budgets import PARTITION
from tlf.support.affine.axis_orders import (
    Order,
    candidate_axis_orders,
    order_with_axis_last,
    row_major_order,
)

Assignment: TypeAlias = dict[StoredTensor, Order]


@dataclass
class LayoutSearch:
    """
    Local search from several start assignments: the given layouts, and one axis last in
    all tensors of a rank. It changes one tensor after the other while that reduces the
    cost, estimated with the plans of the groups and those for the best layouts. The
    result is compared with the best plans. The layouts of some tensors are fixed.
    """

    tensors: Sequence[StoredTensor]
    fixed_orders: Assignment
    layout_costs: LayoutCosts
    _tensors_by_group: dict[graph.GroupOp, list[tuple[StoredTensor, SSAValue]]] = field(
        default_factory=dict[graph.GroupOp, list[tuple[StoredTensor, SSAValue]]]
    )

    def __post_init__(self) -> None:
        for tensor in (*self.tensors, *self.fixed_orders):
            for group in tensor.groups:
                group_values = {*group.body.block.args, *group.yielded_values}
                self._tensors_by_group.setdefault(group, []).extend(
                    (tensor, name)
                    for name in tensor.denoting_values
                    if name in group_values
                )

    def find_best(self) -> Assignment:
        """
        Return the axis order of every tensor, fixed ones too; changed from the current
        one only for tensors that gain from it.
        """
        current = {
            tensor: tensor.axis_order for tensor in self.tensors
        } | self.fixed_orders
        self.tensors = [
            each for each in self.tensors if self._can_gain_from_layout(each, current)
        ]
        if not self.tensors:
            return current
        candidate = min(
            map(self._improve_assignment, self._start_assignments(current)),
            key=self._estimate_total_time,
        )
        min_gain = PARTITION.layout_gain * self._total_cost(current)
        return (
            candidate
            if self._total_cost(current) - self._total_cost(candidate) > min_gain
            else current
        )

    def plans_to_replace(
        self, assignment: Assignment
    ) -> dict[graph.GroupOp, graph.PlanAttr]:
        """
        Return the plans of groups that need another plan with the assignment and may
        get one.
        """
        plans: dict[graph.GroupOp, graph.PlanAttr] = {}
        for group, names in self._tensors_by_group.items():
            changed = any(
                assignment[tensor] != tensor.axis_order for tensor, _ in names
            )
            plan = self._plan_of_group(group, assignment)
            if plan is None or not self.layout_costs.can_replan(group):
                continue
            if changed or self._has_unfulfilled_layouts(group, assignment, plan):
                plans[group] = plan.to_plan_attribute(self.layout_costs.level.name)
        return plans

    def _has_unfulfilled_layouts(
        self, group: graph.GroupOp, assignment: Assignment, plan: OuterPlan
    ) -> bool:
        """
        Return `True` if the plan of a group relied on axis orders that the assignment
        does not have.
        """
        own = self.layout_costs.plan_if_model_own(
            group, self._layouts_of_group(group, assignment)
        )
        return (
            own is not None and _rank_of(own) > _rank_of(plan) * PARTITION.layout_ratio
        )

    def _can_gain_from_layout(
        self, tensor: StoredTensor, initial_assignment: Assignment
    ) -> bool:
        """
        Return `True` if a group that uses a tensor takes longer than with the best axis
        order for each transfer.
        """
        return any(
            (plan := self._plan_of_group(group, initial_assignment)) is not None
            and (limit := self._unconstrained_plan(group, initial_assignment))
            is not None
            and _rank_of(plan) > _rank_of(limit) * (1 + PARTITION.layout_gain)
            for group in tensor.groups
        )

    def _unconstrained_plan(
        self, group: graph.GroupOp, initial_assignment: Assignment
    ) -> OuterPlan | None:
        """
        Return the plan of a group with the best axis order of all tensors that are not
        fixed.
        """
        names = self._tensors_by_group[group]
        free = frozenset(
            name for tensor, name in names if tensor not in self.fixed_orders
        )
        return self.layout_costs.best_plan_any_layout(
            group, self._layouts_of_group(group, initial_assignment), free
        )

    def _start_assignments(
        self, initial_assignment: Assignment
    ) -> Iterator[Assignment]:
        """
        Yield the initial assignment, then for each rank those with one axis last in all
        its tensors with several elements there.
        """
        yield initial_assignment
        shapes = {
            tensor: tensor_type(tensor.value).get_shape() for tensor in self.tensors
        }
        for rank in sorted({len(shape) for shape in shapes.values()}):
            for last in range(rank - 1):
                yield initial_assignment | {
                    tensor: order_with_axis_last(last, rank)
                    for tensor, shape in shapes.items()
                    if len(shape) == rank and shape[last] > 1
                }

    def _improve_assignment(self, assignment: Assignment) -> Assignment:
        """
        Return the assignment after all changes of one tensor that reduce the cost.
        """
        changed = True
        while changed:
            changed = False
            for tensor in self.tensors:
                best_order = self._best_axis_order(tensor, assignment)
                changed = changed or best_order != assignment[tensor]
                assignment = {**assignment, tensor: best_order}
        return assignment

    def _best_axis_order(self, tensor: StoredTensor, assignment: Assignment) -> Order:
        """
        Return the best axis order of a tensor, with the others unchanged; row-major
        among equals.
        """
        shape = tensor_type(tensor.value).get_shape()
        options = dict.fromkeys((*candidate_axis_orders(shape), assignment[tensor]))
        default_order = row_major_order(len(shape))

        def cost_of_order(order: Order) -> tuple[float, bool, bool]:
            candidate = {**assignment, tensor: order}
            cost = sum(
                self._estimate_group_time(group, candidate) for group in tensor.groups
            )
            return cost, order != default_order, order != assignment[tensor]

        return min(options, key=cost_of_order)

    def _total_cost(self, assignment: Assignment) -> float:
        return sum(
            self._cost_of_group(group, assignment) for group in self._tensors_by_group
        )

    def _estimate_total_time(self, assignment: Assignment) -> float:
        """
        Return the sum of the estimated times of all groups, with plans for current or
        best layouts only.
        """
        return sum(
            self._estimate_group_time(group, assignment)
            for group in self._tensors_by_group
        )

    def _estimate_group_time(
        self, group: graph.GroupOp, assignment: Assignment
    ) -> float:
        """
        Return the time with the best of two plans: the plan for the current layouts,
        and the plan for the best layouts.
        """
        tensors = [tensor for tensor, _ in self._tensors_by_group[group]]
        current = {
            tensor: self.fixed_orders.get(tensor, tensor.axis_order)
            for tensor in tensors
        }
        plans = (
            self._plan_of_group(group, current),
            self._unconstrained_plan(group, current),
        )
        legal_plans = [plan for plan in plans if plan is not None]
        best = self.layout_costs.select_best_plan(
            group, self._layouts_of_group(group, assignment), legal_plans
        )
        return 0 if best is None else _rank_of(best)

    def _cost_of_group(self, group: graph.GroupOp, assignment: Assignment) -> float:
        plan = self._plan_of_group(group, assignment)
        return 0 if plan is None else _rank_of(plan)

    def _plan_of_group(
        self, group: graph.GroupOp, assignment: Assignment
    ) -> OuterPlan | None:
        return self.layout_costs.best_plan(
            group, self._layouts_of_group(group, assignment)
        )

    def _layouts_of_group(
        self, group: graph.GroupOp, assignment: Assignment
    ) -> Mapping[SSAValue, Order]:
        return {
            name: assignment[tensor] for tensor, name in self._tensors_by_group[group]
        }


def _rank_of(plan: OuterPlan) -> float:
    """Return the rank of a plan: its time, plus a small fraction of its traffic."""
    return plan.rank[0]
