"""See rows of images as one, where products are to cut them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.operations.bands import SystolicArray
from tlf.analysis.tiling.group import Members
from tlf.analysis.tiling.group_members import members_of_group
from tlf.dialects import graph
from tlf.dialects.prepared import is_preparation
from tlf.dialects.target import Target
from tlf.dialects.target.machine import machine_of
from tlf.dialects.types import tensor_type
from tlf.passes.plan.collapsing.pairs import Pairs
from tlf.passes.plan.collapsing.rebuild import CollapsedGroup
from tlf.passes.plan.collapsing.rows import has_whole_rows
from tlf.planner.context import Evaluator, evaluator_of
from tlf.planner.cost.npu.timed import is_timed
from tlf.planner.partition.tile_refinement import STEPS, is_small

CLOSE = 256
"""
Axes are one where a program takes at most one part in so many more time: tiles are
still to be chosen for the whole program, and there is more to gain then.
"""


@dataclass(frozen=True)
class GraphCollapseDimsPass(ModulePass):
    """
    Let groups see two neighbouring axes as one, as the rows of images, where a product
    then takes fewer passes of the matrix engine.

    All operations of the group must go along both axes together, element by element,
    and its inputs and results must lie in memory row by row, without gaps. They are
    seen with all elements along the first of the axes, and a single one along the
    other. Small programs are evaluated with and without.
    """

    name = "graph-collapse-dims"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        evaluator = evaluator_of(ctx, target, STEPS) if _is_small(op) else None
        if evaluator is None:
            collapse(op, target)
            return
        made = op.clone()
        if collapse(made, target) and _pays(evaluator, op.clone(), made):
            collapse(op, target)


def collapse(module: ModuleOp, target: Target) -> bool:
    """Collapse axes of all groups that may have them as one; whether any did."""
    array = SystolicArray.of(machine_of(target)) if is_timed(target) else None
    groups = [each for each in module.walk() if isinstance(each, graph.GroupOp)]
    if array is None:
        return False
    done = [_collapse(each, array) for each in groups if each.plan is None]
    return any(done)


def _is_small(module: ModuleOp) -> bool:
    """Return `True` if a program is small enough for trial lowering."""
    return is_small(
        each
        for function in module.ops
        if not is_preparation(function)
        for each in function.walk()
        if isinstance(each, graph.GroupOp)
    )


def _pays(evaluator: Evaluator, apart: ModuleOp, collapsed: ModuleOp) -> bool:
    """
    Return `True` if a program takes hardly longer with axes collapsed: tiles that fill
    the array may take more room, which others need.
    """
    before, after = map(evaluator.grouped_cycles, (apart, collapsed))
    if before is None or after is None:
        return before is None
    return after <= before + before // CLOSE


def _collapse(group: graph.GroupOp, array: SystolicArray) -> bool:
    """
    Collapse the first two axes of a group that may be one, and had better be; whether
    there are any.
    """
    members = members_of_group(group)
    shape = tensor_type(members.results[0]).get_shape()
    for axis in range(len(shape) - 1):
        if 1 in shape[axis : axis + 2]:
            continue
        pairs = Pairs.along(members, axis)
        if pairs is None or not pairs.gains(array):
            continue
        if (
            _lies_in_rows(group, members, pairs)
            and CollapsedGroup(group, pairs).replace()
        ):
            return True
    return False


def _lies_in_rows(group: graph.GroupOp, members: Members, pairs: Pairs) -> bool:
    """
    Return `True` if all inputs and results with the pair of axes lie in memory row by
    row.
    """
    inside = zip(group.body.block.args, group.inputs, strict=True)
    outside = [*inside, *zip(members.results, group.results, strict=True)]
    return all(
        has_whole_rows(value, pairs.axes[each])
        for each, value in outside
        if each in pairs.axes
    )
