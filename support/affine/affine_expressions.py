"""Affine expressions evaluated in any domain of values, without IR operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

Value = TypeVar("Value")


def evaluate_expression(
    expression: AffineExpr,
    dims: Sequence[Value],
    symbols: Sequence[Value],
    constant: Callable[[int], Value],
    combine: Callable[[AffineBinaryOpExpr, Value, Value], Value],
) -> Value:
    """
    Evaluate an expression for given dimensions and symbols, innermost operations first;
    `constant` and `combine` evaluate constants and binary operations.
    """
    match expression:
        case AffineConstantExpr():
            return constant(expression.value)
        case AffineDimExpr():
            return dims[expression.position]
        case AffineSymExpr():
            return symbols[expression.position]
        case AffineBinaryOpExpr():
            lhs, rhs = (
                evaluate_expression(each, dims, symbols, constant, combine)
                for each in (expression.lhs, expression.rhs)
            )
            return combine(expression, lhs, rhs)
        case _:
            raise ValueError(f"expected an affine expression, got {expression}")
