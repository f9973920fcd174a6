"""
Search for tile sizes in the innermost NPU memory level: grid of candidates, from halves
and powers of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, prod

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import itemsize_of
from tlf.planner.cost.npu.candidate_shortlist import Sizes
from tlf.planner.cost.npu.tile_size_options import halves_and_powers_of_two
from tlf.planner.settings.search_budgets import TILE_SEARCH


@dataclass
class CandidateGrid:
    """Grid of candidate tile sizes of a group: halves of axes and powers of two."""

    members: GroupMembers
    axes: TileableAxes
    contractions: Sequence[ContractionInterface]
    """Contractions of the group."""
    burst_bytes: int
    """Burst of the outer memory, in bytes."""
    min_product_extent: int
    """Minimum columns and reduction steps of a product's tile."""

    def candidate_sizes(self, max_points: int) -> list[Sizes]:
        """
        Return the sizes of two grids of at most `max_points` points each, with whole
        and with tiled reductions; every other size of each axis comes first.
        """
        chains = self._sizes_by_axis()
        count = len(self.axes.parallel)
        untiled = [*chains[:count], *((extent,) for extent in self.axes.reduction)]
        grids = [self._prune_grid(each, max_points) for each in (untiled, chains)]
        coarse = {
            sizes
            for grid in grids
            for sizes in product(*(chain[::-2] for chain in grid))
        }
        sizes = dict.fromkeys(sizes for grid in grids for sizes in product(*grid))
        return sorted(sizes, key=lambda each: each not in coarse)

    def _prune_grid(
        self, sizes_by_axis: Sequence[Sizes], max_points: int
    ) -> list[Sizes]:
        """
        Return the sizes of a grid by axis, pruned to at most `max_points` points. Batch
        axes are pruned first, because the other axes fill the array.
        """
        sizes_by_axis = list(sizes_by_axis)
        for axis in (
            self._batch_axes if prod(map(len, sizes_by_axis)) > max_points else ()
        ):
            sizes_by_axis[axis] = tuple(
                dict.fromkeys((sizes_by_axis[axis][0], sizes_by_axis[axis][-1]))
            )
        while prod(map(len, sizes_by_axis)) > max_points:
            longest = max(
                range(len(sizes_by_axis)), key=lambda axis: len(sizes_by_axis[axis])
            )
            sizes_by_axis[longest] = sizes_by_axis[longest][::-2][::-1]
        return sizes_by_axis

    def _sizes_by_axis(self) -> list[Sizes]:
        """
        Return the candidate sizes of each axis; only the whole extent for fixed axes
        and short reductions.
        """
        axes = self.axes
        floors = [*self._min_parallel_sizes(), *self._min_reduction_sizes()]
        short = [False] * len(axes.parallel)
        short += [extent <= TILE_SEARCH.untiled_reduction for extent in axes.reduction]
        extents = (*axes.parallel, *axes.reduction)
        free = (*axes.free, *axes.reduction_free)
        return [
            halves_and_powers_of_two(extent, floor)
            if is_free and not is_short
            else (extent,)
            for extent, floor, is_free, is_short in zip(
                extents, floors, free, short, strict=True
            )
        ]

    def _min_reduction_sizes(self) -> list[int]:
        """
        Return the minimum tile sizes of the reduction axes, whose product is at least
        the minimum number of steps.
        """
        extents = self.axes.reduction
        return [
            ceil(self.min_product_extent / prod(extents[axis + 1 :]))
            for axis in range(len(extents))
        ]

    def _min_parallel_sizes(self) -> list[int]:
        """
        Return the minimum tile sizes of the parallel axes: smaller tiles move mostly
        empty bursts or leave columns idle.
        """
        root = self.members.root
        item = itemsize_of(root.results[0])
        floors = [1] * len(self.axes.parallel)
        if floors:
            floors[-1] = max(1, self.burst_bytes // item // TILE_SEARCH.burst_divisor)
        extents = self.axes.parallel
        if (
            len(extents) > 2
            and extents[1] >= self.min_product_extent
            and self._has_min_product_extent(1)
        ):
            floors[1] = self.min_product_extent
        return floors

    @cached_property
    def _batch_axes(self) -> list[int]:
        """Indices of the result's axes that are batch axes of all products, if any."""
        facts = [self.members.op_facts.facts_of(op) for op in self.contractions]
        return [
            axis
            for axis in range(len(self.axes.parallel) if facts else 0)
            if all(
                each.iterator_roles[iterator] == "batch"
                for each in facts
                for access in each.result_map[axis : axis + 1]
                for iterator, _ in access.terms
            )
        ]

    def _has_min_product_extent(self, axis: int) -> bool:
        """
        Return `True` if an axis of the result has at least `min_product_extent` rows or
        columns of a product.
        """
        facts = map(self.members.op_facts.facts_of, self.contractions)
        sides = (
            prod(
                each.extents[iterator]
                for access in each.result_map[axis : axis + 1]
                for iterator, _ in access.terms
                if each.iterator_roles[iterator] != "batch"
            )
            for each in facts
        )
        return max(sides, default=1) >= self.min_product_extent
