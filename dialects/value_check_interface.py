"""Interface of operations whose operand values are checked at run time."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class ValueCheck:
    """Requirement that all integers of a tensor are in a range, both ends included."""

    values: SSAValue
    """Tensor of the checked integers."""
    low: int
    high: int
    expected: str
    """Description of the range, such as `indices from 0 to 4`."""


def make_index_check(indices: SSAValue, low: int, high: int) -> ValueCheck:
    """Return a check of indices from `low` to `high`, both included."""
    return ValueCheck(indices, low, high, f"indices from {low} to {high}")


class ValueCheckInterface(Operation, abc.ABC):
    """Operation whose results are undefined for some values of its operands."""

    @abc.abstractmethod
    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        """Build the checked values that do not exist yet, and return the checks."""
