"""Indices of a program of tiles as sums of the counters of its loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.affine import ApplyOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)
from xdsl.utils.exceptions import PassFailedException

from tlf.planner.cost.program.program import Variable
from tlf.support.affine.access import Linear
from tlf.support.affine.mixed_index import Index


class UnknownTimeError(PassFailedException):
    """A program whose time cannot be told from its tiles."""

    def __init__(self, op: Operation, message: str) -> None:
        super().__init__(f"{op.name}: {message}")


class Indices:
    """Index values as affine functions of loop variables."""

    def __init__(self) -> None:
        self.known: dict[SSAValue, Linear] = {}

    def bind(self, value: SSAValue, variable: Variable) -> None:
        """Let a value be the counter of a loop."""
        if variable.trips == 1:
            self.known[value] = Linear(variable.lower)
        else:
            self.known[value] = Linear.of(variable)

    def of(self, index: Index) -> Linear:
        """An index as a sum."""
        if isinstance(index, int):
            return Linear(index)
        if index not in self.known and isinstance(owner := index.owner, ApplyOp):
            self.apply(owner)
        if (known := self.known.get(index)) is None:
            user = next(iter(index.uses)).operation
            raise UnknownTimeError(user, "expected an index that loops count")
        return known

    def all(self, indices: Sequence[Index]) -> tuple[Linear, ...]:
        """Several indices."""
        return tuple(self.of(index) for index in indices)

    def apply(self, op: ApplyOp) -> None:
        """Note what an operation computes."""
        operands = [self.of(each) for each in op.mapOperands]
        (expression,) = op.map.data.results
        self.known[op.result] = _linear(op, expression, operands)


def _linear(op: ApplyOp, expression: AffineExpr, operands: Sequence[Linear]) -> Linear:
    match expression:
        case AffineConstantExpr():
            return Linear(expression.value)
        case AffineDimExpr():
            return operands[expression.position]
        case AffineBinaryOpExpr():
            left = _linear(op, expression.lhs, operands)
            right = _linear(op, expression.rhs, operands)
            if expression.kind is AffineBinaryOpKind.Add:
                return left + right
            if expression.kind is AffineBinaryOpKind.Mul and not right.terms:
                return left * right.constant
            if expression.kind is AffineBinaryOpKind.Mul and not left.terms:
                return right * left.constant
        case _:
            pass
    raise UnknownTimeError(op, f"expected a linear index, got {expression}")
