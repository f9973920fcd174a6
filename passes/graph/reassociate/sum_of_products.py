"""
Rewrite of sums of rows, columns or windows of products as products of sums.

    sum_t (sum_k x_tk w_kn + b_n) = sum_k (sum_t x_tk) w_kn + T b_n

The number of multiplications is divided by the number of summed rows: the mean of a
linear layer's result is computed from the mean of its input, and pooling after a 1x1
convolution moves before it. The factors are means instead of sums, because sums might
be infinite, unrounded in the accumulator's type. Therefore, factors must have a
narrower type than the accumulator: rounding errors of products of rows average out, but
those of a single product do not. Their type must also have the range of the
accumulator, as bf16 and f32: products that are infinite in f16 would be finite. With
relaxed numerics, factors are floats of any type.
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
from tlf.dialects.numerics_attribute import is_relaxed
from tlf.dialects.types import tensor_type
from tlf.dialects.value_postorder import compute_in_postorder
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_varying_along
from tlf.passes.graph.reassociate.summation import Summation, float_summation_of
from tlf.passes.op_replacement import is_in_planned_group

LINEAR_OPS = (graph.AddOp, graph.SubOp, graph.NegOp)
"""Operations whose result is a sum of their operands or of negated operands."""

SCALING_OPS = (graph.MulOp, graph.DivOp)
"""
Operations that are linear in their first operand, and for products also in the second,
if the other operand is fixed.
"""


def is_sum_of_products(op: Operation) -> bool:
    """
    Return `True` if an operation sums rows, columns or windows of products without
    other users, possibly with linear operations in between. With strict numerics, the
    factors must be bf16.
    """
    if (summed := _SumOverProducts.from_operation(op)) is None:
        return False
    pending = [op.operands[0]]
    while pending:
        value = pending.pop()
        if summed.separable_product_of(value) is not None:
            return True
        pending += summed.linear_operands_of(value)
    return False


def rewrite_sum_as_product_of_sums(op: Operation) -> bool:
    """
    Replace a sum of products by products of sums. Return `False` if `op` is not a sum
    of products.
    """
    if (
        not is_sum_of_products(op)
        or (summed := _SumOverProducts.from_operation(op)) is None
    ):
        return False
    program = TensorBuilder(Builder(InsertPoint.before(op)), summed.accumulator_type)
    total = summed.build_sum_of_value(op.operands[0], program)
    result = tensor_type(op.results[0])
    reshaped = reshape_to(total, result.get_shape(), program.builder)
    result_value = program.cast_to_type(reshaped, result)
    result_value.name_hint = op.results[0].name_hint
    replace_op(op, [], [result_value])
    return True


@dataclass
class _SumOverProducts:
    """A sum of floats, to be distributed over linear operations and products."""

    summation: Summation
    accumulator_type: Attribute
    """The accumulator type."""
    float_types: Collection[Attribute]
    """Element types allowed for factors of products and, besides f32, for casts."""
    _known: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])

    @staticmethod
    def from_operation(op: Operation) -> _SumOverProducts | None:
        """Return the summand of an operation, or None if it is not a sum of floats."""
        if (summation := float_summation_of(op)) is None:
            return None
        assert isinstance(op, AccumulatingInterface)
        floats = FLOATS if is_relaxed(op) else (bf16,)
        return _SumOverProducts(summation, op.accumulator_type, floats)

    def linear_operands_of(self, value: SSAValue) -> Sequence[SSAValue]:
        """
        Return the operands varying along reduced axes that a value is linear in; none
        if the value is not linear in them.
        """
        op = value.owner
        if (
            not isinstance(op, Operation)
            or not value.has_one_use()
            or is_in_planned_group(op)
        ):
            return ()
        varying = [
            each
            for each in op.operands
            if self._is_varying_along_any_reduced_axis(each)
        ]
        if not all(map(self._is_varying_along_all_reduced_axes, varying)):
            return ()
        if isinstance(op, graph.CastOp):
            types = [tensor_type(each).element_type for each in (*varying, value)]
            return varying if {f32, *self.float_types}.issuperset(types) else ()
        if isinstance(op, LINEAR_OPS):
            return varying
        if not isinstance(op, SCALING_OPS) or len(varying) != 1:
            return ()
        return varying if isinstance(op, graph.MulOp) or varying[0] is op.lhs else ()

    def separable_product_of(self, value: SSAValue) -> Product | None:
        """
        Return a value as a product, if each reduced axis runs along only one factor;
        else None.
        """
        op = value.owner
        if not isinstance(op, Operation) or not value.has_one_use():
            return None
        product = Product.from_unit_window_operation(op)
        if product is None or not self._is_varying_along_all_reduced_axes(value):
            return None
        if product.op.accumulator_type != self.accumulator_type:
            return None
        if any(
            tensor_type(e).element_type not in self.float_types for e in product.values
        ):
            return None
        shared = {*product.axes[0]} & {*product.axes[1]}
        return (
            None
            if shared.intersection(self._reduced_axis_by_iterator(product))
            else product
        )

    def build_sum_of_value(self, value: SSAValue, program: TensorBuilder) -> SSAValue:
        """
        Build the sum of `value` along the reduced axes, which become unit axes, from
        sums of its linear operands.
        """
        return compute_in_postorder(
            value,
            self._known,
            self.linear_operands_of,
            lambda each: self._build_sum_from_operand_sums(each, program),
        )

    def _build_sum_from_operand_sums(
        self, value: SSAValue, program: TensorBuilder
    ) -> SSAValue:
        """Build the sum of `value` from sums of its linear operands or factors."""
        if (product := self.separable_product_of(value)) is not None:
            return self._multiply_means_of_factors(product, program)
        if not (linear := self.linear_operands_of(value)):
            return self._sum_along_reduced_axes(value, program)
        op = value.owner
        assert isinstance(op, Operation)
        if isinstance(op, graph.CastOp):
            return self._known[linear[0]]
        is_sum = isinstance(op, graph.AddOp | graph.SubOp)
        operands = list[SSAValue]()
        for each in op.operands:
            if (operand := self._known.get(each)) is None:
                operand = program.promote_to_builder_type(each)
                operand = (
                    self.summation.sum_constant_by_multiplication(operand, program)
                    if is_sum
                    else operand
                )
            operands.append(operand)
        return program.insert(type(op)(*operands))

    def _multiply_means_of_factors(
        self, product: Product, program: TensorBuilder
    ) -> SSAValue:
        """
        Return the product of the factors' means along reduced axes, times the element
        count.
        """
        reduced_axes = self._reduced_axis_by_iterator(product)
        values, sides = list[SSAValue](), list[Axes]()
        for value, axes in zip(product.values, product.axes, strict=True):
            mean = program.promote_to_builder_type(value)
            averaged = {
                n: reduced_axes[axis]
                for n, axis in enumerate(axes)
                if axis in reduced_axes
            }
            order: Sequence[int] = range(len(axes))
            if averaged:
                mean, order = self.summation.average_along_axes(mean, averaged, program)
            values.append(mean)
            sides.append(tuple(axes[n] for n in order))
        lhs, rhs = values
        averaged_product = replace(
            product, values=(lhs, rhs), axes=(sides[0], sides[1])
        )
        mean = program.insert(averaged_product.build_contract(program.element))
        return program.mul(mean, program.constant(self.summation.element_count))

    def _sum_along_reduced_axes(
        self, value: SSAValue, program: TensorBuilder
    ) -> SSAValue:
        return self.summation.sum_value(program.promote_to_builder_type(value), program)

    def _reduced_axis_by_iterator(self, product: Product) -> dict[int, int]:
        """Return the reduced axes of the result by iterator."""
        return {product.result[axis]: axis for axis in self.summation.reduced_axes}

    def _is_varying_along_any_reduced_axis(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has several elements along any reduced axis.
        """
        return any(
            is_varying_along(value, axis) for axis in self.summation.reduced_axes
        )

    def _is_varying_along_all_reduced_axes(self, value: SSAValue) -> bool:
        """Return `True` if a value has several elements along every reduced axis."""
        return all(
            is_varying_along(value, axis) for axis in self.summation.reduced_axes
        )
