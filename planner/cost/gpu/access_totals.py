"""Totals of the memory accesses of a GPU kernel for one tile."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AccessTotals:
    """
    Memory accesses of all programs for one tile, in bytes unless stated otherwise.
    """

    payload: float
    bus_bytes: float
    """Bytes in whole sectors."""
    cache_bytes: float
    """Bytes of all requests between processors and the cache, in whole sectors."""
    row_count: float
    """Number of contiguous rows."""
    access_count: float
    """Number of loads or stores by threads."""
    lane_steps: float
    """Lane steps for addresses and masks."""
    line_bytes: float = 0.0
    """Bytes of the lines that the first caches of processors access for windows."""

    @property
    def first_cache_bytes(self) -> float:
        """Bytes of all accesses to the first caches."""
        return max(self.cache_bytes, self.line_bytes)
