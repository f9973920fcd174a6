"""Factors of the operands of a contraction that its result takes instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.builder import Builder
from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.replacement import is_planned
from tlf.dialects.rewriting import replace_op
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.hoist_scalars.magnitude import stays_finite
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.pointwise import leaves
from tlf.passes.graph.product import Axes, Product

FREE = 4
"""
A result of up to so many times the elements of an operand takes its factor where the
operand then needs no reduction, though that takes more products.
"""


@dataclass(frozen=True)
class Factor:
    """
    An operand of a product that is itself one of a tensor and a factor, or a quotient,
    where the factor is the same along all axes that the product sums over.
    """

    product: Product
    side: int
    op: graph.MulOp | graph.DivOp
    factor: int
    """
    Index of the operand of `op` that is the factor; the other one is as large as its
    result.
    """

    @staticmethod
    def of(product: Product, side: int) -> Factor | None:
        """The factor of an operand that the result can take, if it has one."""
        value = product.values[side]
        cast = value.owner
        scaled = cast.operand if isinstance(cast, graph.CastOp) else value
        op = scaled.owner
        if not isinstance(op, graph.MulOp | graph.DivOp) or is_planned(op):
            return None
        if not _are_floats(scaled, value):
            return None
        for number in (1,) if isinstance(op, graph.DivOp) else (0, 1):
            found = Factor(product, side, op, number)
            if found._is_apart() and found._keeps_range():
                return found
        return None

    @property
    def value(self) -> SSAValue:
        """The factor."""
        return self.op.operands[self.factor]

    @property
    def rest(self) -> SSAValue:
        """The value that it is multiplied with."""
        return self.op.operands[1 - self.factor]

    @property
    def axes(self) -> Axes:
        """The iterators along which the factor differs."""
        shape = tensor_type(self.value).get_shape()
        iterators = self.product.axes[self.side][-len(shape) :] if shape else ()
        pairs = zip(iterators, shape, strict=True)
        return tuple(iterator for iterator, extent in pairs if extent > 1)

    @property
    def order(self) -> Axes:
        """The axes of the result, those that the factor has in the factor's order."""
        own = iter(self.axes)
        return tuple(
            next(own) if axis in self.axes else axis for axis in self.product.result
        )

    @property
    def pays(self) -> bool:
        """
        True if the result is to take it, along with the results of all products that
        read the same: for fewer products, or so that the inputs of contractions need no
        result of a reduction, and one loop may do for both.
        """
        uses = list(self._uses())
        readers = {use.operation for use in uses}
        if len(readers) < len(uses) or not all(map(self._is_taken_by, uses)):
            return False
        own = tensor_type(self.op.result).element_count()
        made = [tensor_type(each.results[0]).element_count() for each in readers]
        return sum(made) < own or (max(made) <= FREE * own and self._is_reduced())

    def _uses(self) -> Iterator[Use]:
        """Yield the uses of the operand, rounded or not."""
        for use in self.op.result.uses:
            if isinstance(cast := use.operation, graph.CastOp):
                yield from cast.result.uses
            else:
                yield use

    def _is_taken_by(self, use: Use) -> bool:
        """
        Return `True` if a use of the operand is by a product whose result can take the
        factor.
        """
        if (product := Product.of(use.operation)) is None:
            return False
        found = Factor.of(product, use.index)
        return found is not None and found.op is self.op

    def _is_reduced(self) -> bool:
        """
        Return `True` if a reduction computes the factor, or a value that it is computed
        from.
        """
        most = tensor_type(self.value).element_count()
        found = leaves(self.value, lambda e: tensor_type(e).element_count() <= most)
        return any(isinstance(each.owner, graph.ReduceOp) for each in found)

    def _is_apart(self) -> bool:
        """
        Return `True` if the rest is a whole operand, and no sum runs along the factor.
        """
        is_whole = self.rest.type == self.op.result.type
        return is_whole and all(axis in self.product.result for axis in self.axes)

    def _keeps_range(self) -> bool:
        """
        Return `True` if the rest is finite in the type that the contraction reads.
        """
        return stays_finite(
            self.rest, tensor_type(self.product.op.operands[0]).element_type
        )


def defer(found: Factor) -> None:
    """
    Multiply the result of a contraction by a factor, and not its operand. Where axes of
    the factor are in another order, the contraction writes them in that of the factor,
    and what it is multiplied to is permuted.
    """
    op = found.product.op
    operand = op.operands[found.side]
    builder = Builder(InsertPoint.before(op))
    element = tensor_type(operand).element_type
    values = list(found.product.values)
    values[found.side] = TensorProgram(builder, element).widened(found.rest)
    _place_at(operand, values[found.side])
    order, result = found.order, tensor_type(op.results[0])
    product = replace(found.product, values=(values[0], values[1]), result=order)
    total = builder.insert(_built(product, found.product)).results[0]
    factor = TensorProgram(builder, op.accumulator_type).widened(found.value)
    factor = _along(builder, factor, found.axes, order)
    made = builder.insert(type(found.op)(total, factor))
    made.location = found.op.location
    last = TensorProgram(builder, result.element_type).widened(made.result)
    if order != found.product.result:
        places = [order.index(axis) for axis in found.product.result]
        last = builder.insert(graph.TransposeOp(last, places)).result
    last.name_hint = op.results[0].name_hint
    replace_op(op, [], [last])
    for each in (operand.owner, found.op):
        if isinstance(each, Operation) and not any(r.uses for r in each.results):
            Rewriter.erase_op(each)


def _place_at(before: SSAValue, after: SSAValue) -> None:
    """
    Copy the location of the operation that computes a value to the one that replaces
    it.
    """
    old, new = before.owner, after.owner
    if not isinstance(old, Operation) or not isinstance(new, Operation):
        return
    if isinstance(new.location, UnknownLoc):
        new.location = old.location


def _built(product: Product, before: Product) -> Operation:
    """A product that is not rounded, an operation like before if it writes alike."""
    op = before.op
    if product.result != before.result:
        return product.build(op.accumulator_type)
    wide = op.with_accumulator_result() or op.clone()
    wide.operands = [*product.values, *op.operands[2:]]
    wide.location = op.location
    return wide


def _along(builder: Builder, factor: SSAValue, axes: Axes, result: Axes) -> SSAValue:
    """A factor with its axes where those of the result are that it differs along."""
    extents = dict(zip(axes, _long(tensor_type(factor).get_shape()), strict=True))
    return reshaped(factor, [extents.get(axis, 1) for axis in result], builder)


def _long(shape: Sequence[int]) -> list[int]:
    return [extent for extent in shape if extent > 1]


def _are_floats(*values: SSAValue) -> bool:
    return all(is_float(tensor_type(each).element_type) for each in values)
