"""
Rewrite of gathers from rows of a contraction as masked sums, which fuse with its loop.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import dtype_of, tensor_type, tensor_type_like
from tlf.dialects.value_postorder import compute_in_postorder
from tlf.passes.graph.pointwise import is_pointwise, is_varying_along, leaf_values_of
from tlf.passes.op_replacement import is_in_planned_group


def can_rewrite_gather_as_sum(op: Operation) -> bool:
    """
    Return `True` if an operation gathers one element per row of a contraction's result,
    or of elementwise operations on it.
    """
    if not isinstance(op, graph.GatherOp) or is_in_planned_group(op):
        return False
    shape, axis = tensor_type(op.operand).get_shape(), op.axis.value.data
    gathered_shape = (*shape[:axis], 1, *shape[axis + 1 :])
    if tensor_type(op.result).get_shape() != gathered_shape:
        return False
    leaves = [
        leaf
        for leaf in leaf_values_of(op.operand)
        if is_varying_along(leaf, axis - len(shape))
    ]
    return all(tensor_type(leaf).element_type != i1 for leaf in leaves) and any(
        isinstance(leaf.owner, ContractionInterface) for leaf in leaves
    )


def rewrite_gather_as_sum(op: Operation) -> bool:
    """
    Replace a gather by sums of elements masked by a comparison of indices, so that the
    rows need not be stored. Elementwise operations are applied to the sums. Return
    `True` on success.
    """
    if not can_rewrite_gather_as_sum(op):
        return False
    assert isinstance(op, graph.GatherOp)
    sums = _GatherSums(op, Builder(InsertPoint.before(op)))
    gathered = sums.gather_value(op.operand)
    if is_pointwise(op.operand.owner):
        gathered = sums.zero_where_out_of_range(gathered)
    gathered.name_hint = op.result.name_hint
    replace_op(op, [], [gathered])
    return True


class _GatherSums:
    """Builder of graph operations that compute one gather by masked sums."""

    def __init__(self, op: graph.GatherOp, builder: Builder) -> None:
        self.op = op
        self.axis = op.axis.value.data
        self.shape = tensor_type(op.operand).get_shape()
        self.builder = builder
        self._known: dict[SSAValue, SSAValue] = {}

    @property
    def axis_from_end(self) -> int:
        """The gathered axis as a negative index: -1 is the last axis."""
        return self.axis - len(self.shape)

    def gather_value(self, value: SSAValue) -> SSAValue:
        """Return the gathered elements of a value."""
        return compute_in_postorder(
            value, self._known, self._operands_along_axis, self._build_gathered_value
        )

    def _operands_along_axis(self, value: SSAValue) -> Sequence[SSAValue]:
        """
        Return the operands of the elementwise operation that computes a value along the
        axis; none for leaves.
        """
        if not is_pointwise(value.owner) or not is_varying_along(
            value, self.axis_from_end
        ):
            return ()
        return value.owner.operands

    def _build_gathered_value(self, value: SSAValue) -> SSAValue:
        """Gather a leaf, or rebuild the producer of `value` on gathered operands."""
        owner = value.owner
        if not is_varying_along(value, self.axis_from_end):
            return value
        if not is_pointwise(owner):
            return self._gather_leaf(value)
        operands = [self.gather_value(each) for each in owner.operands]
        type_ = tensor_type(value)
        sizes = list(type_.get_shape())
        sizes[self.axis_from_end] = 1
        result = tensor_type_like(type_, sizes, type_.element_type)
        return self._insert_operation(owner.tiled_implementation(operands, [result]))

    def zero_where_out_of_range(self, value: SSAValue) -> SSAValue:
        """
        Build a select of `value` where the indices of the gather are in range, and 0
        elsewhere.
        """
        element = tensor_type(self.op.indices).element_type
        start = self._build_scalar_constant(0, element)
        end = self._build_scalar_constant(self.shape[self.axis], element)
        not_negative = self._insert_operation(
            graph.CompareOp(self.op.indices, start, Relation.GE)
        )
        before_end = self._insert_operation(
            graph.CompareOp(self.op.indices, end, Relation.LT)
        )
        in_range = self._insert_operation(graph.AndOp(not_negative, before_end))
        zero = self._build_scalar_constant(0, tensor_type(value).element_type)
        return self._insert_operation(graph.SelectOp(in_range, value, zero))

    def _gather_leaf(self, value: SSAValue) -> SSAValue:
        """
        Gather the elements of a leaf: directly if it is stored, else by a masked sum.
        """
        is_stored = not isinstance(value.owner, ContractionInterface)
        if is_stored and tensor_type(value).get_shape() == self.shape:
            return self._insert_operation(
                graph.GatherOp(value, self.op.indices, self.axis)
            )
        return self._sum_elements_at_indices(value)

    def _sum_elements_at_indices(self, value: SSAValue) -> SSAValue:
        """Build the sum of `value` where positions on the axis equal the indices."""
        element = tensor_type(self.op.indices).element_type
        extent, trailing = self.shape[self.axis], len(self.shape) - self.axis - 1
        positions = np.arange(extent, dtype=dtype_of(element))
        positions = positions.reshape(extent, *[1] * trailing)
        constant = self._insert_operation(graph.ConstantOp(positions))
        matches = self._insert_operation(
            graph.CompareOp(self.op.indices, constant, Relation.EQ)
        )
        zero = self._build_scalar_constant(0, tensor_type(value).element_type)
        masked = self._insert_operation(graph.SelectOp(matches, value, zero))
        return self._insert_operation(
            graph.ReduceOp(masked, ReduceKind.SUM, [self.axis], True)
        )

    def _build_scalar_constant(self, value: int, element: Attribute) -> SSAValue:
        return self._insert_operation(
            graph.ConstantOp.from_splat(value, TensorType(element, []))
        )

    def _insert_operation(self, op: Operation) -> SSAValue:
        op.location = self.op.location
        return self.builder.insert(op).results[0]
