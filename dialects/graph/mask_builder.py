"""
Builder of operations of the `graph` dialect that select elements by index masks.

Elements outside of a mask are replaced, not multiplied by 0, so that their infinities
and NaN do not propagate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i1, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.comparison_and_logic import AndOp, CompareOp, Relation, SelectOp
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.iota import IotaOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_element_of
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.interfaces import Array, Scalar


def replace_axis_extent(
    shape: Sequence[int], axis: int, extent: int
) -> tuple[int, ...]:
    """Return the shape with another extent along an axis."""
    return (*shape[:axis], extent, *shape[axis + 1 :])


def compute_in_bounds_mask_array(indices: Array, extent: int) -> Array:
    """Return the mask of the indices that are in bounds of an axis of `extent`."""
    mask = np.logical_and(np.greater_equal(indices, 0), np.less(indices, extent))
    return np.asarray(mask)


@dataclass(frozen=True)
class MaskBuilder:
    """Builder of operations that compute masks and select elements by them."""

    builder: Builder

    def insert(self, op: Operation) -> SSAValue:
        """Insert an operation, and return its result."""
        return self.builder.insert(op).results[0]

    def constant(self, value: Scalar, element_type: Attribute) -> SSAValue:
        """Build a scalar constant."""
        return self.insert(ConstantOp.from_splat(value, TensorType(element_type, [])))

    def build_axis_indices(
        self, extent: int, trailing_unit_axes: int, element_type: Attribute = i32
    ) -> SSAValue:
        """
        Build the indices of an axis that is followed by `trailing_unit_axes` unit axes.
        """
        return self.insert(
            IotaOp(TensorType(element_type, [extent, *[1] * trailing_unit_axes]), 0)
        )

    def insert_unit_axes(self, value: SSAValue, axis: int, count: int = 1) -> SSAValue:
        """Insert `count` axes of extent 1 before an axis, or at the end."""
        shape = shape_of(value)
        if count == 0:
            return value
        expanded_shape = (*shape[:axis], *[1] * count, *shape[axis:])
        return self.insert(ReshapeOp(value, expanded_shape))

    def compare(self, lhs: SSAValue, rhs: SSAValue, relation: Relation) -> SSAValue:
        """Build a comparison."""
        return self.insert(CompareOp(lhs, rhs, relation))

    def select(self, mask: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build `lhs` where the mask is true, and `rhs` elsewhere."""
        return self.insert(SelectOp(mask, lhs, rhs))

    def reduce_masked_elements(
        self,
        mask: SSAValue,
        value: SSAValue,
        kind: ReduceKind,
        axis: int,
        keepdims: bool = False,
    ) -> SSAValue:
        """Build the reduction of the masked elements of a value along an axis."""
        neutral = self.constant(
            neutral_element_of(kind, element_type_of_value(value)),
            element_type_of_value(value),
        )
        return self.insert(
            ReduceOp(self.select(mask, value, neutral), kind, [axis], keepdims)
        )

    def extract_masked_element(
        self, mask: SSAValue, value: SSAValue, axis: int
    ) -> SSAValue:
        """Build the only masked element along an axis; undefined if there is none."""
        return self.reduce_masked_elements(mask, value, ReduceKind.MAX, axis)

    def build_in_bounds_mask(self, indices: SSAValue, extent: int) -> SSAValue:
        """Build the mask of the indices that are in bounds of an axis of `extent`."""
        element = element_type_of_value(indices)
        bounds = ((0, Relation.GE), (extent, Relation.LT))
        return reduce(
            lambda lhs, rhs: self.insert(AndOp(lhs, rhs)),
            [
                self.compare(indices, self.constant(bound, element), relation)
                for bound, relation in bounds
            ],
        )

    def promote_boolean(self, value: SSAValue) -> SSAValue:
        """Promote i1 to i8, true being 1; return other values unchanged."""
        return self.cast(value, i8) if element_type_of_value(value) == i1 else value

    def cast(self, value: SSAValue, element_type: Attribute) -> SSAValue:
        """Build a cast to another element type."""
        return self.insert(CastOp(value, element_type))

    def cast_elements(self, value: SSAValue, element_type: Attribute) -> SSAValue:
        """Cast a value to another element type; return it as it is if it has it."""
        if element_type_of_value(value) == element_type:
            return value
        return self.cast(value, element_type)

    def cast_to_type(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Cast a value to `type_`, a type of the same shape."""
        if value.type == type_:
            return value
        return self.insert(CastOp.create(operands=[value], result_types=[type_]))
