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
