"""Monotonicity of running values while sums run."""

from __future__ import annotations

from enum import Enum, auto


class Course(Enum):
    """Monotonicity of a running value before its sum is complete."""

    RISES = auto()
    """It is never less than before, as a maximum."""
    FALLS = auto()
    """It is never more than before, as a minimum."""
    ENDS = auto()
    """It is computed of such values alone, and so on its way to where it ends."""
    ANY = auto()
    """Nothing: it may be far beyond where it ends, as a sum of positive numbers that
    negative ones follow."""
