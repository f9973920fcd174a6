"""
Rewrite step of the pass `graph-split-k-reductions`: rebuilding of operations on the
parts of a split axis.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import cast

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import non_unit_extents, reshape_to
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise
from tlf.passes.graph.split_reductions.partial_values import (
    PartialValues,
    insert_unit_axis,
    partition_axis,
)
from tlf.support.affine.index_access import Accesses


class NotSplittableError(Exception):
    """Error raised if an operation cannot be rebuilt on parts."""


def can_rebuild_on_parts(op: Operation) -> bool:
    """Return `True` if an operation can be rebuilt on parts."""
    kinds = graph.ReduceOp | graph.BroadcastOp | graph.ReshapeOp | ContractionInterface
    return is_pointwise(op) or isinstance(op, kinds)


@dataclass
class PartialBuilder:
    """Rebuilds operations on the parts of a split axis class."""

    axes: AxisClasses
    axis: Hashable
    """Representative of the axis class."""
    parts: int
    values: dict[SSAValue, PartialValues] = field(
        default_factory=dict[SSAValue, PartialValues]
    )
    """
    Partial values, results and operands of rebuilt operations, by original value.
    """

    def split_iterator_of(self, op: TilingInterface) -> int | None:
        """
        Return the iterator of an operation that runs along the split axis, or None.
        Raises `NotSplittableError` for several iterators.
        """
        match self.axes.iterators_in(op, self.axis):
            case []:
                return None
            case [iterator]:
                return iterator
            case _:
                raise NotSplittableError

    def build_partial(
        self, op: TilingInterface, place: int | None = None
    ) -> PartialValues:
        """
        Rebuild an operation on parts, before the operation. For a reduction of the
        split axis, `place` is not None: the result is not rounded, and `place` is the
        axis of the parts in the result of a contraction.
        """
        if not can_rebuild_on_parts(op):
            raise NotSplittableError
        builder = Builder(InsertPoint.before(op))
        match op:
            case graph.ReduceOp():
                operand = self._require_operand(op, 0, builder)
                result = self.reduce_parts(op, operand, place is not None, builder)
            case ContractionInterface():
                result = self._contract_parts(op, place, builder)
            case graph.ReshapeOp():
                result = self._reshape_parts(op, builder)
            case _:
                result = self._compute_parts(op, builder)
        self.values[op.results[0]] = result
        return result

    def partial_operand_of(
        self, op: TilingInterface, place: int, builder: Builder
    ) -> PartialValues | None:
        """
        Return the parts of an operand, or None if all parts share the operand.
        """
        value = op.operands[place]
        if value in self.values:
            return self.values[value]
        accesses = self.axes.forms.of(op).indexing_maps[place]
        if (axis := self._split_axis_of(op, accesses)) is None:
            return None
        self.values[value] = partition_axis(value, axis, self.parts, builder)
        return self.values[value]

    def _split_axis_of(
        self, op: TilingInterface, accesses: Accesses | None
    ) -> int | None:
        """Return the axis of an operand along which it is split, or None."""
        iterator = self.split_iterator_of(op)
        if iterator is None or accesses is None:
            return None
        used = [n for n, each in enumerate(accesses) if each.depends_on({iterator})]
        if not used:
            return None
        if len(used) > 1 or not accesses[used[0]].is_loop_dim:
            raise NotSplittableError
        return used[0]

    @staticmethod
    def reduce_parts(
        op: graph.ReduceOp, operand: PartialValues, is_step: bool, builder: Builder
    ) -> PartialValues:
        """
        Return the parts of an operand, reduced like by `op`; in the accumulator type if
        `is_step`.
        """
        reduced = [each + (each >= operand.axis) for each in op.axis_list]
        keepdims = op.keepdims is not None
        dropped = 0 if keepdims else sum(each < operand.axis for each in op.axis_list)
        reduction = graph.ReduceOp(
            operand.value,
            op.combination,
            reduced,
            keepdims,
            acc=op.properties.get("acc"),
            element=_result_element_of(op, is_step),
        )
        reduction.location = op.location
        return PartialValues(builder.insert(reduction).result, operand.axis - dropped)

    def _contract_parts(
        self, op: ContractionInterface, place: int | None, builder: Builder
    ) -> PartialValues:
        product, split_iterator = Product.of(op), self.split_iterator_of(op)
        if product is None or split_iterator is None or not product.has_all_iterators():
            raise NotSplittableError
        inner = len(op.iteration_domain())
        values, sides = list(product.values), list(product.axes)
        for side, axes in enumerate(product.axes):
            operand = self.partial_operand_of(op, side, builder)
            if (split_iterator in axes) != (operand is not None):
                raise NotSplittableError
            if operand is not None:
                if operand.axis != axes.index(split_iterator):
                    raise NotSplittableError
                values[side], sides[side] = (
                    operand.value,
                    _with_inner_axis(axes, split_iterator, inner),
                )
        if place is None:
            first = product.result.index(split_iterator)
            result = _with_inner_axis(product.result, split_iterator, inner)
        else:
            first = place
            result = (*product.result[:place], split_iterator, *product.result[place:])
        partial_product = Product(
            op,
            cast(tuple[SSAValue, SSAValue], tuple(values)),
            cast(tuple[Axes, Axes], tuple(sides)),
            result,
        )
        contract = partial_product.build_contract(
            _result_element_of(op, place is not None)
        )
        return PartialValues(builder.insert(contract).result, first)

    def _reshape_parts(self, op: graph.ReshapeOp, builder: Builder) -> PartialValues:
        """Rebuild a reshape that only adds or drops unit axes."""
        operand = self._require_operand(op, 0, builder)
        source, shape = (tensor_type(e).get_shape() for e in (op.operand, op.result))
        if non_unit_extents(source) != non_unit_extents(shape):
            raise NotSplittableError
        before, is_split = (
            non_unit_extents(source[: operand.axis]),
            self.split_iterator_of(op) is not None,
        )
        axis = next(
            n
            for n in range(len(shape) + 1)
            if non_unit_extents(shape[:n]) == before
            and not (is_split and shape[n] == 1)
        )
        inner = [shape[axis] // self.parts] if is_split else []
        new_shape = (*shape[:axis], self.parts, *inner, *shape[axis + is_split :])
        return PartialValues(reshape_to(operand.value, new_shape, builder), axis)

    def _compute_parts(self, op: TilingInterface, builder: Builder) -> PartialValues:
        indices = range(len(op.operands))
        operands = [self.partial_operand_of(op, index, builder) for index in indices]
        split_iterator, shape = (
            self.split_iterator_of(op),
            list(tensor_type(op.results[0]).get_shape()),
        )
        trailing = [each.trailing_axes for each in operands if each is not None]
        if not trailing:
            raise NotSplittableError
        count = max(trailing) if split_iterator is None else len(shape) - split_iterator
        values = [self._align_operand(op, each, count, builder) for each in indices]
        axis = len(shape) - count
        if split_iterator is not None:
            shape[axis] //= self.parts
        shape.insert(axis, self.parts)
        return PartialValues(rebuild_elementwise(op, values, shape, builder), axis)

    def _align_operand(
        self, op: TilingInterface, place: int, count: int, builder: Builder
    ) -> SSAValue:
        """
        Return an operand with `count` axes after the axis of the parts; an operand
        without parts broadcasts to this shape.
        """
        operand, value = self.partial_operand_of(op, place, builder), op.operands[place]
        rank = len(tensor_type(value).get_shape())
        if operand is None:
            return (
                value
                if rank <= count
                else insert_unit_axis(value, rank - count, builder)
            )
        if operand.trailing_axes == count:
            return operand.value
        accesses = self.axes.forms.of(op).indexing_maps[place]
        if self._split_axis_of(op, accesses) is not None:
            raise NotSplittableError
        first, *rest = (
            aligned := operand.move_parts_axis(max(rank - count, 0), builder)
        ).shape
        if rank >= count:
            return aligned.value
        ones = [1] * (count - rank)
        return reshape_to(aligned.value, [first, *ones, *rest], builder)

    def _require_operand(
        self, op: TilingInterface, place: int, builder: Builder
    ) -> PartialValues:
        if (operand := self.partial_operand_of(op, place, builder)) is None:
            raise NotSplittableError
        return operand


def _result_element_of(op: AccumulatingInterface, is_step: bool) -> Attribute:
    result_element = tensor_type(op.results[0]).element_type
    return op.accumulator_type if is_step else result_element


def _with_inner_axis(axes: Axes, along: int, inner: int) -> Axes:
    """Insert the iterator `inner` after the iterator of the parts."""
    position = axes.index(along) + 1
    return (*axes[:position], inner, *axes[position:])
