"""
Pass `graph-assign-layouts`: assigns layouts in the outermost memory to tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tlf.dialects.encoding_attribute import with_axis_order
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.dialects.types import tensor_type
from tlf.dialects.weight_preparation_attributes import (
    is_preparation_function,
    preparation_function_of,
)
from tlf.passes.remark_attributes import attach_remarks
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
)
from tlf.planner.search_space import SearchSpace
from tlf.support.affine.axis_orders import Order


@dataclass(frozen=True)
class GraphAssignLayoutsPass(ModulePass):
    """
    Assign tensors a layout: the order of their axes in the outermost memory.

    This memory moves whole bursts. If an image is tiled along its width, its rows are
    short, and bursts contain unused bytes; with the channels last, rows are longer. The
    layout is a property of storage: operations and tilings keep their axes.

    Tensors between groups get the layout for which the cost model of the level
    estimates the least time of these groups, each with the best tile sizes for this
    layout. Plans that the cost model selected are replaced; other plans are kept.
    Arguments and results have the layout of their `tlf.layout` attribute, or the best
    one for `"any"`. Without the attribute, weights get the best layout, and other
    arguments and results the row-major one. Tensors that operations outside of groups
    read are row-major.
    """

    name = "graph-assign-layouts"

    level: str | None = None
    """Memory level of the tiles; the outermost tile level by default."""

    sliding_window: bool = True
    """True if elements that consecutive tiles share may remain in a sliding window."""

    stages: int | None = None
    """Maximum number of iterations in flight; selected by the cost model by default."""

    axes: tuple[int, ...] | None = None
    """Axes of the first result of a group that may be tiled; all by default."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.assign_layouts_in_module(op, {}, memo_of(ctx))

    def assign_layouts_in_module(
        self, op: ModuleOp, known_plans: KnownPlans, memo: Memo
    ) -> None:
        """
        Assign layouts in a module. `known` caches plans of groups across modules, for
        passes with the same options.
        """
        target = TargetSpec.read_from_module(op)
        level = find_tile_level(target, self.level)
        estimator = NpuEstimator.create_for_level(target, level, memo=memo)
        if estimator is None or estimator.is_nearest:
            return
        search_space = SearchSpace(self.sliding_window, self.stages, self.axes)
        costs = LayoutCosts(target, level, search_space, known_plans, memo)
        remarks = RemarkCollector(self.name)
        for function in op.walk():
            if not isinstance(function, func.FuncOp) or is_preparation_function(
                function
            ):
                continue
            if len(function.body.blocks) != 1:
                continue
            preparation = preparation_function_of(function)
            _assign_layouts_in_function(
                function, required_layouts(function), costs, remarks
            )
            if preparation is not None:
                required = preparation_layouts(preparation, function)
                _assign_layouts_in_function(preparation, required, costs, remarks)
        attach_remarks(remarks)


def _assign_layouts_in_function(
    function: func.FuncOp,
    declared_layouts: RequiredLayouts,
    costs: LayoutCosts,
    remark_collector: RemarkCollector,
) -> None:
    """
    Assign the required layouts to tensors of a function, and the cheapest layouts to
    the other tensors.
    """
    tensors = list(collect_stored_tensors(function))
    _remark_unused_layouts(function, declared_layouts, tensors, remark_collector)
    fixed = {
        tensor: order
        for tensor in tensors
        if (order := declared_layouts.get(tensor.value)) is not None
    }
    free = [tensor for tensor in tensors if tensor not in fixed]
    costs.free = {value for value, order in declared_layouts.items() if order is None}
    search = LayoutSearch(free, fixed, costs)
    orders = search.find_best()
    for group, plan in search.plans_to_replace(orders).items():
        group.plan = plan
    for tensor, order in orders.items():
        if order != tensor.axis_order:
            user = next(iter(tensor.groups), function)
            remark_collector.add_remark(
                user, "passed", _describe_axis_order(tensor, order)
            )
            set_axis_order(tensor, order)
    update_function_type(function)


def _remark_unused_layouts(
    function: func.FuncOp,
    declared_layouts: RequiredLayouts,
    tensors: Sequence[StoredTensor],
    remark_collector: RemarkCollector,
) -> None:
    """Emit remarks on declared layouts that the program does not use."""
    stored = {tensor.value for tensor in tensors}
    for value, order in declared_layouts.items():
        if order and value not in stored and list(order) != sorted(order):
            name = value.name_hint or "a value"
            text = (
                f"{name} does not have the declared layout: operations outside of "
                "groups use it"
            )
            remark_collector.add_remark(function, "missed", text)


def _describe_axis_order(tensor: StoredTensor, order: Order) -> str:
    name = tensor.value.name_hint or "a tensor"
    return f"the axes of {name} are stored in the order {', '.join(map(str, order))}"


def set_axis_order(tensor: StoredTensor, order: Sequence[int]) -> None:
    """Set the axis order of a stored tensor in memory."""
    for name in tensor.denoting_values:
        type_ = with_axis_order(tensor_type(name), order)
        Rewriter.replace_value_with_new_type(name, type_)


def update_function_type(function: func.FuncOp) -> None:
    """
    Update the type of a function to the types of its arguments and returned values.
    """
    returned = function.body.block.last_op
    outputs: list[Attribute] = list(function.function_type.outputs)
    if isinstance(returned, func.ReturnOp):
        outputs = [value.type for value in returned.arguments]
    inputs = [argument.type for argument in function.args]
    function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
