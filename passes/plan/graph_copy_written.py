"""
Pass `graph-copy-written`: copies destinations of indexed writes that must be preserved.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.dialects.graph import GroupOp
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import splat_attribute_of
from tlf.dialects.tensor_copies import insert_operand_copy
from tlf.passes.remark_attributes import attach_remarks
from tlf.planner.fusion.remark_collector import RemarkCollector
from tlf.planner.layout.concat_in_place import in_place_objection

HAS_OTHER_USERS = "it has other users"
IS_CONSTANT = "it is a constant"


@dataclass(frozen=True)
class GraphCopyWrittenPass(ModulePass):
    """
    Copy the destinations of indexed writes outside of groups, unless the destination is
    computed in the block and has no other uses.

    Arguments, constants that are not splat, views, and tensors that are returned,
    reshaped or used by other operations are copied, by a transpose that permutes no
    axes.
    """

    name = "graph-copy-written"

    constants: bool = False
    """
    Copy splat constants too, for targets that write them by the kernels of groups.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remarks = RemarkCollector(self.name)
        for each in list(op.walk()):
            if not isinstance(each, IndexedWriteInterface):
                continue
            if isinstance(each.parent_op(), GroupOp):
                continue
            if (reason := self._reason_not_overwritable(each)) is not None:
                insert_operand_copy(each, 0)
                remarks.add_remark(
                    each, "missed", f"its destination is copied: {reason}"
                )
        attach_remarks(remarks)

    def _reason_not_overwritable(self, op: IndexedWriteInterface) -> str | None:
        """
        Return the reason why an operation cannot overwrite its destination operand;
        None if it can.
        """
        value: SSAValue = op.operands[0]
        if value.uses.get_length() > 1:
            return HAS_OTHER_USERS
        owner, block = value.owner, op.parent
        if splat_attribute_of(value) is not None:
            return IS_CONSTANT if self.constants else None
        if isinstance(owner, Operation) and isinstance(owner, IndexedWriteInterface):
            return None
        assert block is not None
        return in_place_objection(value, block)
