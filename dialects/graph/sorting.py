"""
Operations `graph.sort` and `graph.arg_reduce`: sorting along an axis, and argmax or
argmin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.argsort_operation import stable_order_of
from tlf.dialects.graph.comparison_and_logic import NotOp, OrOp, Relation
from tlf.dialects.graph.elementwise import AddOp, MulOp
from tlf.dialects.graph.mask_builder import MaskBuilder, replace_axis_extent
from tlf.dialects.graph.movement import ReshapeOp, TransposeOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import (
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    neutral_element_of,
    reduced_shape,
)
from tlf.dialects.graph.take_and_gather import GatherOp
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    promote_to_f32,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.interfaces import Array, DecompositionInterface, Scalar
from tlf.dialects.sort_interface import SortInterface
from tlf.dialects.types import is_float
from tlf.support.affine.axis_orders import inverse_order


@irdl_op_definition
class ArgReduceOp(IRDLOperation, DecompositionInterface):
    """
    Index of the maximum (`max`) or minimum (`min`) along an axis: the first index if
    several elements are equal, and the index of the first NaN if there is one.

    ```mlir
    %y = graph.arg_reduce %x <max> axis 1 keepdims
        : (tensor<4x8xf32>) -> tensor<4x1xi64>
    ```
    """

    name = "graph.arg_reduce"

    operand = operand_def(GraphTensorConstraint(NUMBERS))
    kind = prop_def(ReduceKindAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    keepdims = opt_prop_def(UnitAttr)
    result = result_def(GraphTensorConstraint((i64,)))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand $kind `axis` $axis (`keepdims` $keepdims^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        kind: ReduceKind | str,
        axis: int,
        keepdims: bool = False,
    ):
        value = SSAValue.get(operand)
        shape = reduced_shape(shape_of(value), [axis], keepdims)
        super().__init__(
            operands=[value],
            properties={
                "kind": ReduceKindAttr(ReduceKind(kind)),
                "axis": IntegerAttr(axis, i64),
                "keepdims": UnitAttr() if keepdims else None,
            },
            result_types=[infer_result_type([value], shape, i64)],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        if self.kind.data not in (ReduceKind.MAX, ReduceKind.MIN):
            raise VerifyException(f"expected <max> or <min>, got <{self.kind.data}>")
        keepdims = self.keepdims is not None
        verify_shape(self.result, reduced_shape(shape, [axis], keepdims))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        find = np.argmax if self.kind.data is ReduceKind.MAX else np.argmin
        axis, keepdims = self.axis.value.data, self.keepdims is not None
        indices = np.asarray(
            find(promote_to_f32(operands[0]), axis=axis, keepdims=keepdims)
        )
        return (indices.astype(np.int64),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the least index of the elements that equal the extremum or are NaN."""
        program, axis = MaskBuilder(builder), self.axis.value.data
        value, shape = self.operand, shape_of(self.operand)
        extreme = program.insert(ReduceOp(value, self.kind.data, [axis], True))
        mask = program.compare(value, extreme, Relation.EQ)
        if is_float(element_type_of_value(value)):
            unordered = program.compare(value, value, Relation.NE)
            mask = program.insert(OrOp(mask, unordered))
        positions = program.build_axis_indices(shape[axis], len(shape) - axis - 1)
        keepdims = self.keepdims is not None
        first = program.reduce_masked_elements(
            mask, positions, ReduceKind.MIN, axis, keepdims
        )
        return [program.cast_to_type(first, self.result.type)]


@irdl_op_definition
class SortOp(IRDLOperation, DecompositionInterface, SortInterface):
    """
    Stable sort along an axis in ascending or `descending` order: the sorted elements
    and their indices in the operand. NaN is greater than all numbers. Results may be
    shorter than the operand along the axis, and then contain the first elements.

    ```mlir
    %values, %indices = graph.sort %x axis 1 descending
        : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
    ```
    """

    name = "graph.sort"

    operand = operand_def(GraphTensorConstraint(NUMBERS))
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    values = result_def(GraphTensorConstraint(NUMBERS))
    indices = result_def(GraphTensorConstraint((i64,)))

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `axis` $axis (`descending` $descending^)? attr-dict"
        " `:` functional-type(operands, results)"
    )

    def __init__(
        self,
        operand: SSAValue | Operation,
        axis: int,
        descending: bool = False,
        count: int | None = None,
    ):
        value = SSAValue.get(operand)
        verify_axes([axis], len(shape_of(value)))
        extent = shape_of(value)[axis] if count is None else count
        shape = replace_axis_extent(shape_of(value), axis, extent)
        super().__init__(
            operands=[value],
            properties={
                "axis": IntegerAttr(axis, i64),
                "descending": UnitAttr() if descending else None,
            },
            result_types=[
                infer_result_type([value], shape, element)
                for element in (element_type_of_value(value), i64)
            ],
        )

    @property
    def sort_axis(self) -> int:
        return self.axis.value.data

    @property
    def is_descending(self) -> bool:
        return self.descending is not None

    def build_along_last_axis(self, builder: Builder) -> Sequence[SSAValue]:
        last = len(shape_of(self.operand)) - 1
        order = [axis for axis in range(last + 1) if axis != self.sort_axis]
        order.append(self.sort_axis)
        operand = builder.insert(TransposeOp(self.operand, order)).result
        count = self.result_extent
        sort = builder.insert(SortOp(operand, last, self.is_descending, count))
        inverse = inverse_order(tuple(order))
        return [
            builder.insert(TransposeOp(each, inverse)).result for each in sort.results
        ]

    def build_from_chunks(
        self, builder: Builder, chunk_extent: int
    ) -> Sequence[SSAValue]:
        *rows, extent = shape_of(self.operand)
        axis, count, chunks = len(rows), self.result_extent, -(-extent // chunk_extent)
        program = MaskBuilder(builder)
        operand: SSAValue = self.operand
        if padding := chunks * chunk_extent - extent:
            low, high = [0] * (axis + 1), [*[0] * axis, padding]
            operand = program.insert(PadOp(operand, low, high, self._last_number))
        operand = program.insert(ReshapeOp(operand, (*rows, chunks, chunk_extent)))
        firsts = builder.insert(SortOp(operand, axis + 1, self.is_descending, count))
        starts = program.insert(
            MulOp(
                program.build_axis_indices(chunks, 1, i64),
                program.constant(chunk_extent, i64),
            )
        )
        places = program.insert(AddOp(firsts.indices, starts))
        candidates = (*rows, chunks * count)
        values = program.insert(ReshapeOp(firsts.values, candidates))
        sort = builder.insert(SortOp(values, axis, self.is_descending, count))
        places = program.insert(ReshapeOp(places, candidates))
        return [sort.values, program.insert(GatherOp(places, sort.indices, axis))]

    @property
    def _last_number(self) -> Scalar:
        """Number that no other one is sorted after."""
        element = element_type_of_value(self.operand)
        if is_float(element) and not self.is_descending:
            return np.nan
        kind = ReduceKind.MAX if self.is_descending else ReduceKind.MIN
        return neutral_element_of(kind, element)

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        result_shape = shape_of(self.values)
        if len(result_shape) != len(shape):
            raise VerifyException(
                f"expected results of rank {len(shape)}, got {len(result_shape)}"
            )
        if self.result_extent > shape[axis]:
            raise VerifyException(
                f"expected at most {shape[axis]} elements along axis {axis}, "
                f"got {self.result_extent}"
            )
        verify_shape(self.values, replace_axis_extent(shape, axis, self.result_extent))
        verify_element_type(self.values, element_type_of_value(self.operand))
        verify_shape(self.indices, result_shape)

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        (array,) = operands
        wide, axis = promote_to_f32(array), self.axis.value.data
        order = stable_order_of(wide, axis, self.is_descending)
        first = (slice(None),) * axis + (slice(self.result_extent),)
        order = np.ascontiguousarray(order[first], np.int64)
        return (np.take_along_axis(array, order, axis), order)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build each result as a masked reduction over elements: the element whose rank is
        the index of the result.
        """
        program, axis = MaskBuilder(builder), self.axis.value.data
        extent = shape_of(self.operand)[axis]
        trailing = len(shape_of(self.operand)) - axis - 1
        positions = program.build_axis_indices(extent, trailing)
        ranks = program.build_axis_indices(self.result_extent, trailing + 1)
        element_ranks = program.insert_unit_axes(self._build_ranks(program), axis)
        mask = program.compare(element_ranks, ranks, Relation.EQ)
        value = program.insert_unit_axes(self.operand, axis)
        return [
            program.cast_to_type(
                program.extract_masked_element(mask, value, axis + 1), self.values.type
            ),
            program.cast_to_type(
                program.extract_masked_element(mask, positions, axis + 1),
                self.indices.type,
            ),
        ]

    def _build_ranks(self, mask_builder: MaskBuilder) -> SSAValue:
        """
        Build the rank of each element: the number of elements sorted before it. The
        axis of the ranked elements precedes the axis of the compared elements.
        """
        axis, shape = self.axis.value.data, shape_of(self.operand)
        trailing = len(shape) - axis - 1
        own = mask_builder.insert_unit_axes(self.operand, axis + 1)
        other = mask_builder.insert_unit_axes(self.operand, axis)
        pair = (other, own) if self.descending is None else (own, other)
        no_later = _build_less_equal_with_nan_last(mask_builder, *pair)
        earlier = mask_builder.insert(
            NotOp(_build_less_equal_with_nan_last(mask_builder, *reversed(pair)))
        )
        own_position = mask_builder.build_axis_indices(shape[axis], trailing + 1)
        other_position = mask_builder.build_axis_indices(shape[axis], trailing)
        is_first = mask_builder.compare(other_position, own_position, Relation.LT)
        before = mask_builder.select(is_first, no_later, earlier)
        one = mask_builder.constant(1, i32)
        return mask_builder.reduce_masked_elements(
            before, one, ReduceKind.SUM, axis + 1
        )


def _build_less_equal_with_nan_last(
    mask_builder: MaskBuilder, lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """Build the comparison `lhs <= rhs` in which NaN is the greatest number."""
    less_equal = mask_builder.compare(lhs, rhs, Relation.LE)
    if not is_float(element_type_of_value(rhs)):
        return less_equal
    return mask_builder.insert(
        OrOp(less_equal, mask_builder.compare(rhs, rhs, Relation.NE))
    )
