"""
Analysis result: monotonicity of a running value before its reduction is complete,
without IR.
"""

from __future__ import annotations

from enum import Enum, auto


class ValueEvolution(Enum):
    """Monotonicity of a running value before its reduction is complete."""

    INCREASING = auto()
    """Never less than before, as a maximum."""
    DECREASING = auto()
    """Never greater than before, as a minimum."""
    CONVERGING = auto()
    """
    Computed only from monotonic values, and therefore approaching its final value.
    """
    ARBITRARY = auto()
    """
    Unknown: it may exceed its final value by far, as a sum of positive terms followed
    by negative ones.
    """
