"""Interface of operations whose operand values are checked when a program runs."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class ValueCheck:
    """Integers that a caller expects between two numbers, both included."""

    values: SSAValue
    """A tensor."""
    low: int
    high: int
    expected: str
    """The kind of values, as `indices from 0 to 4`."""


def index_check(indices: SSAValue, low: int, high: int) -> ValueCheck:
    """Indices from `low` up to `high`, which is included."""
    return ValueCheck(indices, low, high, f"indices from {low} to {high}")


class ValueCheckInterface(Operation, abc.ABC):
    """An operation whose results are meaningless for some values of its operands."""

    @abc.abstractmethod
    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        """Build the checks of operand values that are not there yet."""
