"""
Algebraic laws of graph operations, as data: neutral and absorbing constants, x op x,
compositions.

A law is exact if both sides are bit-identical, also for NaN, infinities and zeros of
both signs: for floats `x + 0 = x` is not exact, because -0 + 0 is 0; `x + -0 = x` is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import product
from typing import TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation

from tlf.dialects.graph import exponentials, rounding, unary_functions
from tlf.dialects.graph.activation import ReluOp
from tlf.dialects.graph.division import DivOp, RemOp
from tlf.dialects.graph.elementwise import (
    AddOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PowOp,
    SubOp,
)
from tlf.dialects.graph.logic import AndOp, NotOp, OrOp
from tlf.dialects.graph.reduction import ReduceKind, least_value_of, neutral_element_of
from tlf.dialects.interfaces import Scalar
from tlf.dialects.types import is_float

OperationType: TypeAlias = type[Operation]

TypedConstant: TypeAlias = Callable[[Attribute], Scalar | None]
"""Constant of a law by element type; `None` if the law excludes the type."""


def typed_constant(
    floats: float | None = None,
    integers: int | None = None,
    booleans: int | None = None,
) -> TypedConstant:
    """Return a constant by element type: floats, integers, or i1; default `None`."""

    def find_constant(element: Attribute) -> Scalar | None:
        if element == i1:
            return booleans
        return floats if is_float(element) else integers

    return find_constant


def _greatest_value(element: Attribute) -> Scalar:
    return 1 if element == i1 else neutral_element_of(ReduceKind.MIN, element)


def _least_integer(element: Attribute) -> Scalar | None:
    return None if is_float(element) else least_value_of(element)


def _greatest_integer(element: Attribute) -> Scalar | None:
    return None if is_float(element) else _greatest_value(element)


class LawResult(Enum):
    """Non-constant result of a law."""

    OTHER = auto()
    """The other operand."""
    NEGATED_OTHER = auto()
    """The other operand, negated."""


LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class ConstantOperandLaw:
    """Law of a binary operation with a specific constant as one operand."""

    kind: OperationType
    side: int
    constant: TypedConstant
    result: LawResult | TypedConstant
    exact: bool = True


def _on_both_sides(law: ConstantOperandLaw) -> Sequence[ConstantOperandLaw]:
    return (law, replace(law, side=1 - law.side))


_ZERO = typed_constant(0.0, 0, 0)
_INTEGER_ZERO = typed_constant(None, 0, 0)
_ONE = typed_constant(1.0, 1, 1)
_ALL_BITS = typed_constant(None, -1, 1)

CONSTANT_OPERAND_LAWS: Sequence[ConstantOperandLaw] = (
    *_on_both_sides(
        ConstantOperandLaw(AddOp, LEFT, typed_constant(-0.0, 0), LawResult.OTHER)
    ),
    *_on_both_sides(
        ConstantOperandLaw(
            AddOp, LEFT, typed_constant(0.0), LawResult.OTHER, exact=False
        )
    ),
    ConstantOperandLaw(SubOp, RIGHT, typed_constant(0.0, 0), LawResult.OTHER),
    ConstantOperandLaw(
        SubOp, RIGHT, typed_constant(-0.0), LawResult.OTHER, exact=False
    ),
    ConstantOperandLaw(SubOp, LEFT, typed_constant(-0.0, 0), LawResult.NEGATED_OTHER),
    ConstantOperandLaw(
        SubOp, LEFT, typed_constant(0.0), LawResult.NEGATED_OTHER, exact=False
    ),
    *_on_both_sides(ConstantOperandLaw(MulOp, LEFT, _ONE, LawResult.OTHER)),
    *_on_both_sides(
        ConstantOperandLaw(
            MulOp, LEFT, typed_constant(-1.0, -1), LawResult.NEGATED_OTHER
        )
    ),
    *_on_both_sides(ConstantOperandLaw(MulOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO)),
    *_on_both_sides(
        ConstantOperandLaw(
            MulOp, LEFT, typed_constant(0.0), typed_constant(0.0), exact=False
        )
    ),
    ConstantOperandLaw(DivOp, RIGHT, typed_constant(1.0, 1), LawResult.OTHER),
    ConstantOperandLaw(DivOp, RIGHT, typed_constant(-1.0, -1), LawResult.NEGATED_OTHER),
    ConstantOperandLaw(DivOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO),
    ConstantOperandLaw(RemOp, RIGHT, typed_constant(None, 1), _INTEGER_ZERO),
    ConstantOperandLaw(RemOp, RIGHT, typed_constant(None, -1), _INTEGER_ZERO),
    ConstantOperandLaw(RemOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO),
    ConstantOperandLaw(PowOp, RIGHT, typed_constant(1.0), LawResult.OTHER),
    ConstantOperandLaw(PowOp, RIGHT, typed_constant(0.0), typed_constant(1.0)),
    ConstantOperandLaw(PowOp, RIGHT, typed_constant(-0.0), typed_constant(1.0)),
    ConstantOperandLaw(PowOp, LEFT, typed_constant(1.0), typed_constant(1.0)),
    *_on_both_sides(
        ConstantOperandLaw(MaximumOp, LEFT, least_value_of, LawResult.OTHER)
    ),
    *_on_both_sides(
        ConstantOperandLaw(MaximumOp, LEFT, _greatest_integer, _greatest_integer)
    ),
    *_on_both_sides(
        ConstantOperandLaw(MinimumOp, LEFT, _greatest_value, LawResult.OTHER)
    ),
    *_on_both_sides(
        ConstantOperandLaw(MinimumOp, LEFT, _least_integer, _least_integer)
    ),
    *_on_both_sides(ConstantOperandLaw(AndOp, LEFT, _ALL_BITS, LawResult.OTHER)),
    *_on_both_sides(ConstantOperandLaw(AndOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO)),
    *_on_both_sides(ConstantOperandLaw(OrOp, LEFT, _INTEGER_ZERO, LawResult.OTHER)),
    *_on_both_sides(ConstantOperandLaw(OrOp, LEFT, _ALL_BITS, _ALL_BITS)),
)
"""Laws of binary operations with one constant operand."""


@dataclass(frozen=True)
class SameOperandLaw:
    """Law of a binary operation whose operands are the same value."""

    kind: OperationType
    result: LawResult | TypedConstant
    exact: bool = True


SAME_OPERAND_LAWS: Sequence[SameOperandLaw] = (
    *(
        SameOperandLaw(each, LawResult.OTHER)
        for each in (MaximumOp, MinimumOp, AndOp, OrOp)
    ),
    SameOperandLaw(SubOp, typed_constant(None, 0)),
    SameOperandLaw(SubOp, typed_constant(0.0), exact=False),
    SameOperandLaw(DivOp, typed_constant(1.0), exact=False),
)
"""Laws of binary operations `x op x`."""


class CompositionResult(Enum):
    """Result of a composition of two unary operations."""

    ARGUMENT = auto()
    """The operand x of the inner operation."""
    INNER = auto()
    """Result of the inner operation."""
    OUTER = auto()
    """The outer operation, applied to x."""


_ROUNDING_OPS = (rounding.FloorOp, rounding.CeilOp, rounding.TruncOp, rounding.RoundOp)

COMPOSITIONS: Mapping[tuple[OperationType, OperationType], CompositionResult] = {
    (unary_functions.NegOp, unary_functions.NegOp): CompositionResult.ARGUMENT,
    (NotOp, NotOp): CompositionResult.ARGUMENT,
    (unary_functions.AbsOp, unary_functions.AbsOp): CompositionResult.INNER,
    (unary_functions.AbsOp, unary_functions.NegOp): CompositionResult.OUTER,
    (ReluOp, ReluOp): CompositionResult.INNER,
    **dict.fromkeys(product(_ROUNDING_OPS, _ROUNDING_OPS), CompositionResult.INNER),
}
"""Exact results of compositions, by outer and inner operation."""

INVERSES: Mapping[OperationType, OperationType] = {
    unary_functions.LogOp: unary_functions.ExpOp,
    unary_functions.ExpOp: unary_functions.LogOp,
    exponentials.Log2Op: exponentials.Exp2Op,
    exponentials.Exp2Op: exponentials.Log2Op,
    exponentials.Log1pOp: exponentials.Expm1Op,
    exponentials.Expm1Op: exponentials.Log1pOp,
}
"""Inner operation that an operation inverts up to rounding, by outer operation."""

OPERAND_SELECTING: frozenset[OperationType] = frozenset({MaximumOp, MinimumOp})
"""Operations whose result elements are operand elements, without rounding."""

ASSOCIATIVE: frozenset[OperationType] = (
    frozenset({AddOp, MulOp, AndOp, OrOp}) | OPERAND_SELECTING
)
"""Operations whose constants combine; float sums and products round differently."""

INFIX_SYMBOLS: Mapping[OperationType, str] = {
    AddOp: "+",
    SubOp: "-",
    MulOp: "*",
    DivOp: "/",
}
"""Infix symbols of operations in equations; others are written as functions."""
