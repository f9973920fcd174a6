"""Operations `graph.take` and `graph.gather`: gathers along an axis."""

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
from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.mask_builder import (
    MaskBuilder,
    compute_in_bounds_mask_array,
    replace_axis_extent,
)
from tlf.dialects.graph.slicing import SliceOp
from tlf.dialects.graph.tensor_types import (
    GraphTensorConstraint,
    element_type_of_value,
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
    IndexedReadInterface,
    LoopDim,
    Scalar,
    parallel_dim,
)
from tlf.dialects.value_check_interface import (
    ValueCheck,
    ValueCheckInterface,
    make_index_check,
)
from tlf.support.affine.index_access import Accesses, IndexAccess, identity_accesses

INDEX_TYPES = (i64, i32)
"""Element types of index tensors."""


def verify_index_extents(indices: SSAValue, shape: Sequence[int], axis: int) -> None:
    """Check that the extents of indices are within `shape`, except along an axis."""
    index_shape = shape_of(indices)
    pairs = enumerate(zip(index_shape, shape, strict=False))
    if len(index_shape) != len(shape) or any(
        extent > limit for each, (extent, limit) in pairs if each != axis
    ):
        raise VerifyException(
            f"expected indices within {format_shape(shape)} but for axis {axis}, "
            f"got {format_shape(index_shape)}"
        )


def _infer_take_shape(
    operand: SSAValue, indices: SSAValue, axis: int
) -> tuple[int, ...]:
    """Infer the operand shape with an axis replaced by the axes of the indices."""
    shape = shape_of(operand)
    verify_axes([axis], len(shape))
    return (*shape[:axis], *shape_of(indices), *shape[axis + 1 :])


class IndexingOperation(
    IRDLOperation,
    CanonicalizableOperation,
    IndexedReadInterface,
    DecompositionInterface,
    ValueCheckInterface,
    abc.ABC,
):
    """
    Base of operations that read a tensor at given indices of an axis. Where an index is
    negative, or not less than the extent of the axis, elements are 0.
    """

    PATTERNS: ClassVar[tuple[RewritePattern, ...]] = ()

    operand = operand_def(GraphTensorConstraint())
    indices = operand_def(GraphTensorConstraint(INDEX_TYPES))
    axis = prop_def(IntegerAttr.constr(i64))
    result = result_def(GraphTensorConstraint())

    traits = traits_def(Pure())

    assembly_format = (
        "$operand `,` $indices `axis` $axis attr-dict"
        " `:` functional-type(operands, results)"
    )

    def iteration_domain(self) -> tuple[LoopDim, ...]:
        return tuple(parallel_dim(extent) for extent in shape_of(self.result))

    def result_indexing_maps(self) -> tuple[Accesses, ...]:
        return (identity_accesses(len(shape_of(self.result))),)

    def padding_value(self, operand_index: int) -> Scalar | None:
        return 0 if operand_index == 0 else None

    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        last = shape_of(self.operand)[self.axis.value.data] - 1
        return (make_index_check(self.indices, 0, last),)

    def indirect_operand_access(self) -> IndexAccess:
        """Return the indirect access to the operand along the axis."""
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
            result_types=[
                infer_result_type(values, shape, element_type_of_value(values[0]))
            ],
        )

    def verify_(self) -> None:
        axis = self.axis.value.data
        verify_shape(self.result, _infer_take_shape(self.operand, self.indices, axis))
        verify_element_type(self.result, element_type_of_value(self.operand))

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        """Return accesses over leading axes, axes of the indices, and trailing axes."""
        rank, axis = len(shape_of(self.operand)), self.axis.value.data
        count = len(shape_of(self.indices))
        leading = identity_accesses(axis)
        trailing = [
            IndexAccess.of_iterator(each + count - 1) for each in range(axis + 1, rank)
        ]
        indices = tuple(IndexAccess.of_iterator(axis + each) for each in range(count))
        return (*leading, self.indirect_operand_access(), *trailing), indices

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices = operands
        axis = self.axis.value.data
        in_bounds = compute_in_bounds_mask_array(indices, array.shape[axis])
        taken = np.take(array, np.where(in_bounds, indices, 0), axis=axis)
        trailing = array.ndim - axis - 1
        in_bounds = in_bounds.reshape((*in_bounds.shape, *[1] * trailing))
        return (np.where(in_bounds, taken, array.dtype.type(0)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """
        Build a masked reduction over the axis. Axes are the leading axes, the axes of
        the indices, the reduced axis, and the trailing axes.
        """
        program, axis = MaskBuilder(builder), self.axis.value.data
        shape, rank = shape_of(self.operand), len(shape_of(self.indices))
        trailing = len(shape) - axis - 1
        value = program.promote_boolean(self.operand)
        if axis:  # leading axes broadcast implicitly
            value = program.insert_unit_axes(value, axis, rank)
        indices = program.insert_unit_axes(self.indices, rank, trailing)
        in_bounds = program.build_in_bounds_mask(indices, shape[axis])
        positions = program.build_axis_indices(
            shape[axis], trailing, element_type_of_value(self.indices)
        )
        indices = program.insert_unit_axes(self.indices, rank, trailing + 1)
        mask = program.compare(indices, positions, Relation.EQ)
        elements = program.extract_masked_element(mask, value, axis + rank)
        zero = program.constant(0, element_type_of_value(elements))
        return [
            program.cast_to_type(
                program.select(in_bounds, elements, zero), self.result.type
            )
        ]


@irdl_op_definition
class GatherOp(IndexingOperation):
    """
    Gather along an axis: for each index, the operand element at the position of the
    index, with the coordinate along the axis replaced by the index. Along the other
    axes, indices may be shorter than the operand. Where an index is negative, or not
    less than the extent of the axis, the element is 0.

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
            result_types=[
                infer_result_type(values, shape, element_type_of_value(values[0]))
            ],
        )

    def verify_(self) -> None:
        shape, axis = shape_of(self.operand), self.axis.value.data
        verify_axes([axis], len(shape))
        verify_index_extents(self.indices, shape, axis)
        verify_shape(self.result, shape_of(self.indices))
        verify_element_type(self.result, element_type_of_value(self.operand))

    def indexing_maps(self) -> tuple[Accesses | None, ...]:
        own = identity_accesses(len(shape_of(self.result)))
        axis = self.axis.value.data
        return (*own[:axis], self.indirect_operand_access(), *own[axis + 1 :]), own

    @property
    def gathered_slice_shape(self) -> tuple[int, ...]:
        """Shape of the slice of the operand that elements are read from."""
        axis = self.axis.value.data
        return replace_axis_extent(
            shape_of(self.indices), axis, shape_of(self.operand)[axis]
        )

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        array, indices = operands
        axis = self.axis.value.data
        view = array[tuple(map(slice, self.gathered_slice_shape))]
        in_bounds = compute_in_bounds_mask_array(indices, array.shape[axis])
        positions = np.where(in_bounds, indices, 0).astype(np.int64)
        elements = np.take_along_axis(view, positions, axis)
        return (np.where(in_bounds, elements, array.dtype.type(0)),)

    def decompose(self, builder: Builder) -> Sequence[SSAValue]:
        """Build a masked reduction over an axis after the axis of the indices."""
        program, axis = MaskBuilder(builder), self.axis.value.data
        slice_shape, trailing = (
            self.gathered_slice_shape,
            len(self.gathered_slice_shape) - axis - 1,
        )
        value: SSAValue = self.operand
        if shape_of(value) != slice_shape:
            value = program.insert(SliceOp(value, [0] * len(slice_shape), slice_shape))
        value = program.insert_unit_axes(program.promote_boolean(value), axis)
        positions = program.build_axis_indices(
            slice_shape[axis], trailing, element_type_of_value(self.indices)
        )
        indices = program.insert_unit_axes(self.indices, axis + 1)
        mask = program.compare(indices, positions, Relation.EQ)
        elements = program.extract_masked_element(mask, value, axis + 1)
        in_bounds = program.build_in_bounds_mask(self.indices, slice_shape[axis])
        zero = program.constant(0, element_type_of_value(elements))
        return [
            program.cast_to_type(
                program.select(in_bounds, elements, zero), self.result.type
            )
        ]
