"""Cost model of the distribution of a tile's elements over the threads of a program."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ThreadLayout:
    """Number of lanes of a warp, and of warps, along each axis of a tile."""

    lanes: tuple[int, ...]
    warps: tuple[int, ...]

    @staticmethod
    def of_tile(
        extents: Sequence[int], vector: int, lane_count: int, warp_count: int
    ) -> ThreadLayout:
        """
        Return the blocked layout that Triton gives a tile whose last axis is
        contiguous: threads hold `vector` elements of the last axis each, and fill the
        axes from the last to the first; the first axis takes the threads that are left.
        Source: `BlockedEncodingAttr` in Triton's `TritonGPUAttrDefs.td`.
        """
        lanes, warps = [1] * len(extents), [1] * len(extents)
        free_lanes, free_warps = lane_count, warp_count
        for axis in reversed(range(len(extents))):
            held = vector if axis == len(extents) - 1 else 1
            threads = max(1, extents[axis] // held)
            lanes[axis] = min(threads, free_lanes)
            warps[axis] = min(max(1, threads // lanes[axis]), free_warps)
            free_lanes //= lanes[axis]
            free_warps //= warps[axis]
        if extents:
            lanes[0] *= free_lanes
            warps[0] *= free_warps
        return ThreadLayout(tuple(lanes), tuple(warps))

    def lanes_along(self, axes: Collection[int]) -> int:
        """Return the number of lanes that share the elements along some axes."""
        return _product_along(self.lanes, axes)

    def warps_along(self, axes: Collection[int]) -> int:
        """Return the number of warps that share the elements along some axes."""
        return _product_along(self.warps, axes)


def _product_along(counts: Sequence[int], axes: Collection[int]) -> int:
    product = 1
    for axis in axes:
        product *= counts[axis]
    return product
