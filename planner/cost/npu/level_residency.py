"""Residency of a group's operands and results in the level around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from xdsl.ir import SSAValue


@dataclass(frozen=True)
class Residency:
    """Values resident in the level around a group."""

    resident: frozenset[SSAValue] = frozenset()
    """Inputs that are there already, whole."""
    retained: frozenset[SSAValue] = frozenset()
    """Results that stay there, whole."""
    unstored: frozenset[SSAValue] = frozenset()
    """Results that are not written to the outermost memory."""
    loaded: frozenset[SSAValue] = frozenset()
    """Inputs that are brought there before all tiles, whole."""
    early: frozenset[SSAValue] = frozenset()
    """Inputs that are there while an earlier group runs: before loops, such *early*
    loads may be over when this one starts."""

    @cached_property
    def inner_inputs(self) -> frozenset[SSAValue]:
        """Inputs of which tiles are views."""
        return self.resident | self.loaded


NO_RESIDENCY = Residency()
"""Nothing is in the level around a group."""
