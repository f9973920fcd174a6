"""Busy cycles of each unit of one GPU processor, for the cost model of kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class UnitCycles:
    """Busy cycles of each unit of a processor; the units work concurrently."""

    matrix: float = 0.0
    """Matrix instructions."""
    lanes: float = 0.0
    """Scalar arithmetic."""
    special: float = 0.0
    """Exponentials, roots and reciprocals, in a dedicated unit."""
    loads: float = 0.0
    """Loads and stores of threads."""
    shared: float = 0.0
    """Shared memory accesses."""
    port: float = 0.0
    """Transfers from and to the cache."""

    @property
    def longest(self) -> float:
        """Cycles of the busiest unit: the time if all units overlap."""
        return max(
            self.matrix, self.elementwise_cycles, self.loads, self.shared, self.port
        )

    @property
    def elementwise_cycles(self) -> float:
        """Cycles of elementwise arithmetic; lanes and special unit overlap."""
        return max(self.lanes, self.special)

    @property
    def warp_issued_cycles(self) -> float:
        """Cycles of work that warps execute sequentially."""
        return self.elementwise_cycles + self.loads + self.shared

    @property
    def total(self) -> float:
        """Sum over the units: the time if nothing overlaps."""
        return (
            self.matrix + self.elementwise_cycles + self.loads + self.shared + self.port
        )

    @property
    def bottleneck(self) -> str:
        """Name of the busiest unit."""
        parts = {
            "matrix": self.matrix,
            "lanes": self.lanes,
            "special": self.special,
            "loads": self.loads,
            "shared": self.shared,
            "port": self.port,
        }
        return max(parts, key=lambda part: parts[part])

    def __add__(self, other: UnitCycles) -> UnitCycles:
        return UnitCycles(
            self.matrix + other.matrix,
            self.lanes + other.lanes,
            self.special + other.special,
            self.loads + other.loads,
            self.shared + other.shared,
            self.port + other.port,
        )

    def __mul__(self, times: float) -> UnitCycles:
        return UnitCycles(
            self.matrix * times,
            self.lanes * times,
            self.special * times,
            self.loads * times,
            self.shared * times,
            self.port * times,
        )


NO_CYCLES = UnitCycles()
