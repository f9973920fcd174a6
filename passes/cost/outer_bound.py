"""
What no tiles of a group beat at an outer level, from the largest and the smallest.

Source: the two bounds of a roofline (Williams et al. 2009), moves and work, each of
them what all tiles together take at least:

- A tile of `t` iterations along a loop needs `a (t - 1) + w` indices of an axis, so all
  tiles need most or least of them where `t` is 1 or the extent. No tiling moves fewer
  bytes than the lesser of the two, axis by axis; what a smaller tile leaves out, as
  every second row by a stride of 2, the other one does not.
- Cycles of an engine are rounded up for each tile, latencies and what nothing hides are
  added, so that one tile takes the least. What smaller tiles leave out is not counted.
"""

from __future__ import annotations

from functools import cached_property
from math import floor, prod

from xdsl.ir import SSAValue

from tlf.dialects.access import Box, Interval
from tlf.dialects.types import byte_count, dtype_of, tensor_type
from tlf.passes.cost.outer import Keeping, TiledGroup
from tlf.passes.cost.traffic import clipped, covered_extent
from tlf.passes.tiling.model import Loop, Scope, last_end


class OuterBound:
    """
    Bounds what a group costs, for any values that are in the level around it.
    `largest` is the group in one tile, `smallest` in the smallest that there are.
    """

    def __init__(self, largest: TiledGroup, smallest: TiledGroup) -> None:
        self.largest = largest
        self.smallest = smallest
        self.model = largest.model

    def of(self, keeping: Keeping) -> tuple[int, int]:
        """The least cycles, and the least bytes of the farther memory."""
        loads = {v: n for v, n in self._loads.items() if v not in keeping.near}
        loads |= {v: byte_count(tensor_type(v)) for v in keeping.loaded}
        stores = [n for v, n in self._stores.items() if v not in keeping.unstored]
        moved = sum(loads.values()) + sum(stores)
        waits = bool(loads.keys() - keeping.early) + bool(stores)
        work = waits * self.model.latency + self._work
        return floor(max(moved / self._bandwidth, work)), moved

    @cached_property
    def _bandwidth(self) -> float:
        """The most bytes per cycle between the memories."""
        moves = self.model.far
        levels = [moves.costs.machine.levels[name] for name in (moves.near, moves.far)]
        shared = [level.bandwidth for level in levels if level.shared]
        return min(shared) if shared else max(level.bandwidth for level in levels)

    @cached_property
    def _loads(self) -> dict[SSAValue, int]:
        """The least bytes that are loaded of each input."""
        return {key[0]: self._least(key) for key in self.largest.tiling.reads}

    @cached_property
    def _stores(self) -> dict[SSAValue, int]:
        """The bytes that are stored of each result."""
        results = self.largest.tiling.results
        return {value: byte_count(tensor_type(value)) for value in results}

    @cached_property
    def _work(self) -> float:
        """The least cycles of all computation."""
        tiling, nests = self.largest.tiling, self.largest.nests
        return sum(self.model.by_nest(tiling, nests, self._thinned).values())

    @cached_property
    def _thinned(self) -> set[object]:
        """Operations of which small tiles compute less, and such values."""
        large, small = self.largest.tiling, self.smallest.tiling
        found = set[object]()
        for op, tiled in large.tiles.items():
            least = small.tiles[op]
            if _is_less(least.box, tiled.box):
                found.add(op)
            if _is_less(least.result, tiled.result):
                found.update(op.results)
        for key, boxes in large.reads.items():
            least = small.reads[key]
            if len(least) > 1 or _is_less(least[0], boxes[0]):
                found.add(key[0])
        return found

    def _least(self, key: tuple[SSAValue, Scope]) -> int:
        """The least bytes of an input that any tiles read."""
        value = key[0]
        type_ = tensor_type(value)
        shape = type_.get_shape()
        counts = [
            prod(map(_least_extent, box, shape))
            for box in self.smallest.tiling.reads[key]
        ]
        return max(counts) * dtype_of(type_.element_type).itemsize


def _least_extent(interval: Interval, extent: int) -> int:
    """The indices of an axis that tiles of any size hold, over all iterations."""
    first = interval.offset.constant
    whole = clipped(first, last_end(interval) - first, extent)
    return min(whole, covered_extent(interval, extent))


def _is_less(small: Box, large: Box) -> bool:
    """Whether all iterations of a small tile hold less than the large one."""
    pairs = zip(small, large, strict=True)
    return any(_total(each) < whole.room for each, whole in pairs)


def _total(interval: Interval) -> int:
    """The indices that an interval holds in all iterations together."""
    symbols = (symbol for symbol, _ in interval.offset.terms)
    return interval.room * prod(
        symbol.trips for symbol in symbols if isinstance(symbol, Loop)
    )
