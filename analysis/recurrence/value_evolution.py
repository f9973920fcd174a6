"""Value evolution: monotonicity of a running value before its reduction is complete."""

from __future__ import annotations

from enum import Enum, auto


class ValueEvolution(Enum):
    """Monotonicity of a running value before its sum is complete."""

    INCREASING = auto()
    """It is never less than before, as a maximum."""
    DECREASING = auto()
    """It is never more than before, as a minimum."""
    CONVERGING = auto()
    """It is computed of such values alone, and so on its way to where it ends."""
    ARBITRARY = auto()
    """Nothing: it may be far beyond where it ends, as a sum of positive numbers that
    negative ones follow."""
