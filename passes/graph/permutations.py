"""
Rewrite patterns of the pass `graph-fold-transposes` that move transposes past
elementwise operations, towards contractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tlf.dialects import graph
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
)
from tlf.dialects.types import tensor_type, tensor_type_like
from tlf.dialects.value_users import single_user_of
from tlf.passes.graph.pointwise import is_pointwise
from tlf.passes.op_replacement import is_in_planned_group

Permutation = tuple[int, ...]


def inverse_permutation(permutation: Permutation) -> Permutation:
    """Return the inverse of a permutation."""
    return tuple(permutation.index(axis) for axis in range(len(permutation)))


def shape_of_permuted_broadcast(
    value: SSAValue, permutation: Permutation
) -> Permutation | None:
    """
    Return the shape of a broadcast operand whose result is transposed, if a reshape of
    the operand suffices; else None.
    """
    shape = tensor_type(value).get_shape()
    shape = (1,) * (len(permutation) - len(shape)) + tuple(shape)
    axes = [axis for axis in permutation if shape[axis] != 1]
    if axes != sorted(axes):
        return None
    permuted = tuple(shape[axis] for axis in permutation)
    first = next((n for n, extent in enumerate(permuted) if extent != 1), len(permuted))
    return permuted[first:]


def non_unit_extents(shape: Sequence[int]) -> list[int]:
    """Return the extents other than 1."""
    return [extent for extent in shape if extent != 1]


def reshape_to(value: SSAValue, shape: Sequence[int], builder: Builder) -> SSAValue:
    """Reshape a value, unless it already has the shape."""
    if tensor_type(value).get_shape() == tuple(shape):
        return value
    return builder.insert(graph.ReshapeOp(value, shape)).result


def can_move_transpose_past(op: Operation) -> bool:
    """Return `True` if a transpose can move past an operation."""
    return is_pointwise(op) and not is_in_planned_group(op)


def is_read_by_contraction(value: SSAValue) -> bool:
    """
    Return `True` if a contraction reads a value, with only elementwise operations in
    between.
    """
    user = single_user_of(value)
    while user is not None and can_move_transpose_past(user):
        shape = tensor_type(user.results[0]).get_shape()
        if shape != tensor_type(value).get_shape():
            return False
        value = user.results[0]
        user = single_user_of(value)
    return isinstance(user, ContractionInterface)


def is_result_of_contraction(value: SSAValue) -> bool:
    """
    Return `True` if a contraction computes a value, with only elementwise operations in
    between.
    """
    shape = tensor_type(value).get_shape()
    while single_user_of(value) is not None and isinstance(
        op := value.owner, Operation
    ):
        if isinstance(op, ContractionInterface):
            return True
        same = [v for v in op.operands if tensor_type(v).get_shape() == shape]
        if not can_move_transpose_past(op) or len(same) != 1:
            return False
        value = same[0]
    return False


def _rebuild_on_permuted_operands(
    op: Operation, operands: Sequence[SSAValue], shape: Sequence[int]
) -> Operation:
    """Return elementwise `op` rebuilt on `operands`, with a result of shape `shape`."""
    assert isinstance(op, ElementwiseInterface)
    result = tensor_type(op.results[0])
    type_: Attribute = tensor_type_like(result, shape, result.element_type)
    rebuilt = op.tiled_implementation(operands, [type_])
    rebuilt.location = op.location
    return rebuilt


@dataclass
class SinkPermutationPattern(RewritePattern):
    """
    Sink a transpose below an elementwise operation, if a contraction reads the result.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not can_move_transpose_past(op):
            return
        transposes = [
            v.owner for v in op.operands if isinstance(v.owner, graph.TransposeOp)
        ]
        movement = next(
            (each for each in transposes if self._can_sink_transpose_below(each, op)),
            None,
        )
        if movement is None or not is_read_by_contraction(op.results[0]):
            return
        inverse = inverse_permutation(movement.axis_list)
        other_values = [value for value in op.operands if value is not movement.result]
        shapes = {
            value: shape_of_permuted_broadcast(value, inverse) for value in other_values
        }
        if None in shapes.values():
            return
        operands = [
            movement.operand
            if value is movement.result
            else reshape_to(value, shapes[value] or (), rewriter)
            for value in op.operands
        ]
        shape = tensor_type(movement.operand).get_shape()
        rebuilt = rewriter.insert(_rebuild_on_permuted_operands(op, operands, shape))
        rewriter.replace(op, graph.TransposeOp(rebuilt.results[0], movement.axis_list))

    @staticmethod
    def _can_sink_transpose_below(movement: graph.TransposeOp, op: Operation) -> bool:
        shape = tensor_type(op.results[0]).get_shape()
        same = tensor_type(movement.result).get_shape() == shape
        return same and single_user_of(movement.result) is not None


@dataclass
class HoistPermutationPattern(RewritePattern):
    """
    Hoist a transpose above an elementwise operation, if a contraction computes its
    operand.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.TransposeOp) or is_read_by_contraction(op.result):
            return
        before = op.operand.owner
        if not isinstance(before, Operation) or not can_move_transpose_past(before):
            return
        if not is_result_of_contraction(op.operand):
            return
        shape = tensor_type(op.operand).get_shape()
        full_size = [v for v in before.operands if tensor_type(v).get_shape() == shape]
        other_values = [value for value in before.operands if value not in full_size]
        shapes = {
            value: shape_of_permuted_broadcast(value, op.axis_list)
            for value in other_values
        }
        if None in shapes.values():
            return
        operands = [
            rewriter.insert(graph.TransposeOp(value, op.axis_list)).result
            if value in full_size
            else reshape_to(value, shapes[value] or (), rewriter)
            for value in before.operands
        ]
        permuted = tensor_type(op.result).get_shape()
        rewriter.replace(op, _rebuild_on_permuted_operands(before, operands, permuted))
        rewriter.erase(before)
