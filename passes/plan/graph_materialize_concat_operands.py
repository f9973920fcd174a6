"""Pass `graph-materialize-concat-operands`: copies operands not computed in place."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.dialects import graph
from tlf.dialects.tensor_copies import insert_operand_copy
from tlf.passes.plan.graph_group import move_operations_into_group
from tlf.passes.remark_attributes import attach_remarks
from tlf.planner.context import memo_of
from tlf.planner.fusion.remark_collector import RemarkCollector
from tlf.planner.layout.concat_capacity import concat_operands_without_room
from tlf.planner.layout.concat_in_place import CopiedOperand, copied_concat_operands


@dataclass(frozen=True)
class GraphMaterializeConcatOperandsPass(ModulePass):
    """
    Copy concat operands that cannot be computed in place in the concatenated buffer.

    Tensors that a group computes for a single concatenation outside of groups are
    written in place, as are loads from an outer level. Arguments, constants, views,
    returned tensors, and operands of several concatenations are copied by a group that
    permutes no axes.

    In a group with a plan, whole operands that are resident or retained in the level of
    its tiles are copied inside of the group, if the level has no room for the
    concatenated buffer from the computation of its first slice to its last use.
    """

    name = "graph-materialize-concat-operands"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks = RemarkCollector(self.name)
        for block in dict.fromkeys(each.parent for each in op.walk()):
            if block is None or isinstance(block.parent_op(), graph.GroupOp):
                continue
            for each in list(copied_concat_operands(block)):
                copy = insert_operand_copy(each.op, each.operand_index)
                move_operations_into_group(GroupMembers((copy,), (copy.result,)))
                _remark_copied_operand(remarks, each)
            for each in list(concat_operands_without_room(block, op, memo_of(ctx))):
                insert_operand_copy(each.op, each.operand_index)
                _remark_copied_operand(remarks, each)
        attach_remarks(remarks)


def _remark_copied_operand(
    remark_collector: RemarkCollector, copied: CopiedOperand
) -> None:
    text = f"operand {copied.operand_index} is copied: {copied.reason}"
    remark_collector.add_remark(copied.op, "missed", text)
