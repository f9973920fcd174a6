"""The tiles of a group that are cheapest as a kernel of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.analysis.tiling.axes import Axes
from tlf.analysis.tiling.group import Members, fits
from tlf.analysis.tiling.model import GroupTiling, TilingError, elements
from tlf.analysis.tiling.rules import Rules
from tlf.dialects.target import Level, Target
from tlf.dialects.triton import warps_of
from tlf.dialects.types import dtype_of, tensor_type
from tlf.planner.cost.gpu.accesses import VECTOR
from tlf.planner.cost.gpu.arithmetic import volume
from tlf.planner.cost.gpu.kernel import STAGES, Kernels
from tlf.planner.cost.gpu.price import Price

Sizes: TypeAlias = tuple[int, ...]
"""Of the parallel axes, then of the reduction if it has a loop."""

DEPTHS = (2, 3, 4, 5)
"""Iterations in flight of loops around matrix products."""

WARPS = warps_of(1)
"""The fewest warps of a program."""

UNROLLED = 2048
"""The most steps of a product that a thread computes one after the other, unrolled."""

TOGETHER = 1024
"""
The same of several products in all: measured with the attention of a layer in f32,
which runs out of registers with twice as many.
"""

GAIN = 1e-3
"""The part of a time that a step of the search has to save at least."""


WORTH = 0.02
"""The part of a time that other tiles than those given have to save at least."""

DEPTH = 0.05
"""The part of a time that another number of iterations in flight has to save."""


@dataclass(frozen=True)
class Choice:
    """Tile sizes, iterations in flight, and the price of both."""

    sizes: Sizes
    stages: int
    price: Price


@dataclass
class TileSearch:
    """
    Goes from given sizes to cheaper ones, axis by axis, until there are none: half or
    twice of one axis, or twice of one and half of another. So it never ends at a higher
    price than it started at.
    """

    members: Members
    axes: Axes
    level: Level
    target: Target
    rules: Rules
    kernels: Kernels
    stages: int | None = None
    """The most iterations in flight."""
    given: frozenset[Sizes] = frozenset()
    """Sizes that may be as small as they are."""
    multiplies: bool = False
    """True if matrix instructions compute a product with the given sizes."""
    known: dict[Sizes, Choice | None] = field(
        default_factory=dict[Sizes, Choice | None]
    )

    def best(self, starts: Sequence[Sizes]) -> Choice | None:
        """The best choice from several starts, or None where none of them is legal."""
        self.given = frozenset(starts)
        self.multiplies = any(map(self._multiplies, starts))
        found = [
            self._descend(choice)
            for sizes in dict.fromkeys(starts)
            if (choice := self._first(sizes)) is not None
        ]
        return min(found, key=_rank, default=None)

    def _first(self, sizes: Sizes) -> Choice | None:
        """
        Return the first legal choice: the given sizes, or those with the longest axes
        halved, last first; `None` if there is none.
        """
        while (choice := self.choice(sizes)) is None:
            longest = sorted(
                enumerate(sizes), key=lambda each: each[::-1], reverse=True
            )
            halves = (self._halved(sizes, axis) for axis, _ in longest)
            if (smaller := next((e for e in halves if e is not None), None)) is None:
                return None
            sizes = smaller
        return choice

    def _descend(self, start: Choice) -> Choice:
        choice = start
        while True:
            near = [self.choice(sizes) for sizes in self._neighbours(choice.sizes)]
            better = min((e for e in near if e is not None), key=_rank, default=None)
            if better is None or better.price.cycles > choice.price.cycles * (1 - GAIN):
                break
            choice = better
        is_worth = choice.price.cycles <= start.price.cycles * (1 - WORTH)
        return choice if is_worth else start

    def _neighbours(self, sizes: Sizes) -> Iterator[Sizes]:
        for axis in range(len(sizes)):
            for one in (self._halved(sizes, axis), self._doubled(sizes, axis)):
                if one is not None:
                    yield one
        for axis in range(len(sizes)):
            if (more := self._doubled(sizes, axis)) is None:
                continue
            for other in range(len(sizes)):
                if other != axis and (pair := self._halved(more, other)) is not None:
                    yield pair

    def _halved(self, sizes: Sizes, axis: int) -> Sizes | None:
        size = sizes[axis]
        if size == 1 or not self._is_free(axis):
            return None
        return (*sizes[:axis], self.rules.capacity(size) // 2, *sizes[axis + 1 :])

    def _doubled(self, sizes: Sizes, axis: int) -> Sizes | None:
        size = sizes[axis]
        extent = (*self.axes.parallel, *self.axes.reduction)[axis]
        if size >= self.rules.capacity(extent) or not self._is_free(axis):
            return None
        return (*sizes[:axis], 2 * self.rules.capacity(size), *sizes[axis + 1 :])

    def _is_free(self, axis: int) -> bool:
        return (*self.axes.free, *self.axes.reduction_free)[axis]

    def choice(self, sizes: Sizes) -> Choice | None:
        """The cheapest choice with some sizes, or None where they are not legal."""
        if sizes not in self.known:
            self.known[sizes] = self._choice(sizes)
        return self.known[sizes]

    def _choice(self, sizes: Sizes) -> Choice | None:
        if (tiling := self._tiling(sizes)) is None:
            return None
        if not fits(tiling, self.level, self.target) or not self._is_small(tiling):
            return None
        if sizes not in self.given and not self._is_alike(tiling):
            return None
        choices = [
            Choice(sizes, stages, self.kernels.price(tiling, stages))
            for stages in self._depths(tiling)
            if self.kernels.resources(tiling, stages).fits(self.kernels.chip)
        ]
        best = min(choices, key=_rank, default=None)
        usual = next((each for each in choices if each.stages == STAGES), None)
        if best is None or usual is None:
            return best
        return best if best.price.cycles < usual.price.cycles * (1 - DEPTH) else usual

    def _depths(self, tiling: GroupTiling) -> Sequence[int]:
        """The numbers of iterations in flight that are worth a try."""
        if not tiling.inner_loops or not self.kernels.has_products(tiling):
            return (1,)
        most = self.stages or DEPTHS[-1]
        return [each for each in DEPTHS if each <= most] or (1,)

    def _multiplies(self, sizes: Sizes) -> bool:
        tiling = self._tiling(sizes)
        return tiling is not None and self.kernels.has_products(tiling)

    def _tiling(self, sizes: Sizes) -> GroupTiling | None:
        count = len(self.axes.parallel)
        try:
            return self.members.tiling(sizes[:count], sizes[count:], self.rules)
        except TilingError:
            return None

    def _is_alike(self, tiling: GroupTiling) -> bool:
        """
        Return `True` if tiles are no worse than those given: threads move as much at
        once as they can, and matrix instructions compute what they can.
        """
        if self.multiplies and not self.kernels.has_products(tiling):
            return False
        moved = [*tiling.inputs(), *tiling.outputs()]
        largest = max(
            elements(box) * dtype_of(tensor_type(value).element_type).itemsize
            for value, box in moved
        )
        return largest >= VECTOR * WARPS * self.kernels.chip.gpu.warp

    def _is_small(self, tiling: GroupTiling) -> bool:
        """
        Return `True` if products without matrix instructions have at most the permitted
        number of elements.
        """
        needs, limit = self.kernels.needs(tiling), self.target.tiling.max_elements
        arithmetic, fused = needs.arithmetic, list[int]()
        for tiled in tiling.tiles.values():
            if not tiled.form.is_product:
                continue
            product = arithmetic.product(tiled)
            if arithmetic.is_fused(product):
                fused.append(volume(product))
            elif not arithmetic.is_matrix(product):
                if limit is not None and volume(product) > limit:
                    return False
        most = UNROLLED if len(fused) < 2 else TOGETHER
        return sum(fused) <= most * needs.warps * arithmetic.chip.gpu.warp


def _rank(choice: Choice) -> tuple[float, int, int]:
    """Cheap first; of equal price, with what is there unless more is said."""
    usual = abs(choice.stages - STAGES)
    return choice.price.cycles, usual, choice.price.programs
