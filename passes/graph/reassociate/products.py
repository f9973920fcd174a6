"""
Sums of rows, columns or windows of products, as products of sums.

    sum_t (sum_k x_tk w_kn + b_n) = sum_k (sum_t x_tk) w_kn + T b_n

As many times fewer multiplications are left as rows are added up: a mean behind a
linear layer is one of what the layer reads, and the pooling of windows behind a 1x1
convolution goes before it. What is multiplied are means, as sums might be infinite,
in the accumulator's type, unrounded. So factors have to be of a narrower type: errors
of products of rows would average out, but those of one product of all do not. And they
have to be of its range, as bf16 of f32: products that are infinite in f16 would be
finite. With relaxed numerics, factors are floats of any type.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from xdsl.builder import Builder
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.tensors import FLOATS
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.numerics import is_relaxed
from tlf.dialects.postorder import in_postorder
from tlf.dialects.replacement import is_planned
from tlf.dialects.rewriting import replace_op
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.pointwise import varies_along
from tlf.passes.graph.product import Axes, Product
from tlf.passes.graph.reassociate.total import Total, total_of

LINEAR = (graph.AddOp, graph.SubOp, graph.NegOp)
"""Operations whose result is a sum of their operands, or of their negatives."""

SCALING = (graph.MulOp, graph.DivOp)
"""
Operations whose result is a multiple of their first operand, or of any, for fixed
others.
"""


def is_of_products(op: Operation) -> bool:
    """
    Return `True` if an operation sums up rows, columns or windows of products, of bf16
    where numerics are strict, that have no other readers and may be scaled or have
    something added.
    """
    if (summed := _Summed.of(op)) is None:
        return False
    pending = [op.operands[0]]
    while pending:
        value = pending.pop()
        if summed.product(value) is not None:
            return True
        pending += summed.parts(value)
    return False


def sum_factors(op: Operation) -> bool:
    """
    Replace a sum of products by products of sums. Returns whether it was one.
    """
    if not is_of_products(op) or (summed := _Summed.of(op)) is None:
        return False
    program = TensorProgram(Builder(InsertPoint.before(op)), summed.element)
    total = summed.built(op.operands[0], program)
    result = tensor_type(op.results[0])
    shaped = reshaped(total, result.get_shape(), program.builder)
    found = program.narrowed(shaped, result)
    found.name_hint = op.results[0].name_hint
    replace_op(op, [], [found])
    return True


@dataclass
class _Summed:
    """Summand of an accumulating operation."""

    total: Total
    element: Attribute
    """The type in which it adds up."""
    floats: Collection[Attribute]
    """Element types of the factors of products, and of the casts on the way."""
    _known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @staticmethod
    def of(op: Operation) -> _Summed | None:
        """Return the summand of an operation, if it sums up floats."""
        if (total := total_of(op)) is None:
            return None
        assert isinstance(op, AccumulatingInterface)
        floats = FLOATS if is_relaxed(op) else (bf16,)
        return _Summed(total, op.accumulator_type, floats)

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
            return along if {f32, *self.floats}.issuperset(types) else ()
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
        found = Product.of_points(op)
        if found is None or not self._is_whole(value):
            return None
        if found.op.accumulator_type != self.element:
            return None
        if any(tensor_type(e).element_type not in self.floats for e in found.values):
            return None
        shared = {*found.axes[0]} & {*found.axes[1]}
        return None if shared.intersection(self._places(found)) else found

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
        is_sum = isinstance(op, graph.AddOp | graph.SubOp)
        operands = list[SSAValue]()
        for each in op.operands:
            if (found := self._known.get(each)) is None:
                found = program.widened(each)
                found = self.total.counted(found, program) if is_sum else found
            operands.append(found)
        return program.insert(type(op)(*operands))

    def _multiplied(self, product: Product, program: TensorProgram) -> SSAValue:
        """The product of means of the factors that go along the axes, so many times."""
        places = self._places(product)
        values, sides = list[SSAValue](), list[Axes]()
        for value, axes in zip(product.values, product.axes, strict=True):
            mean = program.widened(value)
            along = {n: places[axis] for n, axis in enumerate(axes) if axis in places}
            order: Sequence[int] = range(len(axes))
            if along:
                mean, order = self.total.averaged(mean, along, program)
            values.append(mean)
            sides.append(tuple(axes[n] for n in order))
        lhs, rhs = values
        made = replace(product, values=(lhs, rhs), axes=(sides[0], sides[1]))
        mean = program.insert(made.build(program.element))
        return program.mul(mean, program.number(self.total.count))

    def _reduced(self, value: SSAValue, program: TensorProgram) -> SSAValue:
        return self.total.added(program.widened(value), program)

    def _places(self, product: Product) -> dict[int, int]:
        """The place in the result of each iterator that runs along it."""
        return {product.result[place]: place for place in self.total.places}

    def _varies(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has several elements along an axis that is reduced.
        """
        return any(varies_along(value, place) for place in self.total.places)

    def _is_whole(self, value: SSAValue) -> bool:
        """Return `True` if a value has all elements along all of these axes."""
        return all(varies_along(value, place) for place in self.total.places)
