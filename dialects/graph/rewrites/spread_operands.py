"""Elementwise operations of broadcast operands."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.equations import term
from tlf.dialects.graph.movement import BroadcastOp, ReshapeOp
from tlf.dialects.graph.rewrites.identities import again
from tlf.dialects.graph.tensors import shape_of
from tlf.dialects.interfaces import ElementwiseInterface, Simplification
from tlf.dialects.types import broadcast_shape


def _source(value: SSAValue) -> SSAValue | None:
    """
    Return the tensor that a value broadcasts as numpy would implicitly; `None` if there
    is none.
    """
    owner = value.owner
    if isinstance(owner, BroadcastOp):
        return owner.operand
    if not isinstance(owner, ReshapeOp):
        return None
    source, shape = shape_of(owner.operand), shape_of(value)
    added = len(shape) - len(source)
    is_longer = added > 0 and shape == (*[1] * added, *source)
    return owner.operand if is_longer else None


def reads_spread(op: Operation) -> Iterable[Simplification]:
    """An operation that broadcasts an operand by itself, to the same shape."""
    if not isinstance(op, ElementwiseInterface):
        return
    shape = shape_of(op.results[0])
    for position, operand in enumerate(op.operands):
        if (source := _source(operand)) is None:
            continue
        operands = [*op.operands[:position], source, *op.operands[position + 1 :]]
        if _broadcast(operands) == shape:
            left = term(type(op), "x", "broadcast(y)")
            text = f"{left} = {term(type(op), 'x', 'y')}"
            yield Simplification(text, partial(again, op, operands))


def _broadcast(operands: Iterable[SSAValue]) -> tuple[int, ...] | None:
    try:
        return broadcast_shape(*map(shape_of, operands))
    except VerifyException:
        return None
