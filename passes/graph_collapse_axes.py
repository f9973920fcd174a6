"""See rows of images as one, where products are to cut them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.target import Target
from tlf.dialects.types import tensor_type
from tlf.passes.bands import SystolicArray
from tlf.passes.collapsing.pairs import Pairs
from tlf.passes.collapsing.rebuild import CollapsedGroup
from tlf.passes.collapsing.rows import has_whole_rows
from tlf.passes.cost.machine import machine_of
from tlf.passes.cost.timed import is_timed
from tlf.passes.graph_choose_tiles import members_of_group
from tlf.passes.tiling.group import Members


@dataclass(frozen=True)
class GraphCollapseAxesPass(ModulePass):
    """
    Let groups see two neighbouring axes as one, as the rows of images, where a product
    then takes fewer passes of the matrix engine.

    All operations of the group must go along both axes together, element by element,
    and its inputs and results must lie in memory row by row, without gaps. They are
    seen with all elements along the first of the axes, and a single one along the
    other.
    """

    name = "graph-collapse-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = Target.of(op)
        if not is_timed(target):
            return
        array = SystolicArray.of(machine_of(target))
        if array is None:
            return
        for group in [each for each in op.walk() if isinstance(each, graph.GroupOp)]:
            if group.plan is None:
                _collapse(group, array)


def _collapse(group: graph.GroupOp, array: SystolicArray) -> None:
    """Collapse the first two axes of a group that may be one, and had better be."""
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
            return


def _lies_in_rows(group: graph.GroupOp, members: Members, pairs: Pairs) -> bool:
    """Whether all that comes and goes lies in memory row by row."""
    inside = zip(group.body.block.args, group.inputs, strict=True)
    outside = [*inside, *zip(members.results, group.results, strict=True)]
    return all(
        has_whole_rows(value, pairs.axes[each])
        for each, value in outside
        if each in pairs.axes
    )
