"""Sums of terms that are linear in an operand, along one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.product import Axes, Product


@dataclass(frozen=True)
class Placed:
    """A tensor, and the iterators that run along its axes."""

    value: SSAValue
    axes: Axes

    @property
    def extents(self) -> dict[int, int]:
        """The extents of the iterators."""
        return dict(zip(self.axes, tensor_type(self.value).get_shape(), strict=True))

    def squeezed(self, builder: Builder) -> Placed:
        """The same without axes of extent 1."""
        long = {axis: extent for axis, extent in self.extents.items() if extent > 1}
        value = reshaped(self.value, list(long.values()), builder)
        return Placed(value, tuple(long))

    def along(self, axes: Axes, builder: Builder) -> SSAValue:
        """The tensor with given axes, of extent 1 where it has none."""
        long = self.squeezed(builder)
        order = [axis for axis in axes if axis in long.axes]
        value = long.value
        if order != list(long.axes):
            places = [long.axes.index(axis) for axis in order]
            value = builder.insert(graph.TransposeOp(value, places)).result
        extents = long.extents
        return reshaped(value, [extents.get(axis, 1) for axis in axes], builder)


@dataclass(frozen=True)
class LinearSum:
    """
    A sum along one axis, of the elements of a tensor or of products of those of two.
    """

    op: AccumulatingInterface
    operands: tuple[Placed, ...]
    result: Axes
    summed: int
    """The iterator that the sum runs along."""

    @staticmethod
    def of(op: Operation) -> LinearSum | None:
        """The sum that an operation is, if it is one."""
        if isinstance(op, graph.ReduceOp):
            return _reduction(op)
        if (product := Product.of(op)) is None or not product.is_whole():
            return None
        operands = map(Placed, product.values, product.axes)
        return _along_one(product.op, tuple(operands), product.result)

    @property
    def extent(self) -> int:
        """Number of terms that are summed up."""
        return self.op.iterators()[self.summed].extent

    @property
    def element(self) -> Attribute:
        """The type that terms are added up in."""
        return self.op.accumulator_type

    def read(self, side: int, value: SSAValue) -> Placed:
        """A value that broadcasts to an operand, without axes along which it does."""
        axes = self.operands[side].axes
        shape = tensor_type(value).get_shape()
        return Placed(value, axes[len(axes) - len(shape) :])

    def scaled(self, side: int, scale: Placed, builder: Builder) -> LinearSum:
        """The same with another operand times what differs along its axis alone."""
        operand = self.operands[side]
        element = tensor_type(operand.value).element_type
        factor = scale.along(operand.axes, builder)
        wide = TensorProgram(builder, self.element)
        product = wide.mul(wide.widened(operand.value), wide.widened(factor))
        operands = list(self.operands)
        narrow = TensorProgram(builder, element).widened(product)
        operands[side] = Placed(narrow, operand.axes)
        return replace(self, operands=tuple(operands))

    def build(self, side: int, terms: SSAValue | None, builder: Builder) -> Placed:
        """
        The sum with other terms than an operand, which broadcast to it; with ones where
        there are none. `terms` differ along the axis that the sum runs along.
        """
        others = [each for n, each in enumerate(self.operands) if n != side]
        if terms is None:
            return self._sum_of(others, builder)
        if terms.type == self.operands[side].value.type:
            return Placed(self._alike(side, terms, builder), self.result)
        own = self.read(side, terms).squeezed(builder)
        operands = [own, *others] if side == 0 else [*others, own]
        return self._sum_of(operands, builder)

    def _alike(self, side: int, terms: SSAValue, builder: Builder) -> SSAValue:
        made = self.op.with_accumulator_result() or self.op.clone()
        operands = [each.value for each in self.operands]
        operands[side] = terms
        made.operands = operands
        made.location = self.op.location
        total = builder.insert(made).results[0]
        shape = [self._extents[axis] for axis in self.result]
        return reshaped(total, shape, builder)

    @property
    def _extents(self) -> dict[int, int]:
        return {n: each.extent for n, each in enumerate(self.op.iterators())}

    def _sum_of(self, operands: Sequence[Placed], builder: Builder) -> Placed:
        """The sum of other operands; a number where there are none."""
        program = TensorProgram(builder, self.element)
        axes = {axis for each in operands for axis in each.axes}
        result = tuple(axis for axis in self.result if axis in axes)
        match operands:
            case []:
                return Placed(program.number(float(self.extent)), ())
            case [one]:
                place = one.axes.index(self.summed)
                wide = program.widened(one.value)
                total = program.reduce(wide, ReduceKind.SUM, [place], False)
                rest = tuple(axis for axis in one.axes if axis != self.summed)
                return Placed(total, rest)
            case _:
                return Placed(self._product_of(operands, result, builder), result)

    def _product_of(
        self, operands: Sequence[Placed], result: Axes, builder: Builder
    ) -> SSAValue:
        numbers = {
            axis: number
            for number, axis in enumerate(
                dict.fromkeys(axis for each in operands for axis in each.axes)
            )
        }
        left, right = (tuple(numbers[axis] for axis in each.axes) for each in operands)
        values = cast(tuple[SSAValue, SSAValue], tuple(each.value for each in operands))
        op = self.op
        assert isinstance(op, ContractionInterface)
        product = Product(
            op, values, (left, right), tuple(numbers[axis] for axis in result)
        )
        made = product.build(self.element)
        return builder.insert(made).result


def _reduction(op: graph.ReduceOp) -> LinearSum | None:
    if op.combination is not ReduceKind.SUM or op.init_value is not None:
        return None
    if is_planned(op) or not is_float(tensor_type(op.operand).element_type):
        return None
    axes = tuple(range(len(tensor_type(op.operand).get_shape())))
    kept = tuple(axis for axis in axes if axis not in op.axis_list)
    return _along_one(op, (Placed(op.operand, axes),), kept)


def _along_one(
    op: AccumulatingInterface, operands: tuple[Placed, ...], result: Axes
) -> LinearSum | None:
    """A sum of floats, if it runs along one axis."""
    iterators = range(len(op.iterators()))
    summed = [axis for axis in iterators if axis not in result]
    floats = all(is_float(tensor_type(e.value).element_type) for e in operands)
    if len(summed) != 1 or not floats:
        return None
    if any(summed[0] not in each.axes for each in operands):
        return None
    return LinearSum(op, operands, result, summed[0])
