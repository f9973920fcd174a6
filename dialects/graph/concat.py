"""Operation `graph.concat`: concatenation of tensors along an axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import accumulate

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue
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

from tlf.dialects.concat_like_interface import ConcatLikeInterface
from tlf.dialects.graph.canonicalizable import CanonicalizableOperation
from tlf.dialects.graph.elementwise import MaximumOp
from tlf.dialects.graph.padding import PadOp
from tlf.dialects.graph.reduction import least_value_of_type
from tlf.dialects.graph.tensor_types import (
    GraphTensorConstraint,
    element_type_of_value,
    format_shape,
    infer_result_type,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_same_element_types,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    BottleneckKind,
    DecompositionInterface,
    LoopDim,
    parallel_dim,
)
from tlf.support.affine.index_access import Accesses, IndexAccess


def _infer_concat_shape(shapes: Sequence[Sequence[int]], axis: int) -> tuple[int, ...]:
    """Return the shape of the concatenation of tensors of these shapes."""
    if len(shapes) < 2:
        raise VerifyException(f"expected 2 or more operands, got {len(shapes)}")
    first = shapes[0]
    verify_axes([axis], len(first))
    for shape in shapes:
        expected = (*shape[:axis], *first[axis : axis + 1], *shape[axis + 1 :])
        if expected != tuple(first):
            raise VerifyException(
                f"expected shapes that differ along axis {axis} only, "
                f"got {format_shape(first)} and {format_shape(shape)}"
            )
    total = sum(shape[axis] for shape in shapes)
    return (*first[:axis], total, *first[axis + 1 :])


@irdl_op_definition
class ConcatOp(
    IRDLOperation, CanonicalizableOperation, ConcatLikeInterface, DecompositionInterface
):
    """
    Concatenation of tensors along one of their axes, in the order of the operands.

    ```mlir
    %y = graph.concat %a, %b axis 1
        : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<4x5xf32>
    ```
    """

    name = "graph.concat"

    inputs = var_operand_def(GraphTensorConstraint())
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensorConstraint())

    traits = traits_def(Pure())

    assembly_format = (
        "$inputs `axis` $axis attr-dict `:` functional-type(operands, results)"
    )

    def __init__(self, inputs: Sequence[SSAValue | Operation], axis: int):
        values = [SSAValue.get(each) for each in inputs]
        shape = _infer_concat_shape([shape_of(value) for value in values], axis)
        super().__init__(
            operands=[values],
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[
                infer_result_type(values, shape, element_type_of_value(values[0]))
            ],
        )

    def verify_(self) -> None:
        verify_same_element_types(self.inputs)
        shapes = [shape_of(value) for value in self.inputs]
        verify_shape(self.result, _infer_concat_shape(shapes, self.axis.value.data))
        verify_element_type(self.result, element_type_of_value(self.inputs[0]))

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        return (np.concatenate(operands, axis=self.axis.value.data),)

    @property
    def bottleneck_kind(self) -> BottleneckKind:
        return BottleneckKind.MOVEMENT

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        """Return the loops over all axes but the concat axis, which is not tiled."""
        axis = self.axis.value.data
        shape = shape_of(self.result)
        return tuple(map(parallel_dim, (*shape[:axis], *shape[axis + 1 :])))

    def indexing_maps(self) -> tuple[Accesses, ...]:
        return tuple(map(self._accesses_along_full_concat_axis, self.inputs))

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (self._accesses_along_full_concat_axis(self.result),)

    def _accesses_along_full_concat_axis(self, value: SSAValue) -> Accesses:
        """Return accesses to the full concat axis and one element of the other axes."""
        concat_axis, shape = self.axis.value.data, shape_of(value)
        return tuple(
            IndexAccess(width=extent)
            if axis == concat_axis
            else IndexAccess.of_iterator(axis - (axis > concat_axis))
            for axis, extent in enumerate(shape)
        )

    def operand_offsets(self) -> tuple[tuple[int, ...], ...]:
        """
        Return per operand its offsets in the result: the extents before it along
        `axis`, 0 along the other axes.
        """
        axis, rank = self.axis.value.data, len(shape_of(self.result))
        extents = [shape_of(value)[axis] for value in self.inputs]
        return tuple(
            tuple(before if each == axis else 0 for each in range(rank))
            for before in accumulate(extents[:-1], initial=0)
        )

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build the maximum of the operands, padded with the least value."""
        padded = list(self._pad_operands(builder))

        def build_maximum(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
            maximum = MaximumOp.create(
                operands=[lhs, rhs], result_types=self.result_types
            )
            return builder.insert(maximum).result

        return [reduce(build_maximum, padded)]

    def _pad_operands(self, builder: Builder) -> Iterable[SSAValue]:
        """
        Build and yield each operand, padded to the shape of the result with the least
        value of its type.
        """
        shape = shape_of(self.result)
        for value, low in zip(self.inputs, self.operand_offsets(), strict=True):
            ends = map(sum, zip(low, shape_of(value), strict=True))
            high = [extent - end for extent, end in zip(shape, ends, strict=True)]
            fill = least_value_of_type(element_type_of_value(value))
            yield builder.insert(PadOp(value, low, high, fill)).result
