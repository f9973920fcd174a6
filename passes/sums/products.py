"""
Sums of rows or columns of products of matrices, as products of sums.

    sum_t (sum_k x_tk w_kn + b_n) = sum_k (sum_t x_tk) w_kn + T b_n

As many times fewer multiplications are left as rows are added up: a mean behind a
linear layer is one of what the layer reads. Means are multiplied in the accumulator's
type, unrounded. So factors have to be of a narrower type: errors of products of rows
would average out, but those of one product of all do not. And they have to be of its
range, as bf16 of f32: products that are infinite in f16 would be finite. What is
multiplied are means, as sums might be infinite.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.postorder import in_postorder
from tlf.passes.product import Product
from tlf.passes.replacement import is_planned

LINEAR = (graph.AddOp, graph.SubOp, graph.NegOp)
"""What is a sum of its operands, or of their negatives."""

SCALING = (graph.MulOp, graph.DivOp)
"""What is a multiple of its first operand, or of any, where the others are the same."""


def is_of_products(op: Operation) -> bool:
    """
    Whether an operation adds up rows or columns of products of matrices of bf16 that
    nothing else reads, perhaps scaled, or with something added.
    """
    if not isinstance(op, graph.ReduceOp) or op.combination is not ReduceKind.SUM:
        return False
    if op.init_value is not None or is_planned(op) or not is_float(op.accumulator_type):
        return False
    summed, pending = _Summed(op), [op.operand]
    while pending:
        value = pending.pop()
        if summed.product(value) is not None:
            return True
        pending += summed.parts(value)
    return False


def sum_factors(op: Operation) -> bool:
    """
    Replace a sum of products of matrices by products of sums. Returns whether it was
    one.
    """
    if not is_of_products(op):
        return False
    assert isinstance(op, graph.ReduceOp)
    summed = _Summed(op)
    program = TensorProgram(Builder(InsertPoint.before(op)), op.accumulator_type)
    total = summed.built(op.operand, program)
    result = tensor_type(op.result)
    shaped = program.reshape(total, result.get_shape())
    found = program.narrowed(shaped, result)
    found.name_hint = op.result.name_hint
    Rewriter.replace_op(op, [], [found])
    return True


class _Summed:
    """What a reduction adds up."""

    def __init__(self, op: graph.ReduceOp) -> None:
        shape = tensor_type(op.operand).get_shape()
        self.places = [axis - len(shape) for axis in op.axis_list if shape[axis] > 1]
        """The axes that are reduced, counted from the last one as -1."""
        self.count = prod(shape[place] for place in self.places)
        self.element = op.accumulator_type
        self._known: dict[SSAValue, SSAValue] = {}

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """The operands that a value is a sum or a multiple of, if they are summed."""
        op = value.owner
        if not isinstance(op, Operation) or not value.has_one_use() or is_planned(op):
            return ()
        along = [each for each in op.operands if self._varies(each)]
        if not all(map(self._is_whole, along)):
            return ()
        if isinstance(op, graph.CastOp):
            types = [tensor_type(each).element_type for each in (*along, value)]
            return along if {bf16, f32}.issuperset(types) else ()
        if isinstance(op, LINEAR):
            return along
        if not isinstance(op, SCALING) or len(along) != 1:
            return ()
        return along if isinstance(op, graph.MulOp) or along[0] is op.lhs else ()

    def product(self, value: SSAValue) -> Product | None:
        """The product that a value is, if one factor alone goes along each axis."""
        op = value.owner
        if not isinstance(op, Operation) or not value.has_one_use():
            return None
        found = Product.of(op)
        if found is None or not found.is_whole() or not self._is_whole(value):
            return None
        if found.op.accumulator_type != self.element:
            return None
        if not all(tensor_type(each).element_type == bf16 for each in found.values):
            return None
        shared = {*found.axes[0]} & {*found.axes[1]}
        return None if shared.intersection(self._iterators(found)) else found

    def built(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        """The sum of a value, its axes kept."""
        return in_postorder(
            value, self._known, self.parts, lambda each: self._built(each, program)
        )

    def _built(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        if (product := self.product(value)) is not None:
            return self._multiplied(product, program)
        if not (along := self.parts(value)):
            return self._reduced(value, program)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, graph.CastOp):
            return self._known[along[0]]
        times = self.count if isinstance(op, graph.AddOp | graph.SubOp) else 1
        operands = [
            self._known[each] if each in along else self._times(each, times, program)
            for each in op.operands
        ]
        return program.insert(type(op)(*operands))

    @staticmethod
    def _times(value: SSAValue, count: int, program: TensorProgram) -> SSAValue:
        """What is the same for all terms, as often as there are terms."""
        wide = program.widened(value)
        return wide if count == 1 else program.mul(wide, program.number(count))

    def _multiplied(self, product: Product, program: TensorProgram) -> SSAValue:
        """The product of means of the factors that go along the axes, so many times."""
        summed, factors = self._iterators(product), list[SSAValue]()
        for value, axes in zip(product.values, product.axes, strict=True):
            wide = program.widened(value)
            if own := [place for place, axis in enumerate(axes) if axis in summed]:
                count = prod(tensor_type(wide).get_shape()[place] for place in own)
                part = program.mul(wide, program.number(1 / count))
                wide = program.reduce(part, ReduceKind.SUM, own, True)
            factors.append(wide)
        made = Product(
            product.op, (factors[0], factors[1]), product.axes, product.result
        )
        mean = program.insert(made.build(program.element))
        return program.mul(mean, program.number(self.count))

    def _reduced(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        rank = len(tensor_type(value).get_shape())
        axes = [place + rank for place in self.places]
        return program.reduce(program.widened(value), ReduceKind.SUM, axes, True)

    def _iterators(self, product: Product) -> set[int]:
        return {product.result[place] for place in self.places}

    def _varies(self, value: SSAValue) -> bool:
        """Whether a value has several elements along an axis that is reduced."""
        shape = tensor_type(value).get_shape()
        return any(-place <= len(shape) and shape[place] > 1 for place in self.places)

    def _is_whole(self, value: SSAValue) -> bool:
        """Whether it has all elements along all of these axes."""
        shape = tensor_type(value).get_shape()
        return all(-place <= len(shape) and shape[place] > 1 for place in self.places)
