"""
Rewrite rule of the `graph` dialect: fold explicit broadcasts of elementwise operands
into implicit ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp
from tlf.dialects.graph.remark_equations import format_operation_term
from tlf.dialects.graph.rewrites.algebraic_simplifications import rebuild_with_operands
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import ElementwiseInterface, Simplification
from tlf.dialects.types import broadcast_shape


def _operand_of_explicit_broadcast(value: SSAValue) -> SSAValue | None:
    """Return the operand of an explicit broadcast that is implicit in numpy."""
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        return owner.operand
    if not isinstance(owner, ReshapeOp):
        return None
    source, shape = shape_of(owner.operand), shape_of(value)
    added = len(shape) - len(source)
    is_longer = added > 0 and shape == (*[1] * added, *source)
    return owner.operand if is_longer else None


def fold_operand_broadcast(op: Operation) -> Iterable[Simplification]:
    """Fold the broadcast of an operand into the elementwise operation."""
    if not isinstance(op, ElementwiseInterface):
        return
    shape = shape_of(op.results[0])
    for position, operand in enumerate(op.operands):
        if (source := _operand_of_explicit_broadcast(operand)) is None:
            continue
        operands = [*op.operands[:position], source, *op.operands[position + 1 :]]
        if _infer_broadcast_shape(operands) == shape:
            left = format_operation_term(type(op), "x", "broadcast(y)")
            text = f"{left} = {format_operation_term(type(op), 'x', 'y')}"
            yield Simplification(text, partial(rebuild_with_operands, op, operands))


def _infer_broadcast_shape(operands: Iterable[SSAValue]) -> tuple[int, ...] | None:
    """
    Return the numpy broadcast shape of the operands; `None` if they are incompatible.
    """
    try:
        return broadcast_shape(*map(shape_of, operands))
    except VerifyException:
        return None
