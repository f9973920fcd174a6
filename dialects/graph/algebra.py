"""
The laws of arithmetic as data: which numbers leave an operand alone, which decide the
result, and what operations do to themselves and to each other.

A law is exact if it keeps every bit for NaN, infinities and zeros of both signs, too:
`x + 0` is no law of floats, because -0 + 0 is 0, but `x + -0` is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import product
from typing import TypeAlias

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation

from tlf.dialects.graph import exponentials, functions, rounding
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
from tlf.dialects.graph.reduction import ReduceKind, neutral_of
from tlf.dialects.interfaces import Scalar
from tlf.dialects.types import is_float

Kind: TypeAlias = type[Operation]

Number: TypeAlias = Callable[[Attribute], Scalar | None]
"""A number of each element type that has it."""


def number(
    floats: float | None = None,
    integers: int | None = None,
    booleans: int | None = None,
) -> Number:
    """A number for floats, one for integers, and one for i1."""

    def find(element: Attribute) -> Scalar | None:
        if element == i1:
            return booleans
        return floats if is_float(element) else integers

    return find


def _least(element: Attribute) -> Scalar:
    return 0 if element == i1 else neutral_of(ReduceKind.MAX, element)


def _greatest(element: Attribute) -> Scalar:
    return 1 if element == i1 else neutral_of(ReduceKind.MIN, element)


def _least_integer(element: Attribute) -> Scalar | None:
    return None if is_float(element) else _least(element)


def _greatest_integer(element: Attribute) -> Scalar | None:
    return None if is_float(element) else _greatest(element)


class Outcome(Enum):
    """Result of an operation with a constant operand, if it is not a constant."""

    OTHER = auto()
    """The other operand."""
    NEGATED = auto()
    """The other operand, negated."""


LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class Law:
    """Algebraic law of an operation whose operand on one side is a given number."""

    kind: Kind
    side: int
    number: Number
    outcome: Outcome | Number
    exact: bool = True


def _both(law: Law) -> Sequence[Law]:
    return (law, replace(law, side=1 - law.side))


_ZERO = number(0.0, 0, 0)
_WHOLE_ZERO = number(None, 0, 0)
_ONE = number(1.0, 1, 1)
_ALL_BITS = number(None, -1, 1)

LAWS: Sequence[Law] = (
    *_both(Law(AddOp, LEFT, number(-0.0, 0), Outcome.OTHER)),
    *_both(Law(AddOp, LEFT, number(0.0), Outcome.OTHER, exact=False)),
    Law(SubOp, RIGHT, number(0.0, 0), Outcome.OTHER),
    Law(SubOp, RIGHT, number(-0.0), Outcome.OTHER, exact=False),
    Law(SubOp, LEFT, number(-0.0, 0), Outcome.NEGATED),
    Law(SubOp, LEFT, number(0.0), Outcome.NEGATED, exact=False),
    *_both(Law(MulOp, LEFT, _ONE, Outcome.OTHER)),
    *_both(Law(MulOp, LEFT, number(-1.0, -1), Outcome.NEGATED)),
    *_both(Law(MulOp, LEFT, _WHOLE_ZERO, _WHOLE_ZERO)),
    *_both(Law(MulOp, LEFT, number(0.0), number(0.0), exact=False)),
    Law(DivOp, RIGHT, number(1.0, 1), Outcome.OTHER),
    Law(DivOp, RIGHT, number(-1.0, -1), Outcome.NEGATED),
    Law(DivOp, LEFT, _WHOLE_ZERO, _WHOLE_ZERO),
    Law(RemOp, RIGHT, number(None, 1), _WHOLE_ZERO),
    Law(RemOp, RIGHT, number(None, -1), _WHOLE_ZERO),
    Law(RemOp, LEFT, _WHOLE_ZERO, _WHOLE_ZERO),
    Law(PowOp, RIGHT, number(1.0), Outcome.OTHER),
    Law(PowOp, RIGHT, number(0.0), number(1.0)),
    Law(PowOp, RIGHT, number(-0.0), number(1.0)),
    Law(PowOp, LEFT, number(1.0), number(1.0)),
    *_both(Law(MaximumOp, LEFT, _least, Outcome.OTHER)),
    *_both(Law(MaximumOp, LEFT, _greatest_integer, _greatest_integer)),
    *_both(Law(MinimumOp, LEFT, _greatest, Outcome.OTHER)),
    *_both(Law(MinimumOp, LEFT, _least_integer, _least_integer)),
    *_both(Law(AndOp, LEFT, _ALL_BITS, Outcome.OTHER)),
    *_both(Law(AndOp, LEFT, _WHOLE_ZERO, _WHOLE_ZERO)),
    *_both(Law(OrOp, LEFT, _WHOLE_ZERO, Outcome.OTHER)),
    *_both(Law(OrOp, LEFT, _ALL_BITS, _ALL_BITS)),
)
"""Operations of two tensors of which one is a number."""


@dataclass(frozen=True)
class SameLaw:
    """Algebraic law of an operation of a value and itself."""

    kind: Kind
    outcome: Outcome | Number
    exact: bool = True


SAME: Sequence[SameLaw] = (
    *(SameLaw(each, Outcome.OTHER) for each in (MaximumOp, MinimumOp, AndOp, OrOp)),
    SameLaw(SubOp, number(None, 0)),
    SameLaw(SubOp, number(0.0), exact=False),
    SameLaw(DivOp, number(1.0), exact=False),
)
"""Operations of a value and itself."""


class Chain(Enum):
    """Simplification of an operation of an operation of x."""

    NOTHING = auto()
    """x itself."""
    INNER = auto()
    """The inner operation."""
    OUTER = auto()
    """The outer operation, of x."""


_WHOLE = (rounding.FloorOp, rounding.CeilOp, rounding.TruncOp, rounding.RoundOp)

CHAINS: Mapping[tuple[Kind, Kind], Chain] = {
    (functions.NegOp, functions.NegOp): Chain.NOTHING,
    (NotOp, NotOp): Chain.NOTHING,
    (functions.AbsOp, functions.AbsOp): Chain.INNER,
    (functions.AbsOp, functions.NegOp): Chain.OUTER,
    (ReluOp, ReluOp): Chain.INNER,
    **dict.fromkeys(product(_WHOLE, _WHOLE), Chain.INNER),
}
"""By the outer and the inner of two operations, which keep every bit."""

INVERSES: Mapping[Kind, Kind] = {
    functions.LogOp: functions.ExpOp,
    functions.ExpOp: functions.LogOp,
    exponentials.Log2Op: exponentials.Exp2Op,
    exponentials.Exp2Op: exponentials.Log2Op,
    exponentials.Log1pOp: exponentials.Expm1Op,
    exponentials.Expm1Op: exponentials.Log1pOp,
}
"""By the outer of two operations, the inner that it undoes but for rounding."""

SELECTING: frozenset[Kind] = frozenset({MaximumOp, MinimumOp})
"""Operations whose results are operands: nothing is rounded."""

ASSOCIATIVE: frozenset[Kind] = frozenset({AddOp, MulOp, AndOp, OrOp}) | SELECTING
"""Operations that may combine numbers first: sums and products round differently."""

SYMBOLS: Mapping[Kind, str] = {AddOp: "+", SubOp: "-", MulOp: "*", DivOp: "/"}
"""Infix symbols of operations in equations; others are written as functions."""
