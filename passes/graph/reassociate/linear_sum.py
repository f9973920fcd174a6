"""
Helper of the rewrite that distributes sums: sums along one axis that are linear in each
operand, and building of such sums as reductions or contractions.
"""

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
from tlf.dialects.types import is_float, tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.op_replacement import is_in_planned_group


@dataclass(frozen=True)
class IndexedTensor:
    """
    A tensor value, with the iterator of an operation that runs along each of its axes.
    """

    value: SSAValue
    axes: Axes

    @property
    def extents(self) -> dict[int, int]:
        """The extent of each iterator."""
        return dict(zip(self.axes, tensor_type(self.value).get_shape(), strict=True))

    def drop_unit_axes(self, builder: Builder) -> IndexedTensor:
        """Return the tensor without unit axes."""
        extents = {axis: extent for axis, extent in self.extents.items() if extent > 1}
        value = reshape_to(self.value, list(extents.values()), builder)
        return IndexedTensor(value, tuple(extents))

    def align_axes_to_iterators(self, iterators: Axes, builder: Builder) -> SSAValue:
        """
        Return the tensor transposed and reshaped to the given iterators, with unit axes
        for iterators that do not run along it.
        """
        compact = self.drop_unit_axes(builder)
        order = [axis for axis in iterators if axis in compact.axes]
        value = compact.value
        if order != list(compact.axes):
            permutation = [compact.axes.index(axis) for axis in order]
            value = builder.insert(graph.TransposeOp(value, permutation)).result
        extents = compact.extents
        return reshape_to(value, [extents.get(axis, 1) for axis in iterators], builder)


@dataclass(frozen=True)
class LinearSum:
    """
    A sum along one axis of the elements of a tensor, or of products of elements of two
    tensors.
    """

    op: AccumulatingInterface
    operands: tuple[IndexedTensor, ...]
    result: Axes
    summed_iterator: int
    """The reduced iterator."""

    @staticmethod
    def from_operation(op: Operation) -> LinearSum | None:
        """
        Return a reduction or contraction as a linear sum, or None if it does not sum
        floats along exactly one axis.
        """
        if isinstance(op, graph.ReduceOp):
            return _linear_sum_of_reduction(op)
        if (
            product := Product.from_operation(op)
        ) is None or not product.has_all_iterators_in_operands():
            return None
        operands = map(IndexedTensor, product.values, product.axes)
        return _linear_sum_along_single_axis(
            product.op, tuple(operands), product.result
        )

    @property
    def extent(self) -> int:
        """Number of summed terms."""
        return self.op.iteration_domain()[self.summed_iterator].extent

    @property
    def element_type(self) -> Attribute:
        """The accumulator type."""
        return self.op.accumulator_type

    def index_broadcast_operand(
        self, operand_index: int, value: SSAValue
    ) -> IndexedTensor:
        """
        Return a value that broadcasts to an operand, with the iterators along its axes.
        """
        axes = self.operands[operand_index].axes
        shape = tensor_type(value).get_shape()
        return IndexedTensor(value, axes[len(axes) - len(shape) :])

    def with_scaled_operand(
        self, operand_index: int, scale: IndexedTensor, builder: Builder
    ) -> LinearSum:
        """
        Return the sum with an operand multiplied by `scale`, rounded to its element
        type.
        """
        operand = self.operands[operand_index]
        element = tensor_type(operand.value).element_type
        factor = scale.align_axes_to_iterators(operand.axes, builder)
        wide = TensorBuilder(builder, self.element_type)
        product = wide.mul(
            wide.promote_to_builder_type(operand.value),
            wide.promote_to_builder_type(factor),
        )
        operands = list(self.operands)
        narrow = TensorBuilder(builder, element).promote_to_builder_type(product)
        operands[operand_index] = IndexedTensor(narrow, operand.axes)
        return replace(self, operands=tuple(operands))

    def build_sum_with_operand_terms(
        self, operand_index: int, terms: SSAValue | None, builder: Builder
    ) -> IndexedTensor:
        """
        Build the sum with an operand replaced by `terms`, which broadcast to the
        operand and vary along the reduced axis, or by ones for None.
        """
        other_operands = [
            each for n, each in enumerate(self.operands) if n != operand_index
        ]
        if terms is None:
            return self._build_sum_of_products(other_operands, builder)
        if terms.type == self.operands[operand_index].value.type:
            return IndexedTensor(
                self._clone_with_operand_terms(operand_index, terms, builder),
                self.result,
            )
        indexed = self.index_broadcast_operand(operand_index, terms).drop_unit_axes(
            builder
        )
        operands = (
            [indexed, *other_operands]
            if operand_index == 0
            else [*other_operands, indexed]
        )
        return self._build_sum_of_products(operands, builder)

    def _clone_with_operand_terms(
        self, operand_index: int, terms: SSAValue, builder: Builder
    ) -> SSAValue:
        """Insert a clone of the sum on `terms`, reshaped to the result's iterators."""
        clone = self.op.build_with_accumulator_result() or self.op.clone()
        operands = [each.value for each in self.operands]
        operands[operand_index] = terms
        clone.operands = operands
        clone.location = self.op.location
        total = builder.insert(clone).results[0]
        shape = [self._iterator_extents[axis] for axis in self.result]
        return reshape_to(total, shape, builder)

    @property
    def _iterator_extents(self) -> dict[int, int]:
        return {n: each.extent for n, each in enumerate(self.op.iteration_domain())}

    def _build_sum_of_products(
        self, operands: Sequence[IndexedTensor], builder: Builder
    ) -> IndexedTensor:
        """Build the sum of products of operands; the extent if there are none."""
        program = TensorBuilder(builder, self.element_type)
        axes = {axis for each in operands for axis in each.axes}
        result = tuple(axis for axis in self.result if axis in axes)
        match operands:
            case []:
                return IndexedTensor(program.constant(float(self.extent)), ())
            case [operand]:
                dim = operand.axes.index(self.summed_iterator)
                wide = program.promote_to_builder_type(operand.value)
                total = program.reduce(wide, ReduceKind.SUM, [dim], False)
                remaining = tuple(
                    axis for axis in operand.axes if axis != self.summed_iterator
                )
                return IndexedTensor(total, remaining)
            case _:
                return IndexedTensor(
                    self._build_contraction_of_operands(operands, result, builder),
                    result,
                )

    def _build_contraction_of_operands(
        self,
        operands: Sequence[IndexedTensor],
        result_iterators: Axes,
        builder: Builder,
    ) -> SSAValue:
        """Insert the contraction of two indexed operands in the accumulator type."""
        iterators = {
            axis: iterator
            for iterator, axis in enumerate(
                dict.fromkeys(axis for each in operands for axis in each.axes)
            )
        }
        left, right = (
            tuple(iterators[axis] for axis in each.axes) for each in operands
        )
        values = cast(tuple[SSAValue, SSAValue], tuple(each.value for each in operands))
        op = self.op
        assert isinstance(op, ContractionInterface)
        product = Product(
            op,
            values,
            (left, right),
            tuple(iterators[axis] for axis in result_iterators),
        )
        contract = product.build_contract(self.element_type)
        return builder.insert(contract).result


def _linear_sum_of_reduction(op: graph.ReduceOp) -> LinearSum | None:
    """Return a `graph.reduce` as a linear sum; `None` unless an unplanned float sum."""
    if op.reduce_kind is not ReduceKind.SUM or op.init_value is not None:
        return None
    if is_in_planned_group(op) or not is_float(tensor_type(op.operand).element_type):
        return None
    axes = tuple(range(len(tensor_type(op.operand).get_shape())))
    remaining = tuple(axis for axis in axes if axis not in op.axis_list)
    return _linear_sum_along_single_axis(
        op, (IndexedTensor(op.operand, axes),), remaining
    )


def _linear_sum_along_single_axis(
    op: AccumulatingInterface,
    operands: tuple[IndexedTensor, ...],
    result_iterators: Axes,
) -> LinearSum | None:
    """
    Return a sum of floats, if it reduces exactly one axis of every operand; else None.
    """
    iterators = range(len(op.iteration_domain()))
    summed = [axis for axis in iterators if axis not in result_iterators]
    floats = all(is_float(tensor_type(e.value).element_type) for e in operands)
    if len(summed) != 1 or not floats:
        return None
    if any(summed[0] not in each.axes for each in operands):
        return None
    return LinearSum(op, operands, result_iterators, summed[0])
