"""Rebuilding of a group with two neighbouring axes of its values collapsed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from tlf.dialects import graph
from tlf.dialects.collapsing_interface import CollapsingInterface, collapsed_type
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.padding_interface import PaddingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.plan.collapsing.axis_pairs import AxisPairs
from tlf.support.affine.mixed_offsets import Index


class _CannotCollapseError(Exception):
    """An operation cannot be rebuilt on collapsed axes."""


class CollapsedGroup:
    """Builds a clone of a group on values whose pairs of axes are collapsed."""

    def __init__(self, group: graph.GroupOp, pairs: AxisPairs) -> None:
        self.group = group
        self.pairs = pairs
        self.body = Block()
        self.inputs: list[SSAValue] = []
        self.made: dict[SSAValue, SSAValue] = {}
        self.before: list[Operation] = []
        """Operations that compute the inputs."""

    def replace_group(self) -> bool:
        """Replace the group, unless it cannot be rebuilt."""
        try:
            self._build_body()
        except (_CannotCollapseError, VerifyException):
            return False
        yielded = [self.made[value] for value in self.group.yielded_values]
        self.body.add_op(graph.YieldOp(*yielded))
        made = graph.GroupOp(self.inputs, [each.type for each in yielded], self.body)
        made.location = self.group.location
        Rewriter.insert_op([*self.before, made], InsertPoint.before(self.group))
        results = map(self._view_as_before, made.results, self.group.results)
        replace_op(self.group, [], list(results))
        return True

    @staticmethod
    def _view_as_before(new: SSAValue, old: SSAValue) -> SSAValue:
        """Reshape a result as the users of the group expect it."""
        new.name_hint = old.name_hint
        if new.type == old.type:
            return new
        view = graph.ReshapeOp.create(operands=[new], result_types=[old.type])
        owner = new.owner
        assert isinstance(owner, Operation)
        Rewriter.insert_op(view, InsertPoint.after(owner))
        return view.result

    def _build_body(self) -> None:
        inputs = zip(self.group.body.block.args, self.group.inputs, strict=True)
        for argument, value in inputs:
            if (axis := self.pairs.axes.get(argument)) is not None:
                type_ = self._collapse_type(argument, axis)
                view = graph.ReshapeOp.create(operands=[value], result_types=[type_])
                self.before.append(view)
                value = view.result
            self.made[argument] = self._add_argument(value, argument.name_hint)
        for op in self.pairs.members.operations:
            made = self._rebuild_operation(op)
            made.location = op.location
            made.verify()
            self.body.add_op(made)
            for old, new in zip(op.results, made.results, strict=True):
                new.name_hint = old.name_hint
                self.made[old] = new
        self._erase_unused_arguments()

    def _erase_unused_arguments(self) -> None:
        """Erase the arguments that were only needed to compute other inputs."""
        for number, argument in reversed(list(enumerate(self.body.args))):
            if not argument.uses:
                self.body.erase_arg(argument)
                del self.inputs[number]

    def _add_argument(self, value: SSAValue, hint: str | None) -> SSAValue:
        """Return the block argument of the body for a new input."""
        self.inputs.append(value)
        made = self.body.insert_arg(value.type, len(self.body.args))
        made.name_hint = hint
        return made

    def _collapse_type(self, value: SSAValue, axis: int) -> TensorType[Attribute]:
        if (type_ := collapsed_type(tensor_type(value), axis)) is None:
            raise _CannotCollapseError
        return type_

    def _rebuild_operation(self, op: TilingInterface) -> Operation:
        operands = [self.made[operand] for operand in op.operands]
        if op not in self.pairs.iterators:
            return op.tiled_implementation(operands, op.result_types)
        types: list[Attribute] = [
            self._collapse_type(each, self.pairs.axes[each]) for each in op.results
        ]
        if isinstance(op, CollapsingInterface):
            axis = self.pairs.axes[op.results[0]]
            made = op.collapsed_implementation(operands, axis, self._scale_index)
            if made is None:
                raise _CannotCollapseError
            return made
        if isinstance(op, PaddingInterface):
            return op.padded_tiled_implementation(operands, types, self._padding_of(op))
        return op.tiled_implementation(operands, types)

    def _padding_of(self, op: PaddingInterface) -> Sequence[tuple[int, int]]:
        """
        Return the padding of the first operand per axis: the number of elements before
        and behind its own.
        """
        shape = tensor_type(op.operands[0]).get_shape()
        found = [(0, 0)] * len(shape)
        if (axis := self.pairs.axes.get(op.operands[0])) is None:
            raise _CannotCollapseError
        access = (op.indexing_maps()[0] or ())[axis]
        rows = op.iteration_domain()[self.pairs.iterators[op][0]].extent
        before = -access.offset
        found[axis] = (
            before * shape[axis + 1],
            (rows - before - shape[axis]) * shape[axis + 1],
        )
        return found

    def _scale_index(self, index: Index, factor: int) -> Index:
        """Return an index that is an input of the body, times a number."""
        if isinstance(index, int):
            return index * factor
        number = list[SSAValue](self.body.args).index(index)
        product = AffineMapAttr(AffineMap(1, 0, (AffineExpr.dimension(0) * factor,)))
        made = ApplyOp([self.inputs[number]], product)
        self.before.append(made)
        return self._add_argument(made.result, index.name_hint)
