"""
Rewrite patterns of the pass `graph-hoist-reshapes` that sink a reshape that interleaves
axes of a product below the users of its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from tlf.dialects import graph
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.pointwise import is_pointwise, rebuild_elementwise
from tlf.passes.graph.split_axes import (
    AxisFactors,
    factor_indices_of_axes,
    has_several_factors,
    shape_of_factors,
    split_factors_between,
)
from tlf.passes.op_replacement import is_in_planned_group


@dataclass
class SinkInterleavingPattern(RewritePattern):
    """
    Compute an elementwise operation on the permuted axes of a product, rather than on
    the axes that a reshape merges them into, such as pixels and their residues: the
    product can write in the permuted order, and its result is not stored in between.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not is_pointwise(op) or is_in_planned_group(op):
            return
        shape = tensor_type(op.results[0]).get_shape()
        if (factors := _interleaved_factors_of_operands(op.operands, shape)) is None:
            return
        shapes = [_split_shape_of_operand(each, factors) for each in op.operands]
        operands = [
            reshape_to(_source_of_shape(value, split), split, rewriter)
            for value, split in zip(op.operands, shapes, strict=True)
        ]
        split_shape = shape_of_factors(factors)
        result = rebuild_elementwise(op, operands, split_shape, rewriter)
        rewriter.replace(op, [], [reshape_to(result, shape, rewriter)])


@dataclass
class SinkInterleavingBelowReductionPattern(RewritePattern):
    """Reduce the permuted axes of a product rather than the axes they merge into."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ReduceOp) or is_in_planned_group(op):
            return
        if op.init is not None:
            return
        shape = tensor_type(op.operand).get_shape()
        if (factors := _interleaved_factors_of_operands([op.operand], shape)) is None:
            return
        split_shape = shape_of_factors(factors)
        reduced = graph.ReduceOp(
            reshape_to(
                _source_of_shape(op.operand, split_shape), split_shape, rewriter
            ),
            op.reduce_kind,
            factor_indices_of_axes(factors, sorted(op.axis_list)),
            acc=op.acc,
            element=op.result.type.element_type,
        )
        result = rewriter.insert(reduced).result
        wanted = tensor_type(op.result).get_shape()
        rewriter.replace(op, [], [reshape_to(result, wanted, rewriter)])


def _interleaved_factors_of_operands(
    operands: Sequence[SSAValue], shape: Sequence[int]
) -> AxisFactors | None:
    """
    Return the factors of the axes of the first operand of a shape that interleaves axes
    of a product; None if there is none.
    """
    for value in operands:
        if tensor_type(value).get_shape() != tuple(shape):
            continue
        if (factors := _interleaved_factors_of(value)) is not None:
            return factors
    return None


def _interleaved_factors_of(value: SSAValue) -> AxisFactors | None:
    """
    Return the factors of the axes that a reshape merges after a product was transposed,
    with elementwise operations in between; None if it does not.
    """
    collapse = value.owner
    if not isinstance(collapse, graph.ReshapeOp) or is_in_planned_group(collapse):
        return None
    factors = split_factors_between(collapse.result, collapse.operand)
    if factors is None or not any(map(has_several_factors, factors)):
        return None
    return factors if _is_permuted_product(collapse.operand) else None


def _is_permuted_product(value: SSAValue) -> bool:
    """
    Return `True` if a value is a transposed result of a product, or is computed from
    one by elementwise operations.
    """
    shape, visited = tensor_type(value).get_shape(), set[SSAValue]()
    pending = [value]
    while pending:
        each = pending.pop()
        if each in visited or tensor_type(each).get_shape() != shape:
            continue
        visited.add(each)
        owner = each.owner
        if isinstance(owner, graph.TransposeOp):
            if _is_split_product(owner.operand):
                return True
        elif is_pointwise(owner):
            pending += owner.operands
    return False


def _is_split_product(value: SSAValue) -> bool:
    """Return `True` if a product computes a value, up to a reshape."""
    owner = value.owner
    if isinstance(owner, graph.ReshapeOp):
        owner = owner.operand.owner
    return isinstance(owner, ContractionInterface)


def _split_shape_of_operand(value: SSAValue, factors: AxisFactors) -> tuple[int, ...]:
    """Return the shape of an operand that may broadcast, with its axes split."""
    shape = tensor_type(value).get_shape()
    aligned = factors[len(factors) - len(shape) :]
    return tuple(
        each
        for extent, extents in zip(shape, aligned, strict=True)
        for each in (extents if extent > 1 else (1,) * len(extents))
    )


def _source_of_shape(value: SSAValue, shape: Sequence[int]) -> SSAValue:
    """Return the operand of the reshape of a value, if it has a shape, or the value."""
    owner = value.owner
    if isinstance(owner, graph.ReshapeOp):
        if tensor_type(owner.operand).get_shape() == tuple(shape):
            return owner.operand
    return value
