"""
Pass `graph-assign-layouts`: assigns axis orders in the outermost memory to tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.prepack import is_preparation, preparation_of
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.planner.context import Memo, memo_of
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.fusion.remark_collector import RemarkCollector
from tlf.planner.layout.declared_layouts import (
    RequiredLayouts,
    preparation_layouts,
    required_layouts,
)
from tlf.planner.layout.layout_costs import KnownPlans, LayoutCosts
from tlf.planner.layout.layout_search import LayoutSearch
from tlf.planner.layout.stored_tensors import (
    StoredTensor,
    collect_stored_tensors,
    update_signature,
)
from tlf.planner.search_space import SearchSpace
from tlf.support.affine.axis_orders import Order


@dataclass(frozen=True)
class GraphAssignLayoutsPass(ModulePass):
    """
    Choose the order in which the axes of tensors lie in the outermost memory.

    That memory moves bursts. Of an image that is cut along its width a row is short,
    and its bursts carry what nobody needs; with the channels last, a row has them all.
    The order is a property of storage: operations and tilings keep the axes they have.

    Tensors that one group writes and others read get the order with which these take
    least time by the model of the level, each with the tiles that are best then. A
    group whose plan is the model's own gets a new one, other plans stay. Arguments and
    results lie as `tlf.layout` says; where it says `"any"`, as is best. Without it,
    weights lie as is best, others in row-major order. What others than groups read
    stays in row-major order.
    """

    name = "graph-assign-layouts"

    level: str | None = None
    """The memory level that tiles are brought to; the outermost one unless given."""

    sliding_window: bool = True
    """True if tiles may keep their overlap with the next one."""

    stages: int | None = None
    """The most iterations of loops over tiles in flight; unless given, what pays."""

    axes: tuple[int, ...] | None = None
    """The axes that tiles may cut, of the first result of a group; all unless given."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.assign_layouts(op, {}, memo_of(ctx))

    def assign_layouts(self, op: ModuleOp, known: KnownPlans, memo: Memo) -> None:
        """
        Choose layouts in a module; what is `known` of groups was learned from others by
        a pass with the same options.
        """
        target = TargetSpec.of(op)
        level = find_tile_level(target, self.level)
        timed = NpuEstimator.of(target, level, memo=memo)
        if timed is None or timed.is_nearest:
            return
        freedom = SearchSpace(self.sliding_window, self.stages, self.axes)
        costs = LayoutCosts(target, level, freedom, known, memo)
        notes = RemarkCollector(self.name)
        for function in op.walk():
            if not isinstance(function, func.FuncOp) or is_preparation(function):
                continue
            if len(function.body.blocks) != 1:
                continue
            preparation = preparation_of(function)
            _assign_function_layouts(function, required_layouts(function), costs, notes)
            if preparation is not None:
                wanted = preparation_layouts(preparation, function)
                _assign_function_layouts(preparation, wanted, costs, notes)
        notes.attach_remarks()


def _assign_function_layouts(
    function: func.FuncOp,
    wanted: RequiredLayouts,
    costs: LayoutCosts,
    notes: RemarkCollector,
) -> None:
    """
    Assign the required layouts of a function's tensors, and the cheapest ones to
    others.
    """
    tensors = list(collect_stored_tensors(function))
    _remark_unmet(function, wanted, tensors, notes)
    fixed = {
        tensor: order
        for tensor in tensors
        if (order := wanted.get(tensor.value)) is not None
    }
    free = [tensor for tensor in tensors if tensor not in fixed]
    costs.free = {value for value, order in wanted.items() if order is None}
    search = LayoutSearch(free, fixed, costs)
    found = search.find_best()
    for group, plan in search.plans_for(found).items():
        group.plan = plan
    for tensor, order in found.items():
        if order != tensor.axis_order:
            user = next(iter(tensor.groups), function)
            notes.add_remark(user, "passed", _describe_order(tensor, order))
            tensor.set_axis_order(order)
    update_signature(function)


def _remark_unmet(
    function: func.FuncOp,
    wanted: RequiredLayouts,
    tensors: Sequence[StoredTensor],
    notes: RemarkCollector,
) -> None:
    """Emit remarks on declared layouts that the program does not use."""
    known = {tensor.value for tensor in tensors}
    for value, order in wanted.items():
        if order and value not in known and list(order) != sorted(order):
            name = value.name_hint or "a value"
            text = f"{name} does not lie as declared: others than groups use it"
            notes.add_remark(function, "missed", text)


def _describe_order(tensor: StoredTensor, order: Order) -> str:
    name = tensor.value.name_hint or "a tensor"
    return f"the axes of {name} lie in the order {', '.join(map(str, order))}"
