"""
Launch of Triton kernels: arguments that are the same tensors in several calls, so that
they are checked, and their addresses read, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tlf.runtime.triton.device_tensors import Array


@dataclass(frozen=True, eq=False)
class FixedArguments:
    """
    Arguments of a plan that are the same tensors, with the same memory, in all calls
    with this object.
    """

    indices: tuple[int, ...]
    """Indices of the arguments."""


class CallArguments(NamedTuple):
    """Values of the arguments of one call."""

    fixed: FixedArguments
    fixed_values: Sequence[Array]
    others: Sequence[Array]
    """Values of the other arguments, in the plan's order."""

    def order_by_plan(self) -> list[Array]:
        """Return the values of all arguments, in the plan's order."""
        fixed = dict(zip(self.fixed.indices, self.fixed_values, strict=True))
        others = iter(self.others)
        count = len(fixed) + len(self.others)
        return [
            fixed[index] if index in fixed else next(others) for index in range(count)
        ]
