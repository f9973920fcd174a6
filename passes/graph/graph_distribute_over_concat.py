"""
Pass `graph-distribute-over-concat`: distributes operations over the concat operands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.graph.untiled_axes_operation import UntiledAxesOperation
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.located_rewriting import located_rewriter_at, replace_op
from tlf.dialects.reduction_combiner import build_combining_operation
from tlf.dialects.types import tensor_type
from tlf.passes.graph.pointwise import (
    is_pointwise,
    is_varying_along,
    rebuild_elementwise,
)
from tlf.passes.op_replacement import (
    is_in_planned_group,
    operations_between,
    replace_by_built_values,
)

NAME = "graph-distribute-over-concat"


@dataclass
class _ConcatSlices:
    """
    Values computed from a concatenated tensor, with a slice for each concat operand.
    """

    concat: graph.ConcatOp
    slices: dict[SSAValue, list[SSAValue]] = field(
        default_factory=dict[SSAValue, "list[SSAValue]"]
    )

    @property
    def axis(self) -> int:
        """The concat axis as a negative index: -1 is the last axis."""
        rank = len(tensor_type(self.concat.result).get_shape())
        return self.concat.axis.value.data - rank

    @property
    def concat_offsets(self) -> list[int]:
        """
        Offsets of the concat operands along the axis, then the total extent.
        """
        extents = (tensor_type(v).get_shape()[self.axis] for v in self.concat.inputs)
        return list(accumulate(extents, initial=0))

    def collect_splittable_users(self) -> list[Operation] | None:
        """
        Return the operations to split, in program order; None if any cannot be split.
        """
        values, users = list[SSAValue]([self.concat.result]), dict[Operation, None]()
        while values:
            for use in values.pop().uses:
                op = use.operation
                if op in users:
                    continue
                if not self._can_split_into_slices(op):
                    return None
                users[op] = None
                values += op.results if is_pointwise(op) else ()
        block = self.concat.parent
        assert block is not None
        return [op for op in block.ops if op in users]

    def _can_split_into_slices(self, op: Operation) -> bool:
        """
        Return `True` if `op` is pointwise, a reduction along the concat axis, or a
        slice of one concat operand, in the same block.
        """
        if op.parent is not self.concat.parent or is_in_planned_group(op):
            return False
        match op:
            case graph.ReduceOp():
                rank = len(tensor_type(op.operand).get_shape())
                return op.init_value is None and op.axis_list == (rank + self.axis,)
            case graph.SliceOp():
                return self._index_of_concat_operand_with_slice(op) is not None
            case _:
                return is_pointwise(op)

    def _index_of_concat_operand_with_slice(self, op: graph.SliceOp) -> int | None:
        """Return the index of the concat operand that contains a slice, if one does."""
        first = op.offsets.get_values()[self.axis]
        stride = op.strides.get_values()[self.axis]
        extent = tensor_type(op.result).get_shape()[self.axis]
        last = first + stride * (extent - 1)
        pairs = enumerate(pairwise(self.concat_offsets))
        return next((n for n, (a, b) in pairs if a <= first and last < b), None)

    def replace_user_by_slices(self, op: Operation) -> None:
        """
        Rebuild `op` on the slices: a reduction or slice is replaced, and the results of
        an elementwise operation become known slices.
        """
        builder = Builder(InsertPoint.before(op))
        before = op.prev_op
        match op:
            case graph.ReduceOp():
                result = self._rebuild_reduction_on_slices(op, builder)
            case graph.SliceOp():
                result = self._slice_of_concat_operand(op, builder)
            case _:
                result = None
                self._rebuild_elementwise_on_slices(op, builder)
        for new in operations_between(before, op):
            new.location = op.location
        if result is not None:
            result.name_hint = op.results[0].name_hint
            replace_op(op, [], [result])

    def _slices_of(self, value: SSAValue, builder: Builder) -> list[SSAValue]:
        """
        Return the known or newly built slices of `value`, one per concat operand;
        `value` for each if it does not vary along the axis.
        """
        if value in self.slices:
            return self.slices[value]
        shape = tensor_type(value).get_shape()
        count = len(self.concat_offsets) - 1
        if not is_varying_along(value, self.axis):
            return [value] * count
        slices: list[SSAValue] = []
        for first, last in pairwise(self.concat_offsets):
            offsets, sizes = [0] * len(shape), list(shape)
            offsets[self.axis], sizes[self.axis] = first, last - first
            slices.append(builder.insert(graph.SliceOp(value, offsets, sizes)).result)
        self.slices[value] = slices
        return slices

    def _rebuild_reduction_on_slices(
        self, op: graph.ReduceOp, builder: Builder
    ) -> SSAValue:
        """Build reduction `op` on each slice, and combine the partial results."""
        total: SSAValue | None = None
        for slice_ in self._slices_of(op.operand, builder):
            keeps = op.keepdims is not None
            partial = graph.ReduceOp(
                slice_,
                op.reduce_kind,
                op.axis_list,
                keeps,
                acc=op.properties.get("acc"),
                element=tensor_type(op.results[0]).element_type,
            )
            value = builder.insert(partial).results[0]
            if total is not None:
                value = builder.insert(
                    build_combining_operation(op, total, value)
                ).result
            total = value
        assert total is not None
        return total

    def _slice_of_concat_operand(self, op: graph.SliceOp, builder: Builder) -> SSAValue:
        """Build the slice `op` on the part of its operand that contains it."""
        number = self._index_of_concat_operand_with_slice(op)
        assert number is not None
        offsets = list(op.offsets.get_values())
        offsets[self.axis] -= self.concat_offsets[number]
        source = self._slices_of(op.operand, builder)[number]
        sizes, strides = tensor_type(op.result).get_shape(), op.strides.get_values()
        return builder.insert(graph.SliceOp(source, offsets, sizes, strides)).result

    def _rebuild_elementwise_on_slices(self, op: Operation, builder: Builder) -> None:
        """Build `op` on the slices of its operands; record those of its result."""
        assert isinstance(op, ElementwiseInterface)
        operands = [self._slices_of(each, builder) for each in op.operands]
        shape, slices = tensor_type(op.results[0]).get_shape(), list[SSAValue]()
        for inputs, (first, last) in zip(
            zip(*operands, strict=True), pairwise(self.concat_offsets), strict=True
        ):
            sizes = list(shape)
            sizes[self.axis] = last - first
            slices.append(rebuild_elementwise(op, inputs, sizes, builder))
        self.slices[op.results[0]] = slices


def _decompose_users_of_concat(concat: graph.ConcatOp) -> None:
    """
    Decompose the users of a concatenated tensor into elementwise operations and
    reductions.
    """
    pending, visited = list[SSAValue]([concat.result]), set[SSAValue]()
    while pending:
        value = pending.pop()
        visited.add(value)
        for user in [use.operation for use in value.uses]:
            if isinstance(user, UntiledAxesOperation) and not is_in_planned_group(user):
                replace_by_built_values(user, located_rewriter_at(user), user.decompose)
        users = [use.operation for use in value.uses if is_pointwise(use.operation)]
        pending += (r for user in users for r in user.results if r not in visited)


def distribute_users_over_concat(concat: graph.ConcatOp) -> bool:
    """
    Distribute the users of a concat over its operands, if possible for all of them.
    Return `True` on success.
    """
    _decompose_users_of_concat(concat)
    split = _ConcatSlices(concat, {concat.result: list(concat.inputs)})
    if not (users := split.collect_splittable_users()):
        return False
    for op in users:
        split.replace_user_by_slices(op)
    for op in (*reversed(users), concat):
        if op.parent is not None:
            Rewriter.erase_op(op)
    return True


def _distribute_over_concats_in_block(block: Block, last: Operation) -> None:
    """Distribute the users of concats computed per call, with remarks on `last`."""
    invariant = call_invariant_values_of(block)
    for joined in [each for each in block.ops if isinstance(each, graph.ConcatOp)]:
        count = len(joined.inputs)
        if (
            joined.result not in invariant
            and not is_in_planned_group(joined)
            and distribute_users_over_concat(joined)
        ):
            text = f"{count} concat operands are computed separately"
            graph.add_remark(last, NAME, "passed", text)


@dataclass(frozen=True)
class GraphDistributeOverConcatPass(ModulePass):
    """
    Distribute elementwise operations, reductions and slices over concat operands.

    A concatenation is removed if all of its users are elementwise operations that lead
    to reductions along the concat axis, or to slices of single concat operands: the
    maximum of concatenated rows is the maximum of the maxima of their slices. A softmax
    over scores and one further score, such as of an attention sink, then needs no
    longer rows. Sums are reassociated. Call-invariant concatenations, such as the
    biases of merged products, are kept.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        joining = [each for each in op.walk() if isinstance(each, graph.ConcatOp)]
        for block in dict.fromkeys(each.parent for each in joining):
            if block is not None and block.last_op is not None:
                _distribute_over_concats_in_block(block, block.last_op)
