"""Limits of the search for offsets of buffers."""

from __future__ import annotations

from fractions import Fraction

CAPACITY_SHARES = tuple(Fraction(32 - number, 32) for number in range(12))
"""
Shares of a level's capacity that may be live, largest first: placement gets easier as
the share decreases.
"""

FEASIBILITY_VISITS = 200_000
"""Maximum number of visits to decide whether a placement exists."""
