"""Sorting, argmax and argmin along an axis."""

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

from tlf.dialects.graph.logic import NotOp, OrOp, Relation
from tlf.dialects.graph.mask_builder import MaskBuilder, with_extent
from tlf.dialects.graph.reduction import (
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    reduced_shape,
)
from tlf.dialects.graph.tensor_types import (
    NUMBERS,
    GraphTensor,
    element_of,
    infer_result_type,
    promote_to_f32,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.interfaces import Array, DecompositionInterface
from tlf.dialects.types import is_float


@irdl_op_definition
class ArgReduceOp(IRDLOperation, DecompositionInterface):
    """
    The index of the maximum (`max`) or minimum (`min`) along an axis: the first of
    several, and that of the first NaN if there is one.

    ```mlir
    %y = graph.arg_reduce %x <max> axis 1 keepdims
        : (tensor<4x8xf32>) -> tensor<4x1xi64>
    ```
    """

    name = "graph.arg_reduce"

    operand = operand_def(GraphTensor(NUMBERS))
    kind = prop_def(ReduceKindAttr)
    axis = prop_def(IntegerAttr.constr(i64))
    keepdims = opt_prop_def(UnitAttr)
    result = result_def(GraphTensor((i64,)))

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
        kept = self.keepdims is not None
        verify_shape(self.result, reduced_shape(shape, [axis], kept))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        find = np.argmax if self.kind.data is ReduceKind.MAX else np.argmin
        axis, kept = self.axis.value.data, self.keepdims is not None
        found = np.asarray(find(promote_to_f32(operands[0]), axis=axis, keepdims=kept))
        return (found.astype(np.int64),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the least index of an element that equals the extremum, or is NaN."""
        program, axis = MaskBuilder(builder), self.axis.value.data
        value, shape = self.operand, shape_of(self.operand)
        extreme = program.insert(ReduceOp(value, self.kind.data, [axis], True))
        chosen = program.compare(value, extreme, Relation.EQ)
        if is_float(element_of(value)):
            unordered = program.compare(value, value, Relation.NE)
            chosen = program.insert(OrOp(chosen, unordered))
        places = program.axis_indices(shape[axis], len(shape) - axis - 1)
        kept = self.keepdims is not None
        first = program.reduce_where(chosen, places, ReduceKind.MIN, axis, kept)
        return [program.to_result_type(first, self.result.type)]


@irdl_op_definition
class SortOp(IRDLOperation, DecompositionInterface):
    """
    The elements along an axis in ascending order, or `descending`, and the indices that
    they had. Equal elements stay in their order; NaN is greater than all numbers.
    Results may be shorter than the operand along the axis: they keep the first ones.

    ```mlir
    %values, %indices = graph.sort %x axis 1 descending
        : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>)
    ```
    """

    name = "graph.sort"

    operand = operand_def(GraphTensor(NUMBERS))
    axis = prop_def(IntegerAttr.constr(i64))
    descending = opt_prop_def(UnitAttr)
    values = result_def(GraphTensor(NUMBERS))
    indices = result_def(GraphTensor((i64,)))

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
        shape = with_extent(shape_of(value), axis, extent)
        super().__init__(
            operands=[value],
            properties={
                "axis": IntegerAttr(axis, i64),
                "descending": UnitAttr() if descending else None,
            },
            result_types=[
                infer_result_type([value], shape, element)
                for element in (element_of(value), i64)
            ],
        )

    @property
    def result_extent(self) -> int:
        """The extent of the results along the axis."""
        return shape_of(self.values)[self.axis.value.data]

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        found = shape_of(self.values)
        if len(found) != len(shape):
            raise VerifyException(
                f"expected results of rank {len(shape)}, got {len(found)}"
            )
        if self.result_extent > shape[axis]:
            raise VerifyException(
                f"expected at most {shape[axis]} elements along axis {axis}, "
                f"got {self.result_extent}"
            )
        verify_shape(self.values, with_extent(shape, axis, self.result_extent))
        verify_element_type(self.values, element_of(self.operand))
        verify_shape(self.indices, found)

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        (array,) = operands
        wide, axis = promote_to_f32(array), self.axis.value.data
        if self.descending is None:
            order = np.argsort(wide, axis=axis, kind="stable")
        else:
            backwards = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
            order = np.flip(np.subtract(array.shape[axis] - 1, backwards), axis)
        first = (slice(None),) * axis + (slice(self.result_extent),)
        order = np.ascontiguousarray(order[first], np.int64)
        return (np.take_along_axis(array, order, axis), order)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build each result as the element of its rank, over axes of ranks and of
        elements.
        """
        program, axis = MaskBuilder(builder), self.axis.value.data
        extent = shape_of(self.operand)[axis]
        behind = len(shape_of(self.operand)) - axis - 1
        places = program.axis_indices(extent, behind)
        ranks = program.axis_indices(self.result_extent, behind + 1)
        own = program.insert_unit_axes(self._build_ranks(program), axis)
        chosen = program.compare(own, ranks, Relation.EQ)
        value = program.insert_unit_axes(self.operand, axis)
        return [
            program.to_result_type(
                program.extract_where(chosen, value, axis + 1), self.values.type
            ),
            program.to_result_type(
                program.extract_where(chosen, places, axis + 1), self.indices.type
            ),
        ]

    def _build_ranks(self, program: MaskBuilder) -> SSAValue:
        """
        Build the rank of each element: the number of elements sorted before it. The
        axis of the elements precedes that of the others.
        """
        axis, shape = self.axis.value.data, shape_of(self.operand)
        behind = len(shape) - axis - 1
        own = program.insert_unit_axes(self.operand, axis + 1)
        other = program.insert_unit_axes(self.operand, axis)
        pair = (other, own) if self.descending is None else (own, other)
        no_later = _build_less_equal(program, *pair)
        earlier = program.insert(NotOp(_build_less_equal(program, *reversed(pair))))
        own_place = program.axis_indices(shape[axis], behind + 1)
        other_place = program.axis_indices(shape[axis], behind)
        is_first = program.compare(other_place, own_place, Relation.LT)
        before = program.select(is_first, no_later, earlier)
        one = program.constant(1, i32)
        return program.reduce_where(before, one, ReduceKind.SUM, axis + 1)


def _build_less_equal(program: MaskBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Build the comparison `lhs <= rhs` in which NaN is the greatest number."""
    chosen = program.compare(lhs, rhs, Relation.LE)
    if not is_float(element_of(rhs)):
        return chosen
    return program.insert(OrOp(chosen, program.compare(rhs, rhs, Relation.NE)))
