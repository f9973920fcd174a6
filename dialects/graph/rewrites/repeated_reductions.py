"""
Rewrite rule of `graph.reduce`, in the `graph` dialect: reuse an equal reduction, up to
unit axes.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.reduction import ReduceOp
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.interfaces import Simplification


def reuse_equal_earlier_reduction(op: Operation) -> Iterable[Simplification]:
    """Replace a reduction by a reshape of an equal one that precedes it."""
    if not isinstance(op, ReduceOp):
        return
    for use in op.operand.uses:
        first = use.operation
        if isinstance(first, ReduceOp) and _is_equal_earlier_reduction(first, op):
            text = f"{op.reduce_kind} is there already, but for its shape"
            shape = shape_of(op.result)
            yield Simplification(
                text,
                lambda builder, first=first: (
                    builder.insert(ReshapeOp(first.result, shape)).result
                ),
            )
            return


def _is_equal_earlier_reduction(earlier: ReduceOp, op: ReduceOp) -> bool:
    """Return `True` if `earlier` precedes `op` and computes the same values."""
    if earlier.init_value is not None or op.init_value is not None:
        return False
    return (
        earlier.operand is op.operand
        and earlier.reduce_kind is op.reduce_kind
        and set(earlier.axis_list) == set(op.axis_list)
        and (earlier.keepdims is None) is not (op.keepdims is None)
        and earlier.accumulator_type == op.accumulator_type
        and element_type_of_value(earlier.result) == element_type_of_value(op.result)
        # The order takes longest to determine.
        and earlier.is_before_in_block(op)
    )
