"""
Rewrite of sums of rows, columns or windows of products as products of sums.

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
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import FLOATS
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.numerics import is_relaxed
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.postorder import compute_in_postorder
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_varying_along
from tlf.passes.graph.reassociate.summation import Summation, summation_of

LINEAR_OPS = (graph.AddOp, graph.SubOp, graph.NegOp)
"""Operations whose result is a sum of their operands, or of their negatives."""

SCALING_OPS = (graph.MulOp, graph.DivOp)
"""
Operations whose result is a multiple of their first operand, or of any, for fixed
others.
"""


def is_sum_of_products(op: Operation) -> bool:
    """
    Return `True` if an operation sums rows, columns or windows of products, of bf16
    where numerics are strict, that have no other readers; linear operations may lie in
    between.
    """
    if (summed := _Summand.of(op)) is None:
        return False
    pending = [op.operands[0]]
    while pending:
        value = pending.pop()
        if summed.product_of(value) is not None:
            return True
        pending += summed.linear_operands(value)
    return False


def rewrite_as_product_of_sums(op: Operation) -> bool:
    """
    Replace a sum of products by products of sums. Returns whether it was one.
    """
    if not is_sum_of_products(op) or (summed := _Summand.of(op)) is None:
        return False
    program = TensorBuilder(Builder(InsertPoint.before(op)), summed.element)
    total = summed.build_sum(op.operands[0], program)
    result = tensor_type(op.results[0])
    shaped = reshape_to(total, result.get_shape(), program.builder)
    found = program.to_result_type(shaped, result)
    found.name_hint = op.results[0].name_hint
    replace_op(op, [], [found])
    return True


@dataclass
class _Summand:
    """The summand of a reduction that distributes over products."""

    summation: Summation
    element: Attribute
    """The type in which it adds up."""
    float_types: Collection[Attribute]
    """Element types of the factors of products, and of the casts on the way."""
    _known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @staticmethod
    def of(op: Operation) -> _Summand | None:
        """Return the summand of an operation, if it sums up floats."""
        if (total := summation_of(op)) is None:
            return None
        assert isinstance(op, AccumulatingInterface)
        floats = FLOATS if is_relaxed(op) else (bf16,)
        return _Summand(total, op.accumulator_type, floats)

    def linear_operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the summed operands that a value is linear in."""
        op = value.owner
        if (
            not isinstance(op, Operation)
            or not value.has_one_use()
            or is_in_planned_group(op)
        ):
            return ()
        along = [each for each in op.operands if self._is_varying(each)]
        if not all(map(self._has_all_elements, along)):
            return ()
        if isinstance(op, graph.CastOp):
            types = [tensor_type(each).element_type for each in (*along, value)]
            return along if {f32, *self.float_types}.issuperset(types) else ()
        if isinstance(op, LINEAR_OPS):
            return along
        if not isinstance(op, SCALING_OPS) or len(along) != 1:
            return ()
        return along if isinstance(op, graph.MulOp) or along[0] is op.lhs else ()

    def product_of(self, value: SSAValue) -> Product | None:
        """
        Return a value as a product, if each reduced axis belongs to one factor alone;
        else None.
        """
        op = value.owner
        if not isinstance(op, Operation) or not value.has_one_use():
            return None
        found = Product.of_unit_windows(op)
        if found is None or not self._has_all_elements(value):
            return None
        if found.op.accumulator_type != self.element:
            return None
        if any(
            tensor_type(e).element_type not in self.float_types for e in found.values
        ):
            return None
        shared = {*found.axes[0]} & {*found.axes[1]}
        return (
            None
            if shared.intersection(self._reduced_axis_by_iterator(found))
            else found
        )

    def build_sum(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        """Return the sum of a value, its axes kept."""
        return compute_in_postorder(
            value,
            self._known,
            self.linear_operands,
            lambda each: self._build_sum_of(each, program),
        )

    def _build_sum_of(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        if (product := self.product_of(value)) is not None:
            return self._multiply_means(product, program)
        if not (along := self.linear_operands(value)):
            return self._reduce_value(value, program)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, graph.CastOp):
            return self._known[along[0]]
        is_sum = isinstance(op, graph.AddOp | graph.SubOp)
        operands = list[SSAValue]()
        for each in op.operands:
            if (found := self._known.get(each)) is None:
                found = program.promote(each)
                found = (
                    self.summation.scale_by_count(found, program) if is_sum else found
                )
            operands.append(found)
        return program.insert(type(op)(*operands))

    def _multiply_means(self, product: Product, program: TensorBuilder) -> SSAValue:
        """
        Return the product of the factors' means along reduced axes, times the element
        count.
        """
        places = self._reduced_axis_by_iterator(product)
        values, sides = list[SSAValue](), list[Axes]()
        for value, axes in zip(product.values, product.axes, strict=True):
            mean = program.promote(value)
            along = {n: places[axis] for n, axis in enumerate(axes) if axis in places}
            order: Sequence[int] = range(len(axes))
            if along:
                mean, order = self.summation.average_axes(mean, along, program)
            values.append(mean)
            sides.append(tuple(axes[n] for n in order))
        lhs, rhs = values
        made = replace(product, values=(lhs, rhs), axes=(sides[0], sides[1]))
        mean = program.insert(made.build_contract(program.element))
        return program.mul(mean, program.constant(self.summation.element_count))

    def _reduce_value(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        return self.summation.sum_value(program.promote(value), program)

    def _reduced_axis_by_iterator(self, product: Product) -> dict[int, int]:
        """Return the reduced axis of the result by its iterator."""
        return {product.result[place]: place for place in self.summation.reduced_axes}

    def _is_varying(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has several elements along an axis that is reduced.
        """
        return any(
            is_varying_along(value, place) for place in self.summation.reduced_axes
        )

    def _has_all_elements(self, value: SSAValue) -> bool:
        """Return `True` if a value has all elements along all of these axes."""
        return all(
            is_varying_along(value, place) for place in self.summation.reduced_axes
        )
