"""Cost model of one GPU processor, without IR: busy cycles of each of its units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, unsafe_hash=True)
class UnitCycles:
    """
    Busy cycles of each unit of a processor; the units work concurrently. Immutable by
    convention: a frozen dataclass takes three times as long to create, and searches
    create many.
    """

    matrix: float = 0.0
    """Matrix instructions."""
    lanes: float = 0.0
    """Scalar arithmetic."""
    special: float = 0.0
    """Exponentials, roots and reciprocals, in a dedicated unit."""
    load_store: float = 0.0
    """Loads and stores of threads."""
    shared: float = 0.0
    """Shared memory accesses."""
    cache_port: float = 0.0
    """Transfers from and to the cache."""

    @property
    def busiest_unit_cycles(self) -> float:
        """Cycles of the busiest unit: the time if all units overlap."""
        return max(
            self.matrix,
            self.elementwise_cycles,
            self.load_store,
            self.shared,
            self.cache_port,
        )

    @property
    def elementwise_cycles(self) -> float:
        """Cycles of elementwise arithmetic; lanes and special unit overlap."""
        return max(self.lanes, self.special)

    @property
    def warp_issued_cycles(self) -> float:
        """Cycles of work that warps execute sequentially."""
        return self.elementwise_cycles + self.load_store + self.shared

    @property
    def total_cycles(self) -> float:
        """Sum of the units, lanes and special unit as one: the time without overlap."""
        return (
            self.matrix
            + self.elementwise_cycles
            + self.load_store
            + self.shared
            + self.cache_port
        )

    def with_issue_slowdown(self, times: float) -> UnitCycles:
        """
        Return the cycles if the warps of a program reach only a part of the units that
        execute their instructions.
        """
        return UnitCycles(
            self.matrix * times,
            self.lanes * times,
            self.special * times,
            self.load_store * times,
            self.shared,
            self.cache_port,
        )

    @property
    def bottleneck(self) -> str:
        """Short name of the busiest unit, such as `matrix`, `lanes` or `port`."""
        parts = {
            "matrix": self.matrix,
            "lanes": self.lanes,
            "special": self.special,
            "loads": self.load_store,
            "shared": self.shared,
            "port": self.cache_port,
        }
        return max(parts, key=lambda part: parts[part])

    def __add__(self, other: UnitCycles) -> UnitCycles:
        return UnitCycles(
            self.matrix + other.matrix,
            self.lanes + other.lanes,
            self.special + other.special,
            self.load_store + other.load_store,
            self.shared + other.shared,
            self.cache_port + other.cache_port,
        )

    def __mul__(self, times: float) -> UnitCycles:
        return UnitCycles(
            self.matrix * times,
            self.lanes * times,
            self.special * times,
            self.load_store * times,
            self.shared * times,
            self.cache_port * times,
        )


NO_CYCLES = UnitCycles()
