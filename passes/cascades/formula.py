"""Formulae as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import SSAValue

Name: TypeAlias = Literal["add", "sub", "mul", "div", "exp"]


@dataclass(frozen=True)
class Before:
    """The result of a step before an iteration."""

    value: SSAValue


@dataclass(frozen=True)
class After:
    """The result of a step after an iteration."""

    value: SSAValue


@dataclass(frozen=True)
class Apply:
    """An elementwise operation of the graph dialect on formulae."""

    name: Name
    operands: tuple[Formula, ...]


Formula: TypeAlias = float | Before | After | Apply


def text_of(formula: Formula) -> str:
    """A formula as one reads it, results by the names that they have."""
    match formula:
        case Before(value):
            return f"{_name(value)}"
        case After(value):
            return f"{_name(value)}'"
        case Apply("exp", (operand,)):
            return f"exp({text_of(operand)})"
        case Apply(name, (left, right)):
            symbol = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[name]
            return f"({text_of(left)} {symbol} {text_of(right)})"
        case _:
            return f"{formula}"


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint or 'r'}"
