"""
Cost model, without IR, of the tiles that a product takes in the innermost memory.

A tile of `tm x tn` results accumulates tiles of `tk` steps of the reduction. Each of
them is loaded, with the latency of the outer memory, multiplied, and drained from the
array; a slot of the factors is free again after that. If memory is small, tiles do not
fill the array, or have too few slots to hide the latencies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tlf.planner.cost.npu.tile_size_options import halves_and_powers_of_two
from tlf.planner.settings.search_budgets import TILE_SEARCH

Numbers: TypeAlias = NDArray[np.float64]

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class ProductResources:
    """Resources of a core for the tiles of products."""

    capacity: int
    """Bytes of the innermost memory."""
    bandwidth: float
    """Bytes per cycle from the outer memory."""
    latency: int
    """Cycles until a move takes effect, and until a result has drained."""
    issue_cycles: float
    """Cycles of the control processor per tile."""
    rows: int
    """Results along m that the array computes at once."""
    columns: int
    """Results along n that the array computes at once."""
    min_steps: int
    """Minimum steps of a reduction tile, if the extent allows."""
    cores: int = 1
    """Number of cores that share the tiles of the result."""


class ProductExtents(NamedTuple):
    """Extents of a product with the bytes of its factors and the cycles of a step."""

    batch: int
    m: int
    n: int
    k: int
    left_bytes: float
    right_bytes: float
    step_cycles: float
    result_bytes: float
    """Bytes per result in the innermost memory, until it is stored."""


class ProductTiling(NamedTuple):
    """The fastest tiling of a product that fits the innermost memory."""

    fill_ratio: float
    """Cycles of the array of a core, over those of tiles that fill all arrays best."""
    left_loads: int
    """Number of times that the left factor is loaded."""
    right_loads: int
    """Number of times that the right factor is loaded."""
    result_tiles: int
    """Number of tiles of the result, of each core."""
    reduction_tiles: int
    """Number of reduction tiles of each tile of the result."""
    slots: int
    """Number of slots of tiles of the factors."""
    result_slots: int
    """Number of slots of tiles of the result."""

    @property
    def tile_count(self) -> int:
        """Number of tiles that are multiplied."""
        return self.result_tiles * self.reduction_tiles


@lru_cache(maxsize=1 << 12)
def find_product_tiling(
    extents: ProductExtents, resources: ProductResources
) -> ProductTiling:
    """
    Return the tiling that moves the fewest bytes of the fastest ones that fit; the
    smallest tiles if none fits.
    """
    return _ProductGrid(extents, resources).find_fastest()


class _ProductGrid:
    """
    All candidate tiles of a product, with their time. Arrays have one entry per tile,
    or are indexed by tile, slots of the factors, and slots of the result.
    """

    def __init__(self, extents: ProductExtents, resources: ProductResources) -> None:
        self.extents = extents
        self.resources = resources
        shortest = (1, 1, 1, resources.min_steps)
        options = [
            halves_and_powers_of_two(extent, min(extent, least))
            for extent, least in zip(extents[:4], shortest, strict=True)
        ]
        grid = np.meshgrid(*options, indexing="ij")
        sizes = [each.ravel().astype(np.float64) for each in grid]
        self.batch, self.m, self.n, self.k = sizes
        batches, self.row_tiles, self.column_tiles, self.reduction_tiles = (
            np.ceil(extent / size)
            for extent, size in zip(extents[:4], sizes, strict=True)
        )
        self.is_whole = self.reduction_tiles == 1
        slots = np.array(TILE_SEARCH.product_slots, dtype=np.float64)
        self.slots = slots.reshape(1, -1, 1)
        self.result_slots = np.where(
            _along_slots(self.is_whole), self.slots, slots[:2].reshape(1, 1, -1)
        )
        self.all_result_tiles = batches * self.row_tiles * self.column_tiles
        self.result_tiles = np.ceil(self.all_result_tiles / resources.cores)

    def find_fastest(self) -> ProductTiling:
        """Return the tiling that moves the fewest bytes of the fastest that fit."""
        array, (left, right) = self._array_cycles(), self._factor_loads()
        moved = self._moved_bytes(left, right)
        times = self._times(array, moved)
        footprints = self._footprints()
        times = np.where(footprints <= self.resources.capacity, times, np.inf)
        if np.isinf(times.min()):
            times = footprints
        near = np.argwhere(times <= TILE_SEARCH.near_optimal_ratio * times.min())
        at, slot, result_slot = near.T
        order = np.lexsort((times[at, slot, result_slot], moved[at]))
        best, slot, result_slot = map(int, near[order[0]])
        return ProductTiling(
            float(array[best] / self._least_array_cycles(array)),
            int(left[best]),
            int(right[best]),
            int(self.result_tiles[best]),
            int(self.reduction_tiles[best]),
            int(self.slots[0, slot, 0]),
            int(self.result_slots[best, slot, result_slot]),
        )

    def _array_cycles(self) -> Numbers:
        """Return the cycles of the array, with the factors in the faster order."""
        array = self.resources
        passes = np.minimum(
            np.ceil(self.m / array.rows) * np.ceil(self.n / array.columns),
            np.ceil(self.n / array.rows) * np.ceil(self.m / array.columns),
        )
        steps = self.result_tiles * self.batch * self.reduction_tiles * self.k
        return passes * steps * self.extents.step_cycles

    def _least_array_cycles(self, array: Numbers) -> float:
        """Return the least cycles if the tiles divide evenly among the cores."""
        share = self.all_result_tiles / self.resources.cores / self.result_tiles
        return float((array * share).min())

    def _factor_loads(self) -> tuple[Numbers, Numbers]:
        """
        Return how often each factor is loaded. A block of whole reductions of one
        factor stays while the other is streamed; blocks of sums stay otherwise.
        """
        left, right = self.column_tiles, self.row_tiles
        keeps_left = self.extents.right_bytes * (right - 1) <= (
            self.extents.left_bytes * (left - 1)
        )
        ones = np.ones_like(left)
        return (
            np.where(self.is_whole & keeps_left, ones, left),
            np.where(self.is_whole & ~keeps_left, ones, right),
        )

    def _moved_bytes(self, left: Numbers, right: Numbers) -> Numbers:
        """Return the bytes loaded, with the numbers of loads of each factor."""
        return self.extents.left_bytes * left + self.extents.right_bytes * right

    def _footprints(self) -> Numbers:
        """Return the bytes of all slots of the factors and of the result."""
        batch, m, n, k, left, right, _, result_bytes = self.extents
        part = self.batch / batch
        factors = part * self.k / k * (left * self.m / m + right * self.n / n)
        results = self.batch * result_bytes * self.m * self.n
        return self.slots * _along_slots(factors) + (
            self.result_slots * _along_slots(results)
        )

    def _times(self, array: Numbers, moved_bytes: Numbers) -> Numbers:
        """Return the cycles of all tiles; results in one slot are in sequence."""
        limits = self.resources
        moved = moved_bytes / limits.bandwidth
        tiles = self.result_tiles * self.reduction_tiles
        chain = _along_slots((array + moved) / tiles + limits.latency)
        period = np.maximum(
            _along_slots(np.maximum(array, moved) / tiles), chain / self.slots
        )
        period = np.maximum(period, limits.issue_cycles)
        restarts = np.where(
            self.result_slots == 1, _along_slots(self.result_tiles), 1.0
        )
        return (_along_slots(tiles) - restarts) * period + (
            restarts * (chain + limits.latency)
        )


def _along_slots(values: NDArray[T]) -> NDArray[T]:
    """Return one value per tile as an array that broadcasts along the slots."""
    return values.reshape(-1, 1, 1)
