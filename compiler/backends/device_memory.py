"""Backends: memory of a GPU that a program uses, as its plan states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tlf.runtime.triton.launch_plan import Plan


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes of memory that a program uses on a GPU."""

    arena: int
    """Temporaries that are not in results, which streams keep after a call."""
    results: int
    """Results of one call."""
    constants: int
    """Constants of the program, which are kept."""
    prepared: int = 0
    """Values computed from weights, which are kept."""
    preparation_arena: int = 0
    """Temporaries while values are computed from weights."""
    inputs: int = 0
    """Arguments that are not weights."""
    parameters: int = 0
    """Weights, which belong to the caller."""
    replaced_parameters: int = 0
    """Weights that are not used once values have been computed from them."""

    @property
    def peak(self) -> int:
        """
        Most memory that a call allocates above weights and prepared values: temporaries
        and results.
        """
        return self.arena + self.results

    @staticmethod
    def from_plan(plan: Plan) -> DeviceMemory:
        """Return the memory of a plan, whose weights are not known."""
        sizes = {"argument": 0, "result": 0, "temporary": 0, "constant": 0}
        for each in plan.buffers:
            sizes[each.kind] += each.nbytes
        return DeviceMemory(plan.arena_bytes, sizes["result"], sizes["constant"])
