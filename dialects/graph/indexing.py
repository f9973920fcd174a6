"""Gathers along an axis: `graph.take` and `graph.gather`."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import IntegerAttr, i32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.pattern_rewriter import RewritePattern
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.canonicalizable import CanonicalizableOperation
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.mask_builder import MaskBuilder, in_bounds_mask, with_extent
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.tensor_types import (
    GraphTensor,
    element_of,
    format_shape,
    infer_result_type,
    shape_of,
    verify_axes,
    verify_element_type,
    verify_shape,
)
from tlf.dialects.interfaces import (
    Array,
    DecompositionInterface,
    IndexedInterface,
    LoopDim,
    Scalar,
    parallel_dim,
)
from tlf.dialects.value_check_interface import (
    ValueCheck,
    ValueCheckInterface,
    index_check,
)
from tlf.support.affine.index_access import Accesses, IndexAccess, identity_accesses

INDEX_TYPES = (i64, i32)
"""The element types of indices."""


def verify_indices(indices: SSAValue, shape: Sequence[int], axis: int) -> None:
    """Check that indices along an axis fit into `shape` along the others."""
    found = shape_of(indices)
    pairs = enumerate(zip(found, shape, strict=False))
    if len(found) != len(shape) or any(
        extent > most for each, (extent, most) in pairs if each != axis
    ):
        raise VerifyException(
            f"expected indices within {format_shape(shape)} but for axis {axis}, "
            f"got {format_shape(found)}"
        )


def _infer_take_shape(
    operand: SSAValue, indices: SSAValue, axis: int
) -> tuple[int, ...]:
    """The shape of a tensor whose axis is replaced by those of indices."""
    shape = shape_of(operand)
    verify_axes([axis], len(shape))
    return (*shape[:axis], *shape_of(indices), *shape[axis + 1 :])


class IndexingOperation(
    IRDLOperation,
    CanonicalizableOperation,
    IndexedInterface,
    DecompositionInterface,
    ValueCheckInterface,
    abc.ABC,
):
    """
    An operation that reads a tensor along an axis at given indices. Where an index is
    negative, or not less than the extent of the axis, elements are 0.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    operand = operand_def(GraphTensor())
    indices = operand_def(GraphTensor(INDEX_TYPES))
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensor())

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `,` $indices `axis` $axis attr-dict"
        " `:` functional-type(operands, results)"
    )

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(parallel_dim(extent) for extent in shape_of(self.result))

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.result))),)

    def padding_value(self, operand: int) -> Scalar | None:
        return 0 if operand == 0 else None

    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        last = shape_of(self.operand)[self.axis.value.data] - 1
        return (index_check(self.indices, 0, last),)

    def indexed_access(self) -> IndexAccess:
        """Return the access of an iteration to the operand along the axis."""
        return IndexAccess.indirect(1, shape_of(self.operand)[self.axis.value.data])


@irdl_op_definition
class TakeOp(IndexingOperation):
    """
    Slices of a tensor at the given indices of an axis, which is replaced by the axes of
    the indices. Where an index is negative, or not less than the extent of the axis,
    elements are 0.

    ```mlir
    %y = graph.take %x, %indices axis 1
        : (tensor<4x9x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3x8xf32>
    ```
    """

    name = "graph.take"

    def __init__(
        self,
        operand: SSAValue | Operation,
        indices: SSAValue | Operation,
        axis: int,
    ):
        values = [SSAValue.get(operand), SSAValue.get(indices)]
        shape = _infer_take_shape(values[0], values[1], axis)
        super().__init__(
            operands=values,
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[infer_result_type(values, shape, element_of(values[0]))],
        )

    def verify_(self) -> None:
        axis = self.axis.value.data
        verify_shape(self.result, _infer_take_shape(self.operand, self.indices, axis))
        verify_element_type(self.result, element_of(self.operand))

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        """The axes of the result: those before, those of the indices, those behind."""
        rank, axis = len(shape_of(self.operand)), self.axis.value.data
        count = len(shape_of(self.indices))
        before = identity_accesses(axis)
        behind = [IndexAccess.of(each + count - 1) for each in range(axis + 1, rank)]
        indices = tuple(IndexAccess.of(axis + each) for each in range(count))
        return (*before, self.indexed_access(), *behind), indices

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices = operands
        axis = self.axis.value.data
        known = in_bounds_mask(indices, array.shape[axis])
        taken = np.take(array, np.where(known, indices, 0), axis=axis)
        behind = array.ndim - axis - 1
        known = known.reshape((*known.shape, *[1] * behind))
        return (np.where(known, taken, array.dtype.type(0)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """The axes are those before, those of the indices, the axis, those behind."""
        program, axis = MaskBuilder(builder), self.axis.value.data
        shape, rank = shape_of(self.operand), len(shape_of(self.indices))
        behind = len(shape) - axis - 1
        value = program.promote_boolean(self.operand)
        if axis:  # broadcasting adds the axes in front by itself
            value = program.insert_unit_axes(value, axis, rank)
        indices = program.insert_unit_axes(self.indices, rank, behind)
        known = program.build_in_bounds_mask(indices, shape[axis])
        places = program.axis_indices(shape[axis], behind, element_of(self.indices))
        indices = program.insert_unit_axes(self.indices, rank, behind + 1)
        chosen = program.compare(indices, places, Relation.EQ)
        found = program.extract_where(chosen, value, axis + rank)
        zero = program.constant(0, element_of(found))
        return [
            program.to_result_type(program.select(known, found, zero), self.result.type)
        ]


@irdl_op_definition
class GatherOp(IndexingOperation):
    """
    For each index, the element at its position, but along an axis at the index. The
    indices may be fewer than the operand along the other axes. Where an index is
    negative, or not less than the extent of the axis, the element is 0.

    ```mlir
    %y = graph.gather %x, %indices axis 1
        : (tensor<4x9xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
    ```
    """

    name = "graph.gather"

    def __init__(
        self,
        operand: SSAValue | Operation,
        indices: SSAValue | Operation,
        axis: int,
    ):
        values = [SSAValue.get(operand), SSAValue.get(indices)]
        shape = shape_of(values[1])
        super().__init__(
            operands=values,
            properties={"axis": IntegerAttr(axis, i64)},
            result_types=[infer_result_type(values, shape, element_of(values[0]))],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        verify_indices(self.indices, shape, axis)
        verify_shape(self.result, shape_of(self.indices))
        verify_element_type(self.result, element_of(self.operand))

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        own = identity_accesses(len(shape_of(self.result)))
        axis = self.axis.value.data
        return (*own[:axis], self.indexed_access(), *own[axis + 1 :]), own

    @property
    def gathered_slice_shape(self) -> tuple[int, ...]:
        """The shape of the slice of the operand that elements are read from."""
        axis = self.axis.value.data
        return with_extent(shape_of(self.indices), axis, shape_of(self.operand)[axis])

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices = operands
        axis = self.axis.value.data
        part = array[tuple(map(slice, self.gathered_slice_shape))]
        known = in_bounds_mask(indices, array.shape[axis])
        places = np.where(known, indices, 0).astype(np.int64)
        found = np.take_along_axis(part, places, axis)
        return (np.where(known, found, array.dtype.type(0)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """The axis of the operand comes behind that of the indices."""
        program, axis = MaskBuilder(builder), self.axis.value.data
        part, behind = (
            self.gathered_slice_shape,
            len(self.gathered_slice_shape) - axis - 1,
        )
        value: SSAValue = self.operand
        if shape_of(value) != part:
            value = program.insert(SliceOp(value, [0] * len(part), part))
        value = program.insert_unit_axes(program.promote_boolean(value), axis)
        places = program.axis_indices(part[axis], behind, element_of(self.indices))
        indices = program.insert_unit_axes(self.indices, axis + 1)
        chosen = program.compare(indices, places, Relation.EQ)
        found = program.extract_where(chosen, value, axis + 1)
        known = program.build_in_bounds_mask(self.indices, part[axis])
        zero = program.constant(0, element_of(found))
        return [
            program.to_result_type(program.select(known, found, zero), self.result.type)
        ]
