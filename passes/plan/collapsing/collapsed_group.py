"""
Rewrite of the pass `graph-collapse-dims`: rebuilding of a group with two adjacent axes
of its values collapsed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from tlf.dialects import graph
from tlf.dialects.collapsing_interface import (
    AxisCollapsingInterface,
    collapse_axes_of_type,
)
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.mixed_offsets import Index
from tlf.dialects.padding_interface import PaddingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.plan.collapsing.axis_pairs import AxisPairs


class _CannotCollapseError(Exception):
    """Error raised if an operation cannot be rebuilt on collapsed axes."""


class CollapsedGroup:
    """Builder of a clone of a group on values with collapsed axis pairs."""

    def __init__(self, group: graph.GroupOp, pairs: AxisPairs) -> None:
        self.group = group
        self.pairs = pairs
        self.body = Block()
        self.inputs: list[SSAValue] = []
        self.made: dict[SSAValue, SSAValue] = {}
        self.before: list[Operation] = []
        """Operations before the group that compute its inputs."""

    def replace_group_by_collapsed(self) -> bool:
        """
        Replace the group by a new one on collapsed axes. Return `False`, and keep the
        group, if it cannot be rebuilt.
        """
        try:
            self._build_collapsed_body()
        except (_CannotCollapseError, VerifyException):
            return False
        yielded = [self.made[value] for value in self.group.yielded_values]
        self.body.add_op(graph.YieldOp(*yielded))
        collapsed = graph.GroupOp(
            self.inputs, [each.type for each in yielded], self.body
        )
        collapsed.location = self.group.location
        Rewriter.insert_op([*self.before, collapsed], InsertPoint.before(self.group))
        results = map(
            self._reshape_to_original_type, collapsed.results, self.group.results
        )
        replace_op(self.group, [], list(results))
        return True

    @staticmethod
    def _reshape_to_original_type(collapsed: SSAValue, original: SSAValue) -> SSAValue:
        """
        Insert a reshape of `collapsed` to the type of `original` if it differs, and
        return the value of that type.
        """
        collapsed.name_hint = original.name_hint
        if collapsed.type == original.type:
            return collapsed
        view = graph.ReshapeOp.create(
            operands=[collapsed], result_types=[original.type]
        )
        owner = collapsed.owner
        assert isinstance(owner, Operation)
        Rewriter.insert_op(view, InsertPoint.after(owner))
        return view.result

    def _build_collapsed_body(self) -> None:
        """Rebuild the group's operations in `body`, on inputs reshaped before it."""
        inputs = zip(self.group.body.block.args, self.group.inputs, strict=True)
        for argument, value in inputs:
            if (axis := self.pairs.axes.get(argument)) is not None:
                type_ = self._collapse_axes_of_type(argument, axis)
                view = graph.ReshapeOp.create(operands=[value], result_types=[type_])
                self.before.append(view)
                value = view.result
            self.made[argument] = self._add_group_input(value, argument.name_hint)
        for op in self.pairs.members.operations:
            rebuilt = self._rebuild_on_collapsed_axes(op)
            rebuilt.location = op.location
            rebuilt.verify()
            self.body.add_op(rebuilt)
            for old, new in zip(op.results, rebuilt.results, strict=True):
                new.name_hint = old.name_hint
                self.made[old] = new
        self._erase_unused_arguments()

    def _erase_unused_arguments(self) -> None:
        """
        Erase unused block arguments of the new body, and their inputs of the new group.
        """
        for index, argument in reversed(list(enumerate(self.body.args))):
            if not argument.uses:
                self.body.erase_arg(argument)
                del self.inputs[index]

    def _add_group_input(self, value: SSAValue, name_hint: str | None) -> SSAValue:
        """Append an input for the new group, and return its new block argument."""
        self.inputs.append(value)
        argument = self.body.insert_arg(value.type, len(self.body.args))
        argument.name_hint = name_hint
        return argument

    def _collapse_axes_of_type(
        self, value: SSAValue, axis: int
    ) -> TensorType[Attribute]:
        if (type_ := collapse_axes_of_type(tensor_type(value), axis)) is None:
            raise _CannotCollapseError
        return type_

    def _rebuild_on_collapsed_axes(self, op: TilingInterface) -> Operation:
        """Rebuild `op` on collapsed axes; raise `_CannotCollapseError` on failure."""
        operands = [self.made[operand] for operand in op.operands]
        if op not in self.pairs.iterators:
            return op.tiled_implementation(operands, op.result_types)
        types: list[Attribute] = [
            self._collapse_axes_of_type(each, self.pairs.axes[each])
            for each in op.results
        ]
        if isinstance(op, AxisCollapsingInterface):
            axis = self.pairs.axes[op.results[0]]
            rebuilt = op.collapsed_implementation(operands, axis, self._multiply_index)
            if rebuilt is None:
                raise _CannotCollapseError
            return rebuilt
        if isinstance(op, PaddingInterface):
            return op.padded_tiled_implementation(
                operands, types, self._padding_of_first_operand(op)
            )
        return op.tiled_implementation(operands, types)

    def _padding_of_first_operand(
        self, op: PaddingInterface
    ) -> Sequence[tuple[int, int]]:
        """
        Return the padding of the first operand, as the number of elements before and
        after each axis.
        """
        shape = tensor_type(op.operands[0]).get_shape()
        padding = [(0, 0)] * len(shape)
        if (axis := self.pairs.axes.get(op.operands[0])) is None:
            raise _CannotCollapseError
        access = (op.indexing_maps()[0] or ())[axis]
        rows = op.iteration_domain()[self.pairs.iterators[op][0]].extent
        before = -access.offset
        padding[axis] = (
            before * shape[axis + 1],
            (rows - before - shape[axis]) * shape[axis + 1],
        )
        return padding

    def _multiply_index(self, index: Index, factor: int) -> Index:
        """Return an index times a factor, as a new input if the index is an input."""
        if isinstance(index, int):
            return index * factor
        position = list[SSAValue](self.body.args).index(index)
        product = AffineMapAttr(AffineMap(1, 0, (AffineExpr.dimension(0) * factor,)))
        scaled = ApplyOp([self.inputs[position]], product)
        self.before.append(scaled)
        return self._add_group_input(scaled.result, index.name_hint)
