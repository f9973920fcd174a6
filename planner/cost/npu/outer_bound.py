"""
Cost model of lower bounds: least cost of a group at an outer NPU level over all of its
tilings.

Source: the two bounds of a roofline (Williams et al. 2009), moves and work, each a
lower bound over all tiles together.

- *Moves.* A tile of `t` iterations of a loop needs `a (t - 1) + w` indices along an
  axis, so that the total is least if `t` is 1 or the extent. The lesser of the two,
  axis by axis, is a lower bound for all tilings.
- *Work.* Cycles of an engine are rounded up for each tile, so that a single tile
  takes the least if inner tiles may have any size. Elements that smaller tiles omit,
  such as every second row with a stride of 2, are not counted. `n` tiles add `n` times
  the latencies of a nest, and the head and tail latency of its inner tiles. If tiles
  slide, the first windows are computed separately: up to `w - a` of the iterations
  along an axis.
- *Both.* In the formula of `tiled_group.py`, `n` tiles take at least the work plus
  `1 / n` of the moves, and the moves plus `1 / n` of the work. The cost of a single
  tile is exact. Reduction tiles count as tiles that overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.group_tiling import LoopLevel, TileLoop, max_end, min_start
from tlf.dialects.types import byte_count, dtype_of, tensor_type
from tlf.planner.cost.covered_extents import (
    count_indices_in_bounds,
    covered_index_count,
)
from tlf.planner.cost.npu.channel_traffic import ChannelTraffic
from tlf.planner.cost.npu.inner_transfers import collect_inner_transfers
from tlf.planner.cost.npu.level_residency import Residency
from tlf.planner.cost.npu.nest_work import NestWork
from tlf.planner.cost.npu.tiled_group import OuterCost, TiledGroup
from tlf.planner.settings.search_budgets import TILE_SEARCH
from tlf.support.affine.index_access import Box, Interval

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class CostBound:
    """Lower bounds of the cost of a group."""

    cycles: int
    """Cycles if early loads are complete before the group starts."""
    bytes: int
    """Payload of the outer memory."""
    channel_time: float
    """Cycles of the channel of the outer memory."""
    late_channel_time: float
    """Cycles of the channel, without early loads."""

    @property
    def channel_cycles(self) -> int:
        """Cycles of the channel, rounded."""
        return round(self.channel_time)


class OuterBound:
    """
    Lower bounds of a group's cost for any residency. `largest` is the group as a single
    tile, `smallest` the group in the smallest legal tiles.
    """

    def __init__(self, largest: TiledGroup, smallest: TiledGroup) -> None:
        self.largest = largest
        self.smallest = smallest
        self.model = largest.model
        self._known_bounds: dict[Residency, CostBound] = {}
        self._known_ranks: dict[Residency, list[int]] = {}

    def bound_with_residency(self, residency: Residency) -> CostBound:
        """
        Return the lower bounds of the group's cost with some values resident in the
        level.
        """
        if residency not in self._known_bounds:
            self._known_bounds[residency] = self._compute_bound(residency)
        return self._known_bounds[residency]

    def min_rank_of_tiles(
        self, tile_count: int, residency: Residency, cost: OuterCost | None = None
    ) -> int:
        """
        Return a lower bound of the first component of the rank of plans with a number
        of tiles and whole reductions; `cost` is the cost of a plan, if its moves are
        known.
        """
        if cost is None:
            least = self.bound_with_residency(residency)
            moved, late = least.channel_time, least.late_channel_time
        else:
            moved = cost.channel_cycles
            late = moved - cost.early_loads.cycles
        cycles = max(moved, self._min_cycles_of_tiles(tile_count, late))
        least_moved = round(moved) // TILE_SEARCH.traffic_divisor
        return round(cycles - TILE_SEARCH.rounding_tolerance) + least_moved

    def min_rank_of_more_tiles(self, tile_count: int, residency: Residency) -> int:
        """
        Return a lower bound of the first component of the rank of plans with at least a
        number of tiles and whole reductions.
        """
        if residency not in self._known_ranks:
            counts = range(1, TILE_SEARCH.max_distinct_tiles + 1)
            ranks = [self.min_rank_of_tiles(count, residency) for count in counts]
            least = accumulate(reversed(ranks), min)
            self._known_ranks[residency] = [*least][::-1]
        return self._known_ranks[residency][
            min(tile_count, TILE_SEARCH.max_distinct_tiles) - 1
        ]

    def _min_cycles_of_tiles(self, tile_count: int, move_cycles: float) -> float:
        """
        Return a lower bound of the cycles of a number of tiles whose moves take
        `move_cycles` cycles, without latencies; 0 for a single tile.
        """
        if tile_count < 2:
            return 0
        works = self._works_by_tile_count
        if tile_count >= TILE_SEARCH.max_distinct_tiles:
            return max(works[-1], move_cycles)
        return max(
            works[tile_count - 2] + move_cycles / tile_count,
            move_cycles + works[0] / tile_count,
        )

    def _compute_bound(self, residency: Residency) -> CostBound:
        """Return the lower bounds for a residency."""
        resident = residency.whole_inputs_in_level
        loads = {
            v: n for v, n in self._min_load_bytes_by_input.items() if v not in resident
        }
        loads |= {v: byte_count(tensor_type(v)) for v in residency.whole_loaded_inputs}
        stores = [
            n
            for v, n in self._store_bytes_by_result.items()
            if v not in residency.unstored_results
        ]
        late = [n for value, n in loads.items() if value not in residency.early_inputs]
        latencies = bool(late) + bool(stores)
        moved = self._min_channel_cycles(late) + self._min_channel_cycles(stores)
        cycles = latencies * self.model.latency + self._multi_tile_bound(moved)
        return CostBound(
            round(
                min(cycles, self._single_tile_bound(residency))
                - TILE_SEARCH.rounding_tolerance
            ),
            sum(loads.values()) + sum(stores),
            self._min_channel_cycles([*loads.values(), *stores])
            - TILE_SEARCH.rounding_tolerance,
            moved - TILE_SEARCH.rounding_tolerance,
        )

    def streamable_load_cycles(self, values: AbstractSet[SSAValue]) -> int:
        """
        Return the channel cycles of the inputs among `values` that loops load in tiles.
        """
        return self._min_load_cycles(values & self._inputs_loaded_in_tiles)

    def min_early_load_cycles(self, residency: Residency) -> int:
        """
        Return a lower bound of the cycles of early loads: those of inputs that loops do
        not load in tiles.
        """
        values = (
            residency.early_inputs
            - residency.whole_inputs_in_level
            - self._inputs_loaded_in_tiles
        )
        return self._min_load_cycles(values)

    def _min_load_cycles(self, values: AbstractSet[SSAValue]) -> int:
        """Return a lower bound of the channel cycles of loading some inputs."""
        sizes = [
            self._min_load_bytes_by_input[value]
            for value in values
            if value in self._min_load_bytes_by_input
        ]
        return round(self._min_channel_cycles(sizes) - TILE_SEARCH.rounding_tolerance)

    def _min_channel_cycles(self, byte_counts: Sequence[int]) -> float:
        """Return a lower bound of the channel cycles of values with the given bytes."""
        return sum(map(self.model.far.min_channel_cycles, byte_counts))

    def _single_tile_bound(self, residency: Residency) -> float:
        """
        Return a lower bound of the cycles of the largest tile, with all possible loads
        early.
        """
        loads: dict[SSAValue, ChannelTraffic] = {}
        for value, _, moved in self.largest.loads_with_residency(residency):
            if value not in residency.early_inputs:
                loads[value] = loads.get(value, ChannelTraffic()) + moved
        stores = {
            v: n
            for v, n in self.largest.stores_by_result
            if v not in residency.unstored_results
        }
        return self.largest.time_from_first_load(1, loads, {}, stores)

    def _multi_tile_bound(self, move_cycles: float) -> float:
        """
        Return a lower bound of the cycles of several tiles whose moves take
        `move_cycles` cycles, without latencies.
        """
        counts, works = self._compute_bounds_by_tile_count
        times = np.maximum(
            works + move_cycles / counts, move_cycles + works[0] / counts
        )
        times[-1] = max(works[-1], move_cycles)
        return float(times.min())

    @cached_property
    def _compute_bounds_by_tile_count(self) -> tuple[Numbers, Numbers]:
        """
        Numbers of tiles from 2 to `max_distinct_tiles`, and a lower bound of the
        compute cycles for each.
        """
        tiling, nests = self.largest.tiling, self.largest.nests
        transfers = [
            *collect_inner_transfers(
                tiling.tiles, nests, self._values_shrinking_with_tiles
            )
        ]
        works = self.model.work_by_nest(tiling, nests, transfers, self.model.least)
        shares = [
            (each, self._min_unshared_fraction_of_nest(nest))
            for nest, each in works.items()
        ]
        counts = np.arange(2, TILE_SEARCH.max_distinct_tiles + 1, dtype=np.float64)
        least = np.zeros_like(counts)
        for each, share in shares:
            least += self._min_nest_cycles(each, share, counts)
        return counts, least

    @cached_property
    def _works_by_tile_count(self) -> list[float]:
        """Lower bounds of the compute cycles, for 2 tiles and more."""
        _, works = self._compute_bounds_by_tile_count
        return list(map(float, works))

    def _min_nest_cycles(
        self, work: NestWork, unshared_fraction: float, tile_counts: Numbers
    ) -> Numbers:
        """
        Return lower bounds of the cycles of a nest for numbers of tiles.
        `unshared_fraction` is the fraction of its work that is not in the first
        windows.
        """
        busiest, others = work.busiest_and_other_cycles()
        total, fill = busiest + others, work.head_and_tail_cycles(self.model.pace)
        issue = self.model.pace.issue_cycles
        busy = np.maximum(
            unshared_fraction * np.minimum(total, busiest + tile_counts * fill),
            work.instruction_count * issue * tile_counts,
        )
        least = np.maximum(busy, min(total, busiest + fill))
        return least + tile_counts * sum(work.latency_by_engine.values())

    def _min_unshared_fraction_of_nest(self, nest: int) -> float:
        """
        Return the minimum fraction of a nest's work that sliding tiles do not reuse.
        """
        large, small = self.largest, self.smallest.tiling
        shares = [
            _unshared_fraction_of_axis(least, whole)
            for op, tiled in large.tiling.tiles.items()
            if large.nests[op] == nest
            for least, whole in zip(small.tiles[op].box, tiled.box, strict=True)
        ]
        return min(shares, default=1.0)

    @cached_property
    def _inputs_loaded_in_tiles(self) -> frozenset[SSAValue]:
        """Inputs that loops load in tiles if tiles are small."""
        loads = self.smallest.loads_with_residency()
        return frozenset(value for value, depth, _ in loads if depth)

    @cached_property
    def _min_load_bytes_by_input(self) -> dict[SSAValue, int]:
        """Minimum bytes loaded of each input."""
        return {key[0]: self._min_input_bytes(key) for key in self.largest.tiling.reads}

    @cached_property
    def _store_bytes_by_result(self) -> dict[SSAValue, int]:
        """Bytes stored of each result."""
        results = self.largest.tiling.results
        return {value: byte_count(tensor_type(value)) for value in results}

    @cached_property
    def _values_shrinking_with_tiles(self) -> set[Operation | SSAValue]:
        """Operations and values of which small tiles cover less than the whole."""
        large, small = self.largest.tiling, self.smallest.tiling
        shrinking = set[Operation | SSAValue]()
        for op, tiled in large.tiles.items():
            least = small.tiles[op]
            if _has_smaller_coverage(least.box, tiled.box):
                shrinking.add(op)
            if _has_smaller_coverage(least.result, tiled.result):
                shrinking.update(op.results)
        for key, boxes in large.reads.items():
            least = small.reads[key]
            if len(least) > 1 or _has_smaller_coverage(least[0], boxes[0]):
                shrinking.add(key[0])
        return shrinking

    def _min_input_bytes(self, input_and_level: tuple[SSAValue, LoopLevel]) -> int:
        """Return the minimum bytes of an input that tiles of any size read."""
        type_ = tensor_type(input_and_level[0])
        shape = type_.get_shape()
        counts = [
            prod(map(_min_covered_extent, box, shape))
            for box in self.smallest.tiling.reads[input_and_level]
        ]
        return max(counts) * dtype_of(type_.element_type).itemsize


def _min_covered_extent(interval: Interval, extent: int) -> int:
    """
    Return the minimum number of indices of an axis that tiles of any size cover over
    all iterations.
    """
    first = min_start(interval)
    whole = count_indices_in_bounds(first, max_end(interval) - first, extent)
    return min(whole, covered_index_count(interval, extent))


def _unshared_fraction_of_axis(small: Interval, large: Interval) -> float:
    """
    Return the fraction of an axis that tiles do not share with their predecessors.
    """
    steps = [
        abs(factor) * symbol.tile
        for symbol, factor in small.offset.terms
        if isinstance(symbol, TileLoop)
    ]
    shared = small.tile_extent - min(steps, default=small.tile_extent)
    return 1 - max(0, shared) / max(1, large.tile_extent)


def _has_smaller_coverage(small: Box, large: Box) -> bool:
    """
    Return `True` if the small tile covers fewer indices of some axis over all
    iterations than the large one.
    """
    pairs = zip(small, large, strict=True)
    return any(
        _extent_summed_over_iterations(each) < whole.tile_extent
        for each, whole in pairs
    )


def _extent_summed_over_iterations(interval: Interval) -> int:
    """Return the number of indices of an interval, summed over all iterations."""
    symbols = (symbol for symbol, _ in interval.offset.terms)
    return interval.tile_extent * prod(
        symbol.trips for symbol in symbols if isinstance(symbol, TileLoop)
    )
