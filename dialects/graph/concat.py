"""Joining tensors along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import accumulate

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.elementwise import MaximumOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import ReduceKind, neutral_of
from tlf.dialects.graph.tensors import (
    GraphTensor,
    element_of,
    result_type,
    shape_of,
    shape_text,
    verify_axes,
    verify_element,
    verify_same_elements,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    DecompositionInterface,
    Iterator,
    OperationClass,
    Scalar,
    parallel,
)
from tlf.dialects.joining import JoiningInterface
from tlf.support.affine.access import Access, Accesses


def _joined_shape(shapes: Sequence[Sequence[int]], axis: int) -> tuple[int, ...]:
    """The shape of tensors of some shapes, one after the other."""
    if len(shapes) < 2:
        raise VerifyException(f"expected 2 or more operands, got {len(shapes)}")
    first = shapes[0]
    verify_axes([axis], len(first))
    for shape in shapes:
        alike = (*shape[:axis], *first[axis : axis + 1], *shape[axis + 1 :])
        if alike != tuple(first):
            raise VerifyException(
                f"expected shapes that differ along axis {axis} only, "
                f"got {shape_text(first)} and {shape_text(shape)}"
            )
    total = sum(shape[axis] for shape in shapes)
    return (*first[:axis], total, *first[axis + 1 :])


def _least(element: Attribute) -> Scalar:
    """A number that is less than no other."""
    return 0 if element == i1 else neutral_of(ReduceKind.MAX, element)


@irdl_op_definition
class ConcatOp(IRDLOperation, JoiningInterface, DecompositionInterface):
    """
    Tensors one after the other along an axis.

    ```mlir
    %y = graph.concat %a, %b axis 1
        : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
    ```
    """

    name = "graph.concat"

    inputs = var_operand_def(GraphTensor())
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensor())

    traits = traits_def(Pure())

    assembly_format = (
        "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, inputs: Sequence[SSAValue | Operation], axis: int):
        values = [SSAValue.get(each) for each in inputs]
        shape = _joined_shape([shape_of(value) for value in values], axis)
        super().__init__(
            operands=[values],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[result_type(values, shape, element_of(values[0]))],
        )

    def verify_(self) -> None:
        verify_same_elements(self.inputs)
        shapes = [shape_of(value) for value in self.inputs]
        verify_shape(self.result, _joined_shape(shapes, self.axis.value.data))
        verify_element(self.result, element_of(self.inputs[0]))

    def reference(self, *operands: Array) -> tuple[Array, ...]:
        return (np.concatenate(operands, axis=self.axis.value.data),)

    @property
    def operation_class(self) -> OperationClass:
        return OperationClass.MOVEMENT

    def iterators(self) -> tuple[Iterator, ...]:
        """Those of the other axes: joined tensors are needed whole along theirs."""
        axis = self.axis.value.data
        shape = shape_of(self.result)
        return tuple(map(parallel, (*shape[:axis], *shape[axis + 1 :])))

    def operand_accesses(self) -> tuple[Accesses, ...]:
        return tuple(map(self._access, self.inputs))

    def result_accesses(self) -> tuple[Accesses, ...]:
        return (self._access(self.result),)

    def _access(self, value: SSAValue) -> Accesses:
        """All of a tensor along the axis, and one element along each other one."""
        joined, shape = self.axis.value.data, shape_of(value)
        return tuple(
            Access(width=extent)
            if axis == joined
            else Access.of(axis - (axis > joined))
            for axis, extent in enumerate(shape)
        )

    def places(self) -> tuple[tuple[int, ...], ...]:
        axis, rank = self.axis.value.data, len(shape_of(self.result))
        extents = [shape_of(value)[axis] for value in self.inputs]
        return tuple(
            tuple(before if each == axis else 0 for each in range(rank))
            for before in accumulate(extents[:-1], initial=0)
        )

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """The maximum of the operands, padded with what is less than everything."""
        padded = list(self._padded(builder))

        def greater(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
            joined = MaximumOp.create(
                operands=[lhs, rhs], result_types=self.result_types
            )
            return builder.insert(joined).result

        return [reduce(greater, padded)]

    def _padded(self, builder: Builder) -> Iterable[SSAValue]:
        """Each operand in its place of the result."""
        shape = shape_of(self.result)
        for value, low in zip(self.inputs, self.places(), strict=True):
            ends = map(sum, zip(low, shape_of(value), strict=True))
            high = [extent - end for extent, end in zip(shape, ends, strict=True)]
            fill = _least(element_of(value))
            yield builder.insert(PadOp(value, low, high, fill)).result
