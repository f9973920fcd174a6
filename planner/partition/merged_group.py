"""Planning of partitions: a copy of several groups merged into one, for estimates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.group_results import results_used_outside
from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface


class MergedGroup:
    """
    Group with the operations of several groups, in their order, and the views between
    them. Values that only these groups use are not results of it.
    """

    def __init__(
        self, operations: Sequence[Operation], op_facts: OpFactsCache | None = None
    ) -> None:
        self.forms = op_facts or OpFactsCache()
        self.inputs = _external_operands_of(operations)
        """Values from outside that the group reads."""
        self.results = results_used_outside(operations)
        """Results with other users, those of the last group first."""
        self.block = Block(arg_types=[value.type for value in self.inputs])
        values = dict[SSAValue, SSAValue](
            zip(self.inputs, self.block.args, strict=True)
        )
        for value, argument in values.items():
            argument.name_hint = value.name_hint
        for op in operations:
            if isinstance(op, graph.GroupOp):
                self._add_operations_of_group(op, values)
            else:
                self.block.add_op(op.clone(values))
        self.values = values
        """Value inside of the group for each outer value and result."""
        self.block.add_op(graph.YieldOp(*(values[each] for each in self.results)))

    def _add_operations_of_group(
        self, group: graph.GroupOp, inner_values: dict[SSAValue, SSAValue]
    ) -> None:
        """
        Clone the operations of `group` into the merged block, and map its results to
        clones in `inner_values`.
        """
        pairs = zip(group.body.block.args, group.inputs, strict=True)
        mapping = dict[SSAValue, SSAValue](
            (argument, inner_values[operand]) for argument, operand in pairs
        )
        for op in group.body.block.ops:
            if not isinstance(op, graph.YieldOp):
                self.block.add_op(op.clone(mapping))
        for result, value in zip(group.results, group.yielded_values, strict=True):
            inner_values[result] = mapping.get(value, value)

    @cached_property
    def group_members(self) -> GroupMembers:
        """Operations and results, as input of tiling."""
        operations = tuple(
            op for op in self.block.ops if isinstance(op, TilingInterface)
        )
        results = tuple(self.values[each] for each in self.results)
        return GroupMembers(operations, results, self.forms)

    def to_group_operation(self) -> graph.GroupOp:
        """Return the group as an operation, not inserted yet."""
        types = [value.type for value in self.results]
        return graph.GroupOp(self.inputs, types, self.block)


def _external_operands_of(operations: Sequence[Operation]) -> list[SSAValue]:
    results = {result for op in operations for result in op.results}
    operands = (operand for op in operations for operand in op.operands)
    return list(dict.fromkeys(each for each in operands if each not in results))
