"""
Algebraic laws of the operations of the `graph` dialect, a table without rewrites:
neutral and absorbing constants, `x op x`, compositions.

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
from tlf.dialects.graph.comparison_and_logic import AndOp, NotOp, OrOp
from tlf.dialects.graph.division import DivOp, RemOp
from tlf.dialects.graph.elementwise import (
    AddOp,
    MaximumOp,
    MinimumOp,
    MulOp,
    PowOp,
    SubOp,
)
from tlf.dialects.graph.reduction import (
    ReduceKind,
    least_value_of_type,
    neutral_element_of,
)
from tlf.dialects.interfaces import Scalar
from tlf.dialects.types import is_float

OperationType: TypeAlias = type[Operation]

TypedConstant: TypeAlias = Callable[[Attribute], Scalar | None]
"""Constant of a law by element type; `None` if the law excludes the type."""


def make_constant_by_element_type(
    float_value: float | None = None,
    integer_value: int | None = None,
    boolean_value: int | None = None,
) -> TypedConstant:
    """Return a constant by element type: floats, integers, or i1; default `None`."""

    def find_constant(element: Attribute) -> Scalar | None:
        if element == i1:
            return boolean_value
        return float_value if is_float(element) else integer_value

    return find_constant


def _greatest_value_of_type(element_type: Attribute) -> Scalar:
    return 1 if element_type == i1 else neutral_element_of(ReduceKind.MIN, element_type)


def _least_value_of_integer_type(element_type: Attribute) -> Scalar | None:
    return None if is_float(element_type) else least_value_of_type(element_type)


def _greatest_value_of_integer_type(element_type: Attribute) -> Scalar | None:
    return None if is_float(element_type) else _greatest_value_of_type(element_type)


class LawOperandResult(Enum):
    """
    Operand, maybe negated, that a binary operation is equal to by an algebraic law.
    """

    OTHER = auto()
    """The other operand."""
    NEGATED_OTHER = auto()
    """The other operand, negated."""


LEFT, RIGHT = 0, 1


@dataclass(frozen=True)
class ConstantOperandLaw:
    """Law of a binary operation with a specific constant as one operand."""

    operation_type: OperationType
    constant_operand_index: int
    constant: TypedConstant
    result: LawOperandResult | TypedConstant
    is_exact: bool = True


def _mirror_law_to_both_operands(
    law: ConstantOperandLaw,
) -> Sequence[ConstantOperandLaw]:
    return (law, replace(law, constant_operand_index=1 - law.constant_operand_index))


_ZERO = make_constant_by_element_type(0.0, 0, 0)
_INTEGER_ZERO = make_constant_by_element_type(None, 0, 0)
_ONE = make_constant_by_element_type(1.0, 1, 1)
_ALL_BITS = make_constant_by_element_type(None, -1, 1)

CONSTANT_OPERAND_LAWS: Sequence[ConstantOperandLaw] = (
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            AddOp, LEFT, make_constant_by_element_type(-0.0, 0), LawOperandResult.OTHER
        )
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            AddOp,
            LEFT,
            make_constant_by_element_type(0.0),
            LawOperandResult.OTHER,
            is_exact=False,
        )
    ),
    ConstantOperandLaw(
        SubOp, RIGHT, make_constant_by_element_type(0.0, 0), LawOperandResult.OTHER
    ),
    ConstantOperandLaw(
        SubOp,
        RIGHT,
        make_constant_by_element_type(-0.0),
        LawOperandResult.OTHER,
        is_exact=False,
    ),
    ConstantOperandLaw(
        SubOp,
        LEFT,
        make_constant_by_element_type(-0.0, 0),
        LawOperandResult.NEGATED_OTHER,
    ),
    ConstantOperandLaw(
        SubOp,
        LEFT,
        make_constant_by_element_type(0.0),
        LawOperandResult.NEGATED_OTHER,
        is_exact=False,
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(MulOp, LEFT, _ONE, LawOperandResult.OTHER)
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            MulOp,
            LEFT,
            make_constant_by_element_type(-1.0, -1),
            LawOperandResult.NEGATED_OTHER,
        )
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(MulOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO)
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            MulOp,
            LEFT,
            make_constant_by_element_type(0.0),
            make_constant_by_element_type(0.0),
            is_exact=False,
        )
    ),
    ConstantOperandLaw(
        DivOp, RIGHT, make_constant_by_element_type(1.0, 1), LawOperandResult.OTHER
    ),
    ConstantOperandLaw(
        DivOp,
        RIGHT,
        make_constant_by_element_type(-1.0, -1),
        LawOperandResult.NEGATED_OTHER,
    ),
    ConstantOperandLaw(DivOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO),
    ConstantOperandLaw(
        RemOp, RIGHT, make_constant_by_element_type(None, 1), _INTEGER_ZERO
    ),
    ConstantOperandLaw(
        RemOp, RIGHT, make_constant_by_element_type(None, -1), _INTEGER_ZERO
    ),
    ConstantOperandLaw(RemOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO),
    ConstantOperandLaw(
        PowOp, RIGHT, make_constant_by_element_type(1.0), LawOperandResult.OTHER
    ),
    ConstantOperandLaw(
        PowOp,
        RIGHT,
        make_constant_by_element_type(0.0),
        make_constant_by_element_type(1.0),
    ),
    ConstantOperandLaw(
        PowOp,
        RIGHT,
        make_constant_by_element_type(-0.0),
        make_constant_by_element_type(1.0),
    ),
    ConstantOperandLaw(
        PowOp,
        LEFT,
        make_constant_by_element_type(1.0),
        make_constant_by_element_type(1.0),
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(MaximumOp, LEFT, least_value_of_type, LawOperandResult.OTHER)
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            MaximumOp,
            LEFT,
            _greatest_value_of_integer_type,
            _greatest_value_of_integer_type,
        )
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            MinimumOp, LEFT, _greatest_value_of_type, LawOperandResult.OTHER
        )
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(
            MinimumOp, LEFT, _least_value_of_integer_type, _least_value_of_integer_type
        )
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(AndOp, LEFT, _ALL_BITS, LawOperandResult.OTHER)
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(AndOp, LEFT, _INTEGER_ZERO, _INTEGER_ZERO)
    ),
    *_mirror_law_to_both_operands(
        ConstantOperandLaw(OrOp, LEFT, _INTEGER_ZERO, LawOperandResult.OTHER)
    ),
    *_mirror_law_to_both_operands(ConstantOperandLaw(OrOp, LEFT, _ALL_BITS, _ALL_BITS)),
)
"""Laws of binary operations with one constant operand."""


@dataclass(frozen=True)
class SameOperandLaw:
    """Algebraic law `x op x = result` of a binary operation."""

    operation_type: OperationType
    result: LawOperandResult | TypedConstant
    is_exact: bool = True


SAME_OPERAND_LAWS: Sequence[SameOperandLaw] = (
    *(
        SameOperandLaw(each, LawOperandResult.OTHER)
        for each in (MaximumOp, MinimumOp, AndOp, OrOp)
    ),
    SameOperandLaw(SubOp, make_constant_by_element_type(None, 0)),
    SameOperandLaw(SubOp, make_constant_by_element_type(0.0), is_exact=False),
    SameOperandLaw(DivOp, make_constant_by_element_type(1.0), is_exact=False),
)
"""Laws of binary operations `x op x`."""


class CompositionResult(Enum):
    """Value that equals a composition `outer(inner(x))` of two unary operations."""

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
