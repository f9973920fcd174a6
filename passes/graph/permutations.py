"""Moving permutations of axes past elementwise operations, towards contractions."""

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
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import like, tensor_type
from tlf.passes.graph.pointwise import is_pointwise

Permutation = tuple[int, ...]


def inverse(permutation: Permutation) -> Permutation:
    """The permutation that undoes another one."""
    return tuple(permutation.index(axis) for axis in range(len(permutation)))


def permuted_shape(value: SSAValue, permutation: Permutation) -> Permutation | None:
    """
    The shape of a broadcast operand for a result whose axes are permuted, if no element
    of it has to move: where the axes along which it extends stay in order.
    """
    shape = tensor_type(value).get_shape()
    shape = (1,) * (len(permutation) - len(shape)) + tuple(shape)
    axes = [axis for axis in permutation if shape[axis] != 1]
    if axes != sorted(axes):
        return None
    wanted = tuple(shape[axis] for axis in permutation)
    first = next((n for n, extent in enumerate(wanted) if extent != 1), len(wanted))
    return wanted[first:]


def reshaped(value: SSAValue, shape: Sequence[int], builder: Builder) -> SSAValue:
    """A value under another shape, itself if it has that."""
    if tensor_type(value).get_shape() == tuple(shape):
        return value
    return builder.insert(graph.ReshapeOp(value, shape)).result


def moves_alone(op: Operation) -> bool:
    """Return `True` if a permutation may move past an operation."""
    return is_pointwise(op) and not is_planned(op)


def only_user(value: SSAValue) -> Operation | None:
    """The operation that uses a value, if it is one."""
    users = [use.operation for use in value.uses]
    return users[0] if len(users) == 1 else None


def is_read_by_product(value: SSAValue) -> bool:
    """
    Return `True` if a contraction reads a value, with only elementwise operations in
    between.
    """
    user = only_user(value)
    while user is not None and moves_alone(user):
        shape = tensor_type(user.results[0]).get_shape()
        if shape != tensor_type(value).get_shape():
            return False
        value = user.results[0]
        user = only_user(value)
    return isinstance(user, ContractionInterface)


def is_made_by_product(value: SSAValue) -> bool:
    """
    Return `True` if a contraction computes a value, with only elementwise operations in
    between.
    """
    shape = tensor_type(value).get_shape()
    while only_user(value) is not None and isinstance(op := value.owner, Operation):
        if isinstance(op, ContractionInterface):
            return True
        same = [v for v in op.operands if tensor_type(v).get_shape() == shape]
        if not moves_alone(op) or len(same) != 1:
            return False
        value = same[0]
    return False


def _rebuilt(
    op: Operation, operands: Sequence[SSAValue], shape: Sequence[int]
) -> Operation:
    assert isinstance(op, ElementwiseInterface)
    result = tensor_type(op.results[0])
    type_: Attribute = like(result, shape, result.element_type)
    made = op.tiled(operands, [type_])
    made.location = op.location
    return made


@dataclass
class SinkPermutationPattern(RewritePattern):
    """
    Compute element by element before axes are permuted, where a contraction reads the
    result.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not moves_alone(op) or not is_read_by_product(op.results[0]):
            return
        found = [v.owner for v in op.operands if isinstance(v.owner, graph.TransposeOp)]
        movement = next((each for each in found if self._fits(each, op)), None)
        if movement is None:
            return
        back = inverse(movement.axis_list)
        others = [value for value in op.operands if value is not movement.result]
        shapes = {value: permuted_shape(value, back) for value in others}
        if None in shapes.values():
            return
        operands = [
            movement.operand
            if value is movement.result
            else reshaped(value, shapes[value] or (), rewriter)
            for value in op.operands
        ]
        shape = tensor_type(movement.operand).get_shape()
        made = rewriter.insert(_rebuilt(op, operands, shape))
        rewriter.replace(op, graph.TransposeOp(made.results[0], movement.axis_list))

    @staticmethod
    def _fits(movement: graph.TransposeOp, op: Operation) -> bool:
        shape = tensor_type(op.results[0]).get_shape()
        same = tensor_type(movement.result).get_shape() == shape
        return same and only_user(movement.result) is not None


@dataclass
class RaisePermutationPattern(RewritePattern):
    """
    Permute axes before computing element by element, where a contraction makes what is
    computed with.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.TransposeOp) or is_read_by_product(op.result):
            return
        before = op.operand.owner
        if not isinstance(before, Operation) or not moves_alone(before):
            return
        if not is_made_by_product(op.operand):
            return
        shape = tensor_type(op.operand).get_shape()
        whole = [v for v in before.operands if tensor_type(v).get_shape() == shape]
        others = [value for value in before.operands if value not in whole]
        shapes = {value: permuted_shape(value, op.axis_list) for value in others}
        if None in shapes.values():
            return
        operands = [
            rewriter.insert(graph.TransposeOp(value, op.axis_list)).result
            if value in whole
            else reshaped(value, shapes[value] or (), rewriter)
            for value in before.operands
        ]
        wanted = tensor_type(op.result).get_shape()
        rewriter.replace(op, _rebuilt(before, operands, wanted))
        rewriter.erase(before)
