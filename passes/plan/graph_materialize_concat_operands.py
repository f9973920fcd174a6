"""Pass `graph-materialize-concat-operands`: copies operands not built in place."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects import graph
from tlf.dialects.tensor_copies import insert_operand_copy
from tlf.passes.plan.graph_group import build_group
from tlf.planner.context import memo_of
from tlf.planner.fusion.remark_collector import RemarkCollector
from tlf.planner.layout.concat_capacity import operands_without_room
from tlf.planner.layout.concat_in_place import CopiedOperand, copied_operands


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
        notes = RemarkCollector(self.name)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            if block is None or isinstance(block.parent_op(), graph.GroupOp):
                continue
            for each in list(copied_operands(block)):
                copy = insert_operand_copy(each.op, each.number)
                build_group(GroupMembers((copy,), (copy.result,)))
                _remark_copy(notes, each)
            for each in list(operands_without_room(block, op, memo_of(ctx))):
                insert_operand_copy(each.op, each.number)
                _remark_copy(notes, each)
        notes.attach_remarks()


def _remark_copy(notes: RemarkCollector, copied: CopiedOperand) -> None:
    text = f"operand {copied.number} is copied: {copied.reason}"
    notes.add_remark(copied.op, "missed", text)
