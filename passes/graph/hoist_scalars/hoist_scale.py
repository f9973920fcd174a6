"""
Rewrite of the pass `graph-hoist-scales`: hoisting of a scale of a contraction's operand
to its result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.hoist_scalars.finite_range import is_finite_after_cast
from tlf.passes.graph.permutations import non_unit_extents, reshape_to
from tlf.passes.graph.pointwise import leaf_values_of
from tlf.passes.op_replacement import is_in_planned_group

MAX_RESULT_GROWTH = 4
"""
Maximum ratio of the result's elements to the operand's, if hoisting the scale removes
the operand's dependence on a reduction.
"""


@dataclass(frozen=True)
class OperandScale:
    """
    A contraction operand that is a tensor multiplied or divided by a scale, which is
    constant along all reduced axes.
    """

    product: Product
    operand_index: int
    op: graph.MulOp | graph.DivOp
    scale_index: int
    """
    Index of the operand of `op` that is the scale; the other operand has the type of
    the result.
    """

    @staticmethod
    def find_in_operand(product: Product, operand_index: int) -> OperandScale | None:
        """Return the scale of an operand that can be hoisted to the result, or None."""
        value = product.values[operand_index]
        cast = value.owner
        scaled = cast.operand if isinstance(cast, graph.CastOp) else value
        op = scaled.owner
        if not isinstance(op, graph.MulOp | graph.DivOp) or is_in_planned_group(op):
            return None
        if not _has_only_floats(scaled, value):
            return None
        for index in (1,) if isinstance(op, graph.DivOp) else (0, 1):
            scale = OperandScale(product, operand_index, op, index)
            if (
                scale._is_scale_constant_along_reduction()
                and scale._is_unscaled_operand_finite()
            ):
                return scale
        return None

    @property
    def scale(self) -> SSAValue:
        """The multiplier or divisor."""
        return self.op.operands[self.scale_index]

    @property
    def unscaled_operand(self) -> SSAValue:
        """The operand without its scale."""
        return self.op.operands[1 - self.scale_index]

    @property
    def scale_iterators(self) -> Axes:
        """Iterators of the product along which the scale has an extent above 1."""
        shape = tensor_type(self.scale).get_shape()
        iterators = (
            self.product.axes[self.operand_index][-len(shape) :] if shape else ()
        )
        pairs = zip(iterators, shape, strict=True)
        return tuple(iterator for iterator, extent in pairs if extent > 1)

    @property
    def result_iterators_in_scale_order(self) -> Axes:
        """Iterators of the result, with iterators of the scale in the scale's order."""
        scale_axes = iter(self.scale_iterators)
        return tuple(
            next(scale_axes) if axis in self.scale_iterators else axis
            for axis in self.product.result
        )

    @property
    def is_profitable(self) -> bool:
        """
        True if hoisting the scale out of all products that read the operand takes fewer
        multiplications, or removes the operand's dependence on a reduction, so that
        reduction and contraction may run in one loop.
        """
        uses = list(self._uses_of_operand_and_casts())
        readers = {use.operation for use in uses}
        if len(readers) < len(uses) or not all(map(self._can_hoist_scale_at_use, uses)):
            return False
        operand_size = tensor_type(self.op.result).element_count()
        result_sizes = [
            tensor_type(each.results[0]).element_count() for each in readers
        ]
        return sum(result_sizes) < operand_size or (
            max(result_sizes) <= MAX_RESULT_GROWTH * operand_size
            and self._is_scale_from_reduction()
        )

    def _uses_of_operand_and_casts(self) -> Iterator[Use]:
        """
        Yield the uses of the scaled value `op.result`, with those of its casts instead
        of the uses by casts.
        """
        for use in self.op.result.uses:
            if isinstance(cast := use.operation, graph.CastOp):
                yield from cast.result.uses
            else:
                yield use

    def _can_hoist_scale_at_use(self, use: Use) -> bool:
        """
        Return `True` if the user of the operand is a product that can hoist the scale.
        """
        if (product := Product.from_operation(use.operation)) is None:
            return False
        scale = OperandScale.find_in_operand(product, use.index)
        return scale is not None and scale.op is self.op

    def _is_scale_from_reduction(self) -> bool:
        """
        Return `True` if the scale is computed from the result of a reduction.
        """
        size = tensor_type(self.scale).element_count()
        leaves = leaf_values_of(
            self.scale, lambda e: tensor_type(e).element_count() <= size
        )
        return any(isinstance(each.owner, graph.ReduceOp) for each in leaves)

    def _is_scale_constant_along_reduction(self) -> bool:
        """
        Return `True` if the unscaled value has the operand's type, and the scale does
        not vary along a reduced axis.
        """
        is_whole = self.unscaled_operand.type == self.op.result.type
        return is_whole and all(
            axis in self.product.result for axis in self.scale_iterators
        )

    def _is_unscaled_operand_finite(self) -> bool:
        """
        Return `True` if the unscaled value remains finite in the element type of the
        contraction's operand.
        """
        return is_finite_after_cast(
            self.unscaled_operand, tensor_type(self.product.op.operands[0]).element_type
        )


def hoist_scale_to_result(operand_scale: OperandScale) -> None:
    """
    Scale the result of a contraction instead of its operand. If the axes of the scale
    are in another order, the contraction writes them in the order of the scale, and the
    scaled result is transposed.
    """
    op = operand_scale.product.op
    operand = op.operands[operand_scale.operand_index]
    builder = Builder(InsertPoint.before(op))
    element = tensor_type(operand).element_type
    values = list(operand_scale.product.values)
    values[operand_scale.operand_index] = TensorBuilder(
        builder, element
    ).promote_to_builder_type(operand_scale.unscaled_operand)
    _copy_location(operand, values[operand_scale.operand_index])
    order = operand_scale.result_iterators_in_scale_order
    result = tensor_type(op.results[0])
    product = replace(
        operand_scale.product, values=(values[0], values[1]), result=order
    )
    total = builder.insert(
        _build_product_in_accumulator_type(product, operand_scale.product)
    ).results[0]
    factor = _build_aligned_scale(builder, operand_scale, order)
    scaled = builder.insert(type(operand_scale.op)(total, factor))
    scaled.location = operand_scale.op.location
    result_value = TensorBuilder(builder, result.element_type).promote_to_builder_type(
        scaled.result
    )
    if order != operand_scale.product.result:
        permutation = [order.index(axis) for axis in operand_scale.product.result]
        result_value = builder.insert(
            graph.TransposeOp(result_value, permutation)
        ).result
    result_value.name_hint = op.results[0].name_hint
    replace_op(op, [], [result_value])
    for each in (operand.owner, operand_scale.op):
        if isinstance(each, Operation) and not any(r.uses for r in each.results):
            Rewriter.erase_op(each)


def _build_aligned_scale(
    builder: Builder, operand_scale: OperandScale, result_iterators: Axes
) -> SSAValue:
    """Build the scale in the type of the accumulator, aligned with the result."""
    op = operand_scale.product.op
    factor = TensorBuilder(builder, op.accumulator_type).promote_to_builder_type(
        operand_scale.scale
    )
    return _align_scale_with_result(
        builder,
        factor,
        operand_scale.scale_iterators,
        result_iterators,
    )


def _copy_location(original: SSAValue, replacement: SSAValue) -> None:
    """
    Copy the location of the operation that defines a value to its replacement, if that
    has none.
    """
    old, new = original.owner, replacement.owner
    if not isinstance(old, Operation) or not isinstance(new, Operation):
        return
    if isinstance(new.location, UnknownLoc):
        new.location = old.location


def _build_product_in_accumulator_type(
    product: Product, original_product: Product
) -> Operation:
    """
    Build a product in its accumulator type; if the axes of the result are unchanged,
    clone the original operation.
    """
    op = original_product.op
    if product.result != original_product.result:
        return product.build_contract(op.accumulator_type)
    wide = op.build_with_accumulator_result() or op.clone()
    wide.operands = [*product.values, *op.operands[2:]]
    wide.location = op.location
    return wide


def _align_scale_with_result(
    builder: Builder, factor: SSAValue, scale_iterators: Axes, result_iterators: Axes
) -> SSAValue:
    """Reshape a scale so that its axes align with those of the result."""
    extents = dict(
        zip(
            scale_iterators,
            non_unit_extents(tensor_type(factor).get_shape()),
            strict=True,
        )
    )
    return reshape_to(
        factor, [extents.get(axis, 1) for axis in result_iterators], builder
    )


def _has_only_floats(*values: SSAValue) -> bool:
    return all(is_float(tensor_type(each).element_type) for each in values)
