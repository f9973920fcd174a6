"""Computing with tensors one by one that are joined only to be reduced or cut again."""

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
from tlf.dialects.combining import combined
from tlf.dialects.graph.whole_axes import WholeAxesOperation
from tlf.dialects.interfaces import ElementwiseInterface
from tlf.dialects.invariants import invariant_values
from tlf.dialects.replacement import between, is_planned, replace_by_program
from tlf.dialects.rewriting import replace_op, rewriter_at
from tlf.dialects.types import tensor_type
from tlf.passes.graph.pointwise import computed, is_pointwise, varies_along

NAME = "graph-distribute-over-concat"


@dataclass
class _Parts:
    """Values computed from a concatenated tensor, split by its operands."""

    joined: graph.ConcatOp
    values: dict[SSAValue, list[SSAValue]] = field(
        default_factory=dict[SSAValue, "list[SSAValue]"]
    )

    @property
    def axis(self) -> int:
        """The axis of the parts, counted from the last one, which is -1."""
        rank = len(tensor_type(self.joined.result).get_shape())
        return self.joined.axis.value.data - rank

    @property
    def ends(self) -> list[int]:
        """
        Offsets of the concat operands along the axis, and the end of the last one.
        """
        extents = (tensor_type(v).get_shape()[self.axis] for v in self.joined.inputs)
        return list(accumulate(extents, initial=0))

    def users(self) -> list[Operation] | None:
        """
        Return the operations to split, in program order; None if one cannot be split.
        """
        values, found = list[SSAValue]([self.joined.result]), dict[Operation, None]()
        while values:
            for use in values.pop().uses:
                op = use.operation
                if op in found:
                    continue
                if not self._is_splittable(op):
                    return None
                found[op] = None
                values += op.results if is_pointwise(op) else ()
        block = self.joined.parent
        assert block is not None
        return [op for op in block.ops if op in found]

    def _is_splittable(self, op: Operation) -> bool:
        if op.parent is not self.joined.parent or is_planned(op):
            return False
        match op:
            case graph.ReduceOp():
                rank = len(tensor_type(op.operand).get_shape())
                return op.init_value is None and op.axis_list == (rank + self.axis,)
            case graph.SliceOp():
                return self._part_of(op) is not None
            case _:
                return is_pointwise(op)

    def _part_of(self, op: graph.SliceOp) -> int | None:
        """The part that a slice is cut from, if it is one, whole along other axes."""
        first = op.offsets.get_values()[self.axis]
        stride = op.strides.get_values()[self.axis]
        extent = tensor_type(op.result).get_shape()[self.axis]
        last = first + stride * (extent - 1)
        pairs = enumerate(pairwise(self.ends))
        return next((n for n, (a, b) in pairs if a <= first and last < b), None)

    def split(self, op: Operation) -> None:
        """Build an operation on each part, and let its users read these."""
        builder = Builder(InsertPoint.before(op))
        before = op.prev_op
        match op:
            case graph.ReduceOp():
                made = self._reduced(op, builder)
            case graph.SliceOp():
                made = self._cut(op, builder)
            case _:
                made = None
                self._computed(op, builder)
        for new in between(before, op):
            new.location = op.location
        if made is not None:
            made.name_hint = op.results[0].name_hint
            replace_op(op, [], [made])

    def _of(self, value: SSAValue, builder: Builder) -> list[SSAValue]:
        """The parts of an operand."""
        if value in self.values:
            return self.values[value]
        shape = tensor_type(value).get_shape()
        count = len(self.ends) - 1
        if not varies_along(value, self.axis):
            return [value] * count
        found: list[SSAValue] = []
        for first, last in pairwise(self.ends):
            offsets, sizes = [0] * len(shape), list(shape)
            offsets[self.axis], sizes[self.axis] = first, last - first
            found.append(builder.insert(graph.SliceOp(value, offsets, sizes)).result)
        self.values[value] = found
        return found

    def _reduced(self, op: graph.ReduceOp, builder: Builder) -> SSAValue:
        total: SSAValue | None = None
        for part in self._of(op.operand, builder):
            keeps = op.keepdims is not None
            one = graph.ReduceOp(
                part,
                op.combination,
                op.axis_list,
                keeps,
                acc=op.properties.get("acc"),
                element=tensor_type(op.results[0]).element_type,
            )
            value = builder.insert(one).results[0]
            if total is not None:
                value = builder.insert(combined(op, total, value)).result
            total = value
        assert total is not None
        return total

    def _cut(self, op: graph.SliceOp, builder: Builder) -> SSAValue:
        number = self._part_of(op)
        assert number is not None
        offsets = list(op.offsets.get_values())
        offsets[self.axis] -= self.ends[number]
        part = self._of(op.operand, builder)[number]
        sizes, strides = tensor_type(op.result).get_shape(), op.strides.get_values()
        return builder.insert(graph.SliceOp(part, offsets, sizes, strides)).result

    def _computed(self, op: Operation, builder: Builder) -> None:
        assert isinstance(op, ElementwiseInterface)
        operands = [self._of(each, builder) for each in op.operands]
        shape, found = tensor_type(op.results[0]).get_shape(), list[SSAValue]()
        for parts, (first, last) in zip(
            zip(*operands, strict=True), pairwise(self.ends), strict=True
        ):
            sizes = list(shape)
            sizes[self.axis] = last - first
            found.append(computed(op, parts, sizes, builder))
        self.values[op.results[0]] = found


def _decompose_users(joined: graph.ConcatOp) -> None:
    """
    Decompose the users of a concatenated tensor into elementwise operations and
    reductions.
    """
    pending, seen = list[SSAValue]([joined.result]), set[SSAValue]()
    while pending:
        value = pending.pop()
        seen.add(value)
        for user in [use.operation for use in value.uses]:
            if isinstance(user, WholeAxesOperation) and not is_planned(user):
                replace_by_program(user, rewriter_at(user), user.decompose)
        users = [use.operation for use in value.uses if is_pointwise(use.operation)]
        pending += (r for user in users for r in user.results if r not in seen)


def split(joined: graph.ConcatOp) -> bool:
    """
    Compute with parts instead of what joins them, if all that is needed of it can be.
    Returns whether that is so.
    """
    _decompose_users(joined)
    parts = _Parts(joined, {joined.result: list(joined.inputs)})
    if not (users := parts.users()):
        return False
    for op in users:
        parts.split(op)
    for op in (*reversed(users), joined):
        if op.parent is not None:
            Rewriter.erase_op(op)
    return True


def _split_in(block: Block, last: Operation) -> None:
    known = invariant_values(block)
    for joined in [each for each in block.ops if isinstance(each, graph.ConcatOp)]:
        count = len(joined.inputs)
        if joined.result not in known and not is_planned(joined) and split(joined):
            text = f"{count} joined tensors are computed with one by one"
            graph.remark(last, NAME, "passed", text)


@dataclass(frozen=True)
class GraphDistributeOverConcatPass(ModulePass):
    """
    Compute with tensors one by one, where they are joined only to be reduced along the
    axis they are joined along, or cut apart again, with elementwise operations before:
    the maximum of joined rows is the greater one of those of the parts. So a softmax
    over scores and a further one, as of a token that takes what no other gets, needs no
    longer rows. Sums are added up in another order. What is joined before a call, such
    as the biases of products that became one, stays.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        joining = [each for each in op.walk() if isinstance(each, graph.ConcatOp)]
        for block in dict.fromkeys(each.parent for each in joining):
            if block is not None and block.last_op is not None:
                _split_in(block, block.last_op)
