"""Copy what is joined with other tensors but made elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.tiling.group import Members
from tlf.dialects import graph
from tlf.dialects.identity import copy_for
from tlf.passes.plan.graph_group import build_group
from tlf.planner.context import memo_of
from tlf.planner.fusion.notes import Notes
from tlf.planner.layout.joined_room import crowded_operands
from tlf.planner.layout.joined_values import Copied, copied_operands


@dataclass(frozen=True)
class GraphMaterializeConcatOperandsPass(ModulePass):
    """
    Copy what operations outside of groups join with other tensors, unless it can be
    made in its place among them.

    What groups compute for one such operation alone is made there, and so is what is
    loaded from a farther memory. Arguments, constants, views, what is returned, and
    what is joined with several tensors get a copy: a group that permutes no axes.

    A group with a plan gets copies inside of it, of what it joins in the level of its
    tiles, all of it, and finds or leaves there. It does so where the level has no room
    for all that is joined from when the first part of it is made to the last use.
    """

    name = "graph-materialize-concat-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        notes = Notes(self.name)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            if block is None or isinstance(block.parent_op(), graph.GroupOp):
                continue
            for each in list(copied_operands(block)):
                copy = copy_for(each.op, each.number)
                build_group(Members((copy,), (copy.result,)))
                _tell(notes, each)
            for each in list(crowded_operands(block, op, memo_of(ctx))):
                copy_for(each.op, each.number)
                _tell(notes, each)
        notes.write()


def _tell(notes: Notes, copied: Copied) -> None:
    text = f"operand {copied.number} is copied: {copied.reason}"
    notes.add(copied.op, "missed", text)
