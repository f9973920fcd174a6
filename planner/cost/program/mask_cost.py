"""Cost model of a mask, without IR: fills of the boxes outside of the bounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tlf.machine.instruction_costs import Cost, InstructionCosts
from tlf.planner.cost.program.instruction_nests import (
    AxisRange,
    BurstPhase,
    Values,
    evaluate_index,
)
from tlf.support.affine.index_access import AffineSum


@dataclass(eq=False)
class MaskCost:
    """Fills along every axis before and after the valid elements of a tile."""

    costs: InstructionCosts
    shape: tuple[int, ...]
    offsets: tuple[AffineSum, ...]
    bounds: tuple[int, ...]
    valid_extents: tuple[int, ...]

    @property
    def axis_ranges(self) -> Sequence[AxisRange]:
        """Valid ranges of the axes whose offset depends on loop counters."""
        return [
            AxisRange(offset, size, bound)
            for offset, size, bound in zip(
                self.offsets, self.valid_extents, self.bounds, strict=True
            )
            if offset.terms
        ]

    @property
    def phases(self) -> Sequence[BurstPhase]:
        """Empty: the tile is in the innermost level."""
        return ()

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """Return the costs of the fills that have elements."""
        return list(self._fill_costs_at(values))

    def _fill_costs_at(self, values: Values) -> Iterator[Cost]:
        """
        Yield the cost of each nonempty fill, before and after the valid elements of
        each axis, for loop counters `values`.
        """
        for axis, (offset, bound) in enumerate(
            zip(self.offsets, self.bounds, strict=True)
        ):
            size, start = self.shape[axis], evaluate_index(offset, values)
            below = min(size, max(0, -start))
            above = max(0, min(self.valid_extents[axis], bound - start))
            for extent in (below, size - above):
                if extent > 0:
                    other_elements = prod(self.shape) // size
                    yield self.costs.cost_of_elementwise(extent * other_elements)
