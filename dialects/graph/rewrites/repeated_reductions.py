"""Rewrite rule of graph reductions: reuse an equal reduction, up to unit axes."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.reduction import ReduceOp
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.interfaces import Simplification


def reuse_reduction(op: Operation) -> Iterable[Simplification]:
    """Replace a reduction by a reshape of an equal one that precedes it."""
    if not isinstance(op, ReduceOp):
        return
    for use in op.operand.uses:
        first = use.operation
        if isinstance(first, ReduceOp) and _is_same_reduction(first, op):
            text = f"{op.combination} is there already, but for its shape"
            shape = shape_of(op.result)
            yield Simplification(
                text,
                lambda builder, first=first: (
                    builder.insert(ReshapeOp(first.result, shape)).result
                ),
            )
            return


def _is_same_reduction(first: ReduceOp, op: ReduceOp) -> bool:
    """Return `True` if `first` precedes `op` and computes the same values."""
    if first.parent is not op.parent or not first.is_before_in_block(op):
        return False
    if first.init_value is not None or op.init_value is not None:
        return False
    return (
        first.operand is op.operand
        and first.combination is op.combination
        and set(first.axis_list) == set(op.axis_list)
        and (first.keepdims is None) is not (op.keepdims is None)
        and first.accumulator_type == op.accumulator_type
        and element_of(first.result) == element_of(op.result)
    )
