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
from tlf.passes.graph.hoist_scalars.finite_range import is_finite_in
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
    side: int
    op: graph.MulOp | graph.DivOp
    scale_index: int
    """
    Index of the operand of `op` that is the scale; the other operand has the type of
    the result.
    """

    @staticmethod
    def of(product: Product, side: int) -> OperandScale | None:
        """Return the scale of an operand that can be hoisted to the result, or None."""
        value = product.values[side]
        cast = value.owner
        scaled = cast.operand if isinstance(cast, graph.CastOp) else value
        op = scaled.owner
        if not isinstance(op, graph.MulOp | graph.DivOp) or is_in_planned_group(op):
            return None
        if not _has_only_floats(scaled, value):
            return None
        for index in (1,) if isinstance(op, graph.DivOp) else (0, 1):
            scale = OperandScale(product, side, op, index)
            if scale._is_independent_of_sum() and scale._has_finite_operand():
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
    def scale_axes(self) -> Axes:
        """The iterators along which the scale varies."""
        shape = tensor_type(self.scale).get_shape()
        iterators = self.product.axes[self.side][-len(shape) :] if shape else ()
        pairs = zip(iterators, shape, strict=True)
        return tuple(iterator for iterator, extent in pairs if extent > 1)

    @property
    def result_order(self) -> Axes:
        """Iterators of the result, with iterators of the scale in the scale's order."""
        scale_axes = iter(self.scale_axes)
        return tuple(
            next(scale_axes) if axis in self.scale_axes else axis
            for axis in self.product.result
        )

    @property
    def is_profitable(self) -> bool:
        """
        True if hoisting the scale out of all products that read the operand takes fewer
        multiplications, or removes the operand's dependence on a reduction, so that
        reduction and contraction may run in one loop.
        """
        uses = list(self._operand_uses())
        readers = {use.operation for use in uses}
        if len(readers) < len(uses) or not all(map(self._can_hoist_at, uses)):
            return False
        operand_size = tensor_type(self.op.result).element_count()
        result_sizes = [
            tensor_type(each.results[0]).element_count() for each in readers
        ]
        return sum(result_sizes) < operand_size or (
            max(result_sizes) <= MAX_RESULT_GROWTH * operand_size
            and self._has_reduced_scale()
        )

    def _operand_uses(self) -> Iterator[Use]:
        """Yield the uses of the operand and of casts of it."""
        for use in self.op.result.uses:
            if isinstance(cast := use.operation, graph.CastOp):
                yield from cast.result.uses
            else:
                yield use

    def _can_hoist_at(self, use: Use) -> bool:
        """
        Return `True` if the user of the operand is a product that can hoist the scale.
        """
        if (product := Product.of(use.operation)) is None:
            return False
        scale = OperandScale.of(product, use.index)
        return scale is not None and scale.op is self.op

    def _has_reduced_scale(self) -> bool:
        """
        Return `True` if the scale is computed from the result of a reduction.
        """
        size = tensor_type(self.scale).element_count()
        leaves = leaf_values_of(
            self.scale, lambda e: tensor_type(e).element_count() <= size
        )
        return any(isinstance(each.owner, graph.ReduceOp) for each in leaves)

    def _is_independent_of_sum(self) -> bool:
        """
        Return `True` if the unscaled value has the operand's type, and the scale does
        not vary along a reduced axis.
        """
        is_whole = self.unscaled_operand.type == self.op.result.type
        return is_whole and all(axis in self.product.result for axis in self.scale_axes)

    def _has_finite_operand(self) -> bool:
        """
        Return `True` if the unscaled value remains finite in the element type of the
        contraction's operand.
        """
        return is_finite_in(
            self.unscaled_operand, tensor_type(self.product.op.operands[0]).element_type
        )


def hoist_operand_scale(found: OperandScale) -> None:
    """
    Scale the result of a contraction instead of its operand. If the axes of the scale
    are in another order, the contraction writes them in the order of the scale, and the
    scaled result is transposed.
    """
    op = found.product.op
    operand = op.operands[found.side]
    builder = Builder(InsertPoint.before(op))
    element = tensor_type(operand).element_type
    values = list(found.product.values)
    values[found.side] = TensorBuilder(builder, element).promote(found.unscaled_operand)
    _copy_location(operand, values[found.side])
    order, result = found.result_order, tensor_type(op.results[0])
    product = replace(found.product, values=(values[0], values[1]), result=order)
    total = builder.insert(_build_unrounded(product, found.product)).results[0]
    factor = TensorBuilder(builder, op.accumulator_type).promote(found.scale)
    factor = _align_scale(builder, factor, found.scale_axes, order)
    scaled = builder.insert(type(found.op)(total, factor))
    scaled.location = found.op.location
    result_value = TensorBuilder(builder, result.element_type).promote(scaled.result)
    if order != found.product.result:
        permutation = [order.index(axis) for axis in found.product.result]
        result_value = builder.insert(
            graph.TransposeOp(result_value, permutation)
        ).result
    result_value.name_hint = op.results[0].name_hint
    replace_op(op, [], [result_value])
    for each in (operand.owner, found.op):
        if isinstance(each, Operation) and not any(r.uses for r in each.results):
            Rewriter.erase_op(each)


def _copy_location(before: SSAValue, after: SSAValue) -> None:
    """
    Copy the location of the operation that defines a value to its replacement, if that
    has none.
    """
    old, new = before.owner, after.owner
    if not isinstance(old, Operation) or not isinstance(new, Operation):
        return
    if isinstance(new.location, UnknownLoc):
        new.location = old.location


def _build_unrounded(product: Product, before: Product) -> Operation:
    """
    Build a product in its accumulator type; if the axes of the result are unchanged,
    clone the original operation.
    """
    op = before.op
    if product.result != before.result:
        return product.build_contract(op.accumulator_type)
    wide = op.with_accumulator_result() or op.clone()
    wide.operands = [*product.values, *op.operands[2:]]
    wide.location = op.location
    return wide


def _align_scale(
    builder: Builder, factor: SSAValue, axes: Axes, result: Axes
) -> SSAValue:
    """Reshape a scale so that its axes align with those of the result."""
    extents = dict(
        zip(axes, non_unit_extents(tensor_type(factor).get_shape()), strict=True)
    )
    return reshape_to(factor, [extents.get(axis, 1) for axis in result], builder)


def _has_only_floats(*values: SSAValue) -> bool:
    return all(is_float(tensor_type(each).element_type) for each in values)
