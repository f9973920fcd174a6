"""Analysis of an index: its value in every iteration of a loop with constant bounds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import affine, arith
from xdsl.ir import Block, Operation, SSAValue

from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index


def enumerate_index_values(
    value: Index, induction_variable: SSAValue, iterations: range
) -> list[int] | None:
    """
    Return the value of an index in each iteration; None if it depends on anything but
    the induction variable.
    """
    values = [
        _index_value_in_iteration(value, induction_variable, count)
        for count in iterations
    ]
    known = [each for each in values if each is not None]
    return known if len(known) == len(values) else None


def _index_value_in_iteration(
    value: Index, induction_variable: SSAValue, iteration: int
) -> int | None:
    """
    Evaluate an index with `iteration` as the induction variable; None if it depends on
    other block arguments or unsupported operations.
    """
    if isinstance(value, int):
        return value
    if value is induction_variable:
        return iteration
    if (constant := constant_value_of(value)) is not None:
        return constant
    if isinstance(owner := value.owner, Block):
        return None
    operands = [
        _index_value_in_iteration(each, induction_variable, iteration)
        for each in owner.operands
    ]
    known = [each for each in operands if each is not None]
    return _evaluate_integer_op(owner, known) if len(known) == len(operands) else None


def _evaluate_integer_op(op: Operation, operands: Sequence[int]) -> int | None:
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
