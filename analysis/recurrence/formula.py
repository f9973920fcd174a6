"""Analysis result: formulae of the correction factors of a cascade, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import SSAValue

Name: TypeAlias = Literal["add", "sub", "mul", "div", "exp"]


@dataclass(frozen=True)
class ValueBeforeIteration:
    """Running value before an iteration."""

    value: SSAValue


@dataclass(frozen=True)
class ValueAfterIteration:
    """Running value after an iteration."""

    value: SSAValue


@dataclass(frozen=True)
class ElementwiseFormula:
    """Elementwise operation of the graph dialect on formulae."""

    name: Name
    operands: tuple[Formula, ...]


Formula: TypeAlias = (
    float | ValueBeforeIteration | ValueAfterIteration | ElementwiseFormula
)
