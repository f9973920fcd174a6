"""
Pass `graph-collapse-dims`: collapses rows of images to fill the matrix engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.operations.banded_matmul import SystolicArray
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.npu_machine import build_npu_machine
from tlf.dialects.types import tensor_type
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.passes.plan.collapsing.axis_pairs import AxisPairs
from tlf.passes.plan.collapsing.collapsed_group import CollapsedGroup
from tlf.passes.plan.collapsing.row_contiguity import has_contiguous_rows
from tlf.planner.context import Evaluator, evaluator_of
from tlf.planner.cost.npu.npu_estimator import has_timing_model
from tlf.planner.partition.tile_refinement import is_small_program
from tlf.planner.settings.search_budgets import PARTITION, REFINEMENT


@dataclass(frozen=True)
class GraphCollapseDimsPass(ModulePass):
    """
    Collapse two adjacent axes of the tensors of a group, such as rows of images, if a
    contraction then takes fewer passes of the matrix engine.

    All operations of the group must access both axes elementwise, and its inputs and
    results must have contiguous rows in memory. The collapsed tensors have all elements
    along the first axis, and the second axis becomes a unit axis. Small programs are
    evaluated with and without collapsed axes.
    """

    name = "graph-collapse-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = TargetSpec.read_from_module(op)
        evaluator = (
            evaluator_of(ctx, target, REFINEMENT.tile_instructions)
            if _is_small_enough_for_lowering(op)
            else None
        )
        if evaluator is None:
            collapse_dims_of_groups(op, target)
            return
        collapsed = op.clone()
        if collapse_dims_of_groups(collapsed, target) and _is_collapsing_profitable(
            evaluator, op.clone(), collapsed
        ):
            collapse_dims_of_groups(op, target)


def collapse_dims_of_groups(module: ModuleOp, target: TargetSpec) -> bool:
    """
    Collapse axes of groups without plans where that pays. Return `True` on changes.
    """
    array = (
        SystolicArray.of(build_npu_machine(target))
        if has_timing_model(target)
        else None
    )
    groups = [each for each in module.walk() if isinstance(each, graph.GroupOp)]
    if array is None:
        return False
    changes = [
        _collapse_dims_of_group(each, array) for each in groups if each.plan is None
    ]
    return any(changes)


def _is_small_enough_for_lowering(module: ModuleOp) -> bool:
    """Return `True` if a program is small enough for trial lowering."""
    return is_small_program(
        each
        for function in module.ops
        if not is_preparation_function(function)
        for each in function.walk()
        if isinstance(each, graph.GroupOp)
    )


def _is_collapsing_profitable(
    evaluator: Evaluator, uncollapsed: ModuleOp, collapsed: ModuleOp
) -> bool:
    """
    Return `True` if a program is not significantly slower with collapsed axes: tiles
    that fill the matrix engine may take memory that other groups need.
    """
    before, after = map(evaluator.evaluate_innermost_groups, (uncollapsed, collapsed))
    if before is None or after is None:
        return before is None
    return after <= before + before // PARTITION.collapse_divisor


def _collapse_dims_of_group(group: graph.GroupOp, array: SystolicArray) -> bool:
    """
    Collapse the first pair of axes of a group for which that pays. Return `True` if
    there is one.
    """
    members = members_of_group_op(group)
    shape = tensor_type(members.results[0]).get_shape()
    for axis in range(len(shape) - 1):
        if 1 in shape[axis : axis + 2]:
            continue
        pairs = AxisPairs.propagate_from_axis(members, axis)
        if pairs is None or not pairs.has_fewer_matrix_engine_passes(array):
            continue
        if (
            _has_contiguous_inputs_and_results(group, members, pairs)
            and CollapsedGroup(group, pairs).replace_group_by_collapsed()
        ):
            return True
    return False


def _has_contiguous_inputs_and_results(
    group: graph.GroupOp, members: GroupMembers, pairs: AxisPairs
) -> bool:
    """
    Return `True` if all inputs and results with the pair of axes have contiguous rows.
    """
    inputs = zip(group.body.block.args, group.inputs, strict=True)
    values = [*inputs, *zip(members.results, group.results, strict=True)]
    return all(
        has_contiguous_rows(value, pairs.axes[each])
        for each, value in values
        if each in pairs.axes
    )
