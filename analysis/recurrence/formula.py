"""
Formulae of correction factors as plain data, the result of the analysis of a cascade.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import SSAValue

Name: TypeAlias = Literal["add", "sub", "mul", "div", "exp"]


@dataclass(frozen=True)
class Before:
    """Running value before an iteration."""

    value: SSAValue


@dataclass(frozen=True)
class After:
    """Running value after an iteration."""

    value: SSAValue


@dataclass(frozen=True)
class Apply:
    """Elementwise operation of the graph dialect on formulae."""

    name: Name
    operands: tuple[Formula, ...]


Formula: TypeAlias = float | Before | After | Apply
