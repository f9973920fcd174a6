"""Price of a mask: fills of the boxes that lie outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tlf.machine.costs import Cost, Costs
from tlf.planner.cost.program.program import Phase, Reach, Values, value_of
from tlf.support.affine.access import Linear


@dataclass(eq=False)
class MaskPrice:
    """Fills along every axis before and behind what is kept of a tile."""

    costs: Costs
    shape: tuple[int, ...]
    offsets: tuple[Linear, ...]
    bounds: tuple[int, ...]
    valid: tuple[int, ...]

    @property
    def reaches(self) -> Sequence[Reach]:
        """The axes along which the tile moves."""
        return [
            Reach(offset, size, bound)
            for offset, size, bound in zip(
                self.offsets, self.valid, self.bounds, strict=True
            )
            if offset.terms
        ]

    @property
    def phases(self) -> Sequence[Phase]:
        """None: it is near the engines."""
        return ()

    def of(self, values: Values) -> Sequence[Cost]:
        """The fills that have elements."""
        return list(self._fills(values))

    def _fills(self, values: Values) -> Iterator[Cost]:
        for axis, (offset, bound) in enumerate(
            zip(self.offsets, self.bounds, strict=True)
        ):
            size, start = self.shape[axis], value_of(offset, values)
            below = min(size, max(0, -start))
            above = max(0, min(self.valid[axis], bound - start))
            for extent in (below, size - above):
                if extent > 0:
                    rest = prod(self.shape) // size
                    yield self.costs.elementwise(extent * rest)
