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
    split_axis_into_parts,
)
from tlf.support.affine.index_access import Accesses


class CannotRebuildOnPartsError(Exception):
    """Error raised if an operation cannot be rebuilt on parts."""


def can_rebuild_on_parts(op: Operation) -> bool:
    """Return `True` if an operation can be rebuilt on parts."""
    kinds = graph.ReduceOp | graph.BroadcastOp | graph.ReshapeOp | ContractionInterface
    return is_pointwise(op) or isinstance(op, kinds)


@dataclass
class PartialBuilder:
    """Builder of variants of graph operations on the parts of a split axis class."""

    axis_classes: AxisClasses
    split_axis_class: Hashable
    """Representative of the axis class."""
    part_count: int
    partial_values: dict[SSAValue, PartialValues] = field(
        default_factory=dict[SSAValue, PartialValues]
    )
    """
    Partial values, results and operands of rebuilt operations, by original value.
    """

    def split_iterator_of(self, op: TilingInterface) -> int | None:
        """
        Return the iterator of an operation that runs along the split axis, or None.
        Raises `CannotRebuildOnPartsError` for several iterators.
        """
        match self.axis_classes.iterators_in_class(op, self.split_axis_class):
            case []:
                return None
            case [iterator]:
                return iterator
            case _:
                raise CannotRebuildOnPartsError

    def rebuild_on_parts(
        self, op: TilingInterface, parts_axis: int | None = None
    ) -> PartialValues:
        """
        Rebuild an operation on parts, before the operation. For a reduction of the
        split axis, `parts_axis` is not None: the result is not rounded, and
        `parts_axis` is the axis of the parts in the result of a contraction.
        """
        if not can_rebuild_on_parts(op):
            raise CannotRebuildOnPartsError
        builder = Builder(InsertPoint.before(op))
        match op:
            case graph.ReduceOp():
                operand = self._require_partial_operand(op, 0, builder)
                result = self.rebuild_reduction_on_parts(
                    op, operand, parts_axis is not None, builder
                )
            case ContractionInterface():
                result = self._rebuild_contraction_on_parts(op, parts_axis, builder)
            case graph.ReshapeOp():
                result = self._rebuild_unit_reshape_on_parts(op, builder)
            case _:
                result = self._rebuild_elementwise_on_parts(op, builder)
        self.partial_values[op.results[0]] = result
        return result

    def partial_operand_of(
        self, op: TilingInterface, operand_index: int, builder: Builder
    ) -> PartialValues | None:
        """
        Return the parts of an operand, or None if all parts share the operand.
        """
        value = op.operands[operand_index]
        if value in self.partial_values:
            return self.partial_values[value]
        accesses = self.axis_classes.op_facts.facts_of(op).indexing_maps[operand_index]
        if (axis := self._split_axis_of(op, accesses)) is None:
            return None
        self.partial_values[value] = split_axis_into_parts(
            value, axis, self.part_count, builder
        )
        return self.partial_values[value]

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
            raise CannotRebuildOnPartsError
        return used[0]

    @staticmethod
    def rebuild_reduction_on_parts(
        op: graph.ReduceOp,
        operand: PartialValues,
        keeps_accumulator_type: bool,
        builder: Builder,
    ) -> PartialValues:
        """
        Return the parts of an operand, reduced like by `op`; in the accumulator type if
        `keeps_accumulator_type`.
        """
        reduced = [each + (each >= operand.parts_axis) for each in op.axis_list]
        keepdims = op.keepdims is not None
        dropped = (
            0 if keepdims else sum(each < operand.parts_axis for each in op.axis_list)
        )
        reduction = graph.ReduceOp(
            operand.value,
            op.reduce_kind,
            reduced,
            keepdims,
            acc=op.properties.get("acc"),
            element=_element_type_of_partial_result(op, keeps_accumulator_type),
        )
        reduction.location = op.location
        return PartialValues(
            builder.insert(reduction).result, operand.parts_axis - dropped
        )

    def _rebuild_contraction_on_parts(
        self, op: ContractionInterface, parts_axis: int | None, builder: Builder
    ) -> PartialValues:
        """Build contraction `op` on split operands, with an axis of parts."""
        product, split_iterator = Product.from_operation(op), self.split_iterator_of(op)
        if (
            product is None
            or split_iterator is None
            or not product.has_all_iterators_in_operands()
        ):
            raise CannotRebuildOnPartsError
        inner = len(op.iteration_domain())
        values, sides = list(product.values), list(product.axes)
        for side, axes in enumerate(product.axes):
            operand = self.partial_operand_of(op, side, builder)
            if (split_iterator in axes) != (operand is not None):
                raise CannotRebuildOnPartsError
            if operand is not None:
                if operand.parts_axis != axes.index(split_iterator):
                    raise CannotRebuildOnPartsError
                values[side], sides[side] = (
                    operand.value,
                    _insert_iterator_after_parts(axes, split_iterator, inner),
                )
        first, result = _insert_parts_into_result(
            product.result, split_iterator, inner, parts_axis
        )
        partial_product = Product(
            op,
            cast(tuple[SSAValue, SSAValue], tuple(values)),
            cast(tuple[Axes, Axes], tuple(sides)),
            result,
        )
        contract = partial_product.build_contract(
            _element_type_of_partial_result(op, parts_axis is not None)
        )
        return PartialValues(builder.insert(contract).result, first)

    def _rebuild_unit_reshape_on_parts(
        self, op: graph.ReshapeOp, builder: Builder
    ) -> PartialValues:
        """
        Build `op` on parts, if it only adds or drops unit axes. Raises
        `CannotRebuildOnPartsError` otherwise.
        """
        operand = self._require_partial_operand(op, 0, builder)
        source, shape = (tensor_type(e).get_shape() for e in (op.operand, op.result))
        if non_unit_extents(source) != non_unit_extents(shape):
            raise CannotRebuildOnPartsError
        before, is_split = (
            non_unit_extents(source[: operand.parts_axis]),
            self.split_iterator_of(op) is not None,
        )
        axis = next(
            n
            for n in range(len(shape) + 1)
            if non_unit_extents(shape[:n]) == before
            and not (is_split and shape[n] == 1)
        )
        inner = [shape[axis] // self.part_count] if is_split else []
        new_shape = (*shape[:axis], self.part_count, *inner, *shape[axis + is_split :])
        return PartialValues(reshape_to(operand.value, new_shape, builder), axis)

    def _rebuild_elementwise_on_parts(
        self, op: TilingInterface, builder: Builder
    ) -> PartialValues:
        """Build `op` on the parts of its operands, aligned at the axis of the parts."""
        indices = range(len(op.operands))
        operands = [self.partial_operand_of(op, index, builder) for index in indices]
        split_iterator, shape = (
            self.split_iterator_of(op),
            list(tensor_type(op.results[0]).get_shape()),
        )
        trailing = [each.trailing_axis_count for each in operands if each is not None]
        if not trailing:
            raise CannotRebuildOnPartsError
        count = max(trailing) if split_iterator is None else len(shape) - split_iterator
        values = [
            self._align_operand_with_parts(op, each, count, builder) for each in indices
        ]
        axis = len(shape) - count
        if split_iterator is not None:
            shape[axis] //= self.part_count
        shape.insert(axis, self.part_count)
        return PartialValues(rebuild_elementwise(op, values, shape, builder), axis)

    def _align_operand_with_parts(
        self,
        op: TilingInterface,
        operand_index: int,
        trailing_axis_count: int,
        builder: Builder,
    ) -> SSAValue:
        """
        Return an operand with `trailing_axis_count` axes after the axis of the parts;
        an operand without parts broadcasts to this shape.
        """
        operand, value = (
            self.partial_operand_of(op, operand_index, builder),
            op.operands[operand_index],
        )
        rank = len(tensor_type(value).get_shape())
        if operand is None:
            return (
                value
                if rank <= trailing_axis_count
                else insert_unit_axis(value, rank - trailing_axis_count, builder)
            )
        if operand.trailing_axis_count == trailing_axis_count:
            return operand.value
        accesses = self.axis_classes.op_facts.facts_of(op).indexing_maps[operand_index]
        if self._split_axis_of(op, accesses) is not None:
            raise CannotRebuildOnPartsError
        first, *rest = (
            aligned := operand.move_parts_axis(
                max(rank - trailing_axis_count, 0), builder
            )
        ).shape
        if rank >= trailing_axis_count:
            return aligned.value
        ones = [1] * (trailing_axis_count - rank)
        return reshape_to(aligned.value, [first, *ones, *rest], builder)

    def _require_partial_operand(
        self, op: TilingInterface, operand_index: int, builder: Builder
    ) -> PartialValues:
        if (operand := self.partial_operand_of(op, operand_index, builder)) is None:
            raise CannotRebuildOnPartsError
        return operand


def _insert_parts_into_result(
    axes: Axes, split_iterator: int, inner: int, parts_axis: int | None
) -> tuple[int, Axes]:
    """Return the axis of the parts in a result, and the result's iterators."""
    if parts_axis is None:
        first = axes.index(split_iterator)
        result = _insert_iterator_after_parts(axes, split_iterator, inner)
    else:
        first = parts_axis
        result = (
            *axes[:parts_axis],
            split_iterator,
            *axes[parts_axis:],
        )
    return first, result


def _element_type_of_partial_result(
    op: AccumulatingInterface, keeps_accumulator_type: bool
) -> Attribute:
    result_element = tensor_type(op.results[0]).element_type
    return op.accumulator_type if keeps_accumulator_type else result_element


def _insert_iterator_after_parts(
    axes: Axes, parts_iterator: int, inner_iterator: int
) -> Axes:
    """Insert the iterator `inner_iterator` after the iterator of the parts."""
    position = axes.index(parts_iterator) + 1
    return (*axes[:position], inner_iterator, *axes[position:])
