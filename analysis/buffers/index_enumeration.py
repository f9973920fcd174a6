"""Values of an index in every iteration of a loop with constant bounds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, arith
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index


def enumerate_index(value: Index, counter: SSAValue, counts: range) -> list[int] | None:
    """
    Return the value of an index in each iteration; None if it depends on anything but
    the induction variable.
    """
    values = [_value_at(value, counter, count) for count in counts]
    known = [each for each in values if each is not None]
    return known if len(known) == len(values) else None


def _value_at(value: Index, counter: SSAValue, count: int) -> int | None:
    if isinstance(value, int):
        return value
    if value is counter:
        return count
    if (constant := constant_value_of(value)) is not None:
        return constant
    if isinstance(owner := value.owner, Block):
        return None
    operands = [_value_at(each, counter, count) for each in owner.operands]
    known = [each for each in operands if each is not None]
    return _evaluate_op(owner, known) if len(known) == len(operands) else None


def _evaluate_op(op: Operation, operands: Sequence[int]) -> int | None:
    """Return the result of an operation on integers; None if it is not supported."""
    match op, operands:
        case affine.ApplyOp(), _:
            dims = op.map.data.num_dims
            (result,) = op.map.data.eval(operands[:dims], operands[dims:])
            return result
        case arith.AddiOp(), (left, right):
            return left + right
        case arith.SubiOp(), (left, right):
            return left - right
        case arith.MuliOp(), (left, right):
            return left * right
        case arith.FloorDivSIOp(), (left, right) if right:
            return left // right
        case arith.RemSIOp(), (left, right) if left >= 0 < right:
            return left % right
        case _:
            return None
