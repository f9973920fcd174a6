"""
Residency of a group's operands and results in the surrounding level, as planned or
assumed by the NPU cost model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Residency:
    """Values resident in the level around a group, as whole tensors."""

    resident: frozenset[SSAValue] = frozenset()
    """Inputs that are already resident."""
    retained: frozenset[SSAValue] = frozenset()
    """Results that stay resident."""
    unstored: frozenset[SSAValue] = frozenset()
    """Results that are not written to the outermost memory."""
    loaded: frozenset[SSAValue] = frozenset()
    """Inputs that are loaded before all tiles."""
    early: frozenset[SSAValue] = frozenset()
    """
    Inputs that are available while an earlier group runs: *early* loads before loops
    may complete before this group starts.
    """

    @cached_property
    def inner_inputs(self) -> frozenset[SSAValue]:
        """Inputs whose tiles are views."""
        return self.resident | self.loaded


NO_RESIDENCY = Residency()
"""No resident values."""
