"""Sums along one axis that are linear in each operand: reductions and contractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import AccumulatingInterface, ContractionInterface
from tlf.dialects.op_replacement import is_in_planned_group
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to


@dataclass(frozen=True)
class IndexedTensor:
    """A tensor with the iterator that runs along each of its axes."""

    value: SSAValue
    axes: Axes

    @property
    def extents(self) -> dict[int, int]:
        """The extents of the iterators."""
        return dict(zip(self.axes, tensor_type(self.value).get_shape(), strict=True))

    def drop_unit_axes(self, builder: Builder) -> IndexedTensor:
        """Return the tensor without unit axes."""
        long = {axis: extent for axis, extent in self.extents.items() if extent > 1}
        value = reshape_to(self.value, list(long.values()), builder)
        return IndexedTensor(value, tuple(long))

    def align_to(self, axes: Axes, builder: Builder) -> SSAValue:
        """
        Return the tensor transposed and reshaped to given iterators, with unit axes
        where it has none.
        """
        long = self.drop_unit_axes(builder)
        order = [axis for axis in axes if axis in long.axes]
        value = long.value
        if order != list(long.axes):
            places = [long.axes.index(axis) for axis in order]
            value = builder.insert(graph.TransposeOp(value, places)).result
        extents = long.extents
        return reshape_to(value, [extents.get(axis, 1) for axis in axes], builder)


@dataclass(frozen=True)
class LinearSum:
    """
    A sum along one axis, of the elements of a tensor or of products of those of two.
    """

    op: AccumulatingInterface
    operands: tuple[IndexedTensor, ...]
    result: Axes
    summed_iterator: int
    """The iterator that the sum runs along."""

    @staticmethod
    def of(op: Operation) -> LinearSum | None:
        """Return an operation as a linear sum, or None."""
        if isinstance(op, graph.ReduceOp):
            return _sum_of_reduction(op)
        if (product := Product.of(op)) is None or not product.has_all_iterators():
            return None
        operands = map(IndexedTensor, product.values, product.axes)
        return _single_axis_sum(product.op, tuple(operands), product.result)

    @property
    def extent(self) -> int:
        """Number of terms that are summed up."""
        return self.op.iteration_domain()[self.summed_iterator].extent

    @property
    def element_type(self) -> Attribute:
        """The type that terms are added up in."""
        return self.op.accumulator_type

    def index_operand(self, side: int, value: SSAValue) -> IndexedTensor:
        """
        Return a value that broadcasts to an operand, with the iterators along its axes.
        """
        axes = self.operands[side].axes
        shape = tensor_type(value).get_shape()
        return IndexedTensor(value, axes[len(axes) - len(shape) :])

    def with_scaled_operand(
        self, side: int, scale: IndexedTensor, builder: Builder
    ) -> LinearSum:
        """
        Return the sum with another operand scaled by what varies along its axis alone.
        """
        operand = self.operands[side]
        element = tensor_type(operand.value).element_type
        factor = scale.align_to(operand.axes, builder)
        wide = TensorBuilder(builder, self.element_type)
        product = wide.mul(wide.promote(operand.value), wide.promote(factor))
        operands = list(self.operands)
        narrow = TensorBuilder(builder, element).promote(product)
        operands[side] = IndexedTensor(narrow, operand.axes)
        return replace(self, operands=tuple(operands))

    def build_sum(
        self, side: int, terms: SSAValue | None, builder: Builder
    ) -> IndexedTensor:
        """
        Build the sum with an operand replaced by terms that broadcast to it, or by ones
        if there are none. `terms` differ along the axis that the sum runs along.
        """
        others = [each for n, each in enumerate(self.operands) if n != side]
        if terms is None:
            return self._build_sum_of(others, builder)
        if terms.type == self.operands[side].value.type:
            return IndexedTensor(
                self._clone_with_terms(side, terms, builder), self.result
            )
        own = self.index_operand(side, terms).drop_unit_axes(builder)
        operands = [own, *others] if side == 0 else [*others, own]
        return self._build_sum_of(operands, builder)

    def _clone_with_terms(
        self, side: int, terms: SSAValue, builder: Builder
    ) -> SSAValue:
        made = self.op.with_accumulator_result() or self.op.clone()
        operands = [each.value for each in self.operands]
        operands[side] = terms
        made.operands = operands
        made.location = self.op.location
        total = builder.insert(made).results[0]
        shape = [self._iterator_extents[axis] for axis in self.result]
        return reshape_to(total, shape, builder)

    @property
    def _iterator_extents(self) -> dict[int, int]:
        return {n: each.extent for n, each in enumerate(self.op.iteration_domain())}

    def _build_sum_of(
        self, operands: Sequence[IndexedTensor], builder: Builder
    ) -> IndexedTensor:
        """The sum of other operands; a number where there are none."""
        program = TensorBuilder(builder, self.element_type)
        axes = {axis for each in operands for axis in each.axes}
        result = tuple(axis for axis in self.result if axis in axes)
        match operands:
            case []:
                return IndexedTensor(program.constant(float(self.extent)), ())
            case [one]:
                place = one.axes.index(self.summed_iterator)
                wide = program.promote(one.value)
                total = program.reduce(wide, ReduceKind.SUM, [place], False)
                rest = tuple(axis for axis in one.axes if axis != self.summed_iterator)
                return IndexedTensor(total, rest)
            case _:
                return IndexedTensor(
                    self._build_product_of(operands, result, builder), result
                )

    def _build_product_of(
        self, operands: Sequence[IndexedTensor], result: Axes, builder: Builder
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
        made = product.build_contract(self.element_type)
        return builder.insert(made).result


def _sum_of_reduction(op: graph.ReduceOp) -> LinearSum | None:
    if op.combination is not ReduceKind.SUM or op.init_value is not None:
        return None
    if is_in_planned_group(op) or not is_float(tensor_type(op.operand).element_type):
        return None
    axes = tuple(range(len(tensor_type(op.operand).get_shape())))
    kept = tuple(axis for axis in axes if axis not in op.axis_list)
    return _single_axis_sum(op, (IndexedTensor(op.operand, axes),), kept)


def _single_axis_sum(
    op: AccumulatingInterface, operands: tuple[IndexedTensor, ...], result: Axes
) -> LinearSum | None:
    """
    Return a sum of floats, if it reduces exactly one axis of every operand; else None.
    """
    iterators = range(len(op.iteration_domain()))
    summed = [axis for axis in iterators if axis not in result]
    floats = all(is_float(tensor_type(e.value).element_type) for e in operands)
    if len(summed) != 1 or not floats:
        return None
    if any(summed[0] not in each.axes for each in operands):
        return None
    return LinearSum(op, operands, result, summed[0])
