"""Places of extremes, and sorting."""

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

from tlf.dialects.graph.choosing import ChoiceProgram, with_axis
from tlf.dialects.graph.logic import NotOp, OrOp, Relation
from tlf.dialects.graph.reduction import (
    ReduceKind,
    ReduceKindAttr,
    ReduceOp,
    reduced_shape,
)
from tlf.dialects.graph.tensors import (
    NUMBERS,
    GraphTensor,
    element_of,
    result_type,
    shape_of,
    verify_axes,
    verify_element,
    verify_shape,
    widened,
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
            result_types=[result_type([value], shape, i64)],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        if self.kind.data not in (ReduceKind.MAX, ReduceKind.MIN):
            raise VerifyException(f"expected <max> or <min>, got <{self.kind.data}>")
        kept = self.keepdims is not None
        verify_shape(self.result, reduced_shape(shape, [axis], kept))

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        find = np.argmax if self.kind.data is ReduceKind.MAX else np.argmin
        axis, kept = self.axis.value.data, self.keepdims is not None
        found = np.asarray(find(widened(operands[0]), axis=axis, keepdims=kept))
        return (found.astype(np.int64),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """The least index of an element that equals the extreme, or is NaN."""
        program, axis = ChoiceProgram(builder), self.axis.value.data
        value, shape = self.operand, shape_of(self.operand)
        extreme = program.insert(ReduceOp(value, self.kind.data, [axis], True))
        chosen = program.compare(value, extreme, Relation.EQ)
        if is_float(element_of(value)):
            unordered = program.compare(value, value, Relation.NE)
            chosen = program.insert(OrOp(chosen, unordered))
        places = program.positions(shape[axis], len(shape) - axis - 1)
        kept = self.keepdims is not None
        first = program.reduce(chosen, places, ReduceKind.MIN, axis, kept)
        return [program.finish(first, self.result.type)]


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
        shape = with_axis(shape_of(value), axis, extent)
        super().__init__(
            operands=[value],
            properties={
                "axis": IntegerAttr(axis, i64),
                "descending": UnitAttr() if descending else None,
            },
            result_types=[
                result_type([value], shape, element)
                for element in (element_of(value), i64)
            ],
        )

    @property
    def count(self) -> int:
        """Number of elements of the results along the axis."""
        return shape_of(self.values)[self.axis.value.data]

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        found = shape_of(self.values)
        if len(found) != len(shape):
            raise VerifyException(
                f"expected results of rank {len(shape)}, got {len(found)}"
            )
        if self.count > shape[axis]:
            raise VerifyException(
                f"expected at most {shape[axis]} elements along axis {axis}, "
                f"got {self.count}"
            )
        verify_shape(self.values, with_axis(shape, axis, self.count))
        verify_element(self.values, element_of(self.operand))
        verify_shape(self.indices, found)

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        (array,) = operands
        wide, axis = widened(array), self.axis.value.data
        if self.descending is None:
            order = np.argsort(wide, axis=axis, kind="stable")
        else:
            backwards = np.argsort(np.flip(wide, axis), axis=axis, kind="stable")
            order = np.flip(np.subtract(array.shape[axis] - 1, backwards), axis)
        first = (slice(None),) * axis + (slice(self.count),)
        order = np.ascontiguousarray(order[first], np.int64)
        return (np.take_along_axis(array, order, axis), order)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Each result is the element of its rank; the axes are ranks and elements."""
        program, axis = ChoiceProgram(builder), self.axis.value.data
        extent = shape_of(self.operand)[axis]
        behind = len(shape_of(self.operand)) - axis - 1
        places = program.positions(extent, behind)
        ranks = program.positions(self.count, behind + 1)
        own = program.spread(self._ranks(program), axis)
        chosen = program.compare(own, ranks, Relation.EQ)
        value = program.spread(self.operand, axis)
        return [
            program.finish(program.pick(chosen, value, axis + 1), self.values.type),
            program.finish(program.pick(chosen, places, axis + 1), self.indices.type),
        ]

    def _ranks(self, program: ChoiceProgram) -> SSAValue:
        """
        Return the rank of each element: the number of others that sort before it. The
        axis of the elements precedes that of the others.
        """
        axis, shape = self.axis.value.data, shape_of(self.operand)
        behind = len(shape) - axis - 1
        own = program.spread(self.operand, axis + 1)
        other = program.spread(self.operand, axis)
        pair = (other, own) if self.descending is None else (own, other)
        no_later = _no_greater(program, *pair)
        earlier = program.insert(NotOp(_no_greater(program, *reversed(pair))))
        own_place = program.positions(shape[axis], behind + 1)
        other_place = program.positions(shape[axis], behind)
        is_first = program.compare(other_place, own_place, Relation.LT)
        before = program.select(is_first, no_later, earlier)
        one = program.number(1, i32)
        return program.reduce(before, one, ReduceKind.SUM, axis + 1)


def _no_greater(program: ChoiceProgram, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Build the comparison `lhs <= rhs` in which NaN is the greatest number."""
    chosen = program.compare(lhs, rhs, Relation.LE)
    if not is_float(element_of(rhs)):
        return chosen
    return program.insert(OrOp(chosen, program.compare(rhs, rhs, Relation.NE)))
