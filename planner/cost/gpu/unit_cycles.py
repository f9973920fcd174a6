"""Busy cycles of each unit of one GPU processor."""

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
    """Exponentials, roots and reciprocals, in a unit of their own."""
    loads: float = 0.0
    """Threads that load or store."""
    shared: float = 0.0
    """The shared memory."""
    port: float = 0.0
    """Transfers from and to the cache."""

    @property
    def longest(self) -> float:
        """The time of the busiest part: where all overlap."""
        return max(
            self.matrix, self.elementwise_cycles, self.loads, self.shared, self.port
        )

    @property
    def elementwise_cycles(self) -> float:
        """The time of what is computed element by element, of many elements at once."""
        return max(self.lanes, self.special)

    @property
    def warp_issued_cycles(self) -> float:
        """The time of what warps do themselves, one thing after the other."""
        return self.elementwise_cycles + self.loads + self.shared

    @property
    def total(self) -> float:
        """The time of one part after the other: where nothing overlaps."""
        return (
            self.matrix + self.elementwise_cycles + self.loads + self.shared + self.port
        )

    @property
    def bottleneck(self) -> str:
        """The name of the busiest part."""
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
