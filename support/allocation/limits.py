"""Limits of the search for offsets of buffers."""

from __future__ import annotations

from fractions import Fraction

SHARES = tuple(Fraction(32 - number, 32) for number in range(12))
"""
Of a level's capacity, so much may be live: the less is, the easier buffers are placed.
"""

VISITS = 200_000
"""What the planner may spend on finding out whether there are places."""
