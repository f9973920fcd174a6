"""Candidate tile sizes for the innermost memory level: halves and powers of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, prod

from tlf.analysis.tiling.group_analysis import GroupMembers
from tlf.analysis.tiling.tileable_axes import TileableAxes
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import dtype_of, tensor_type
from tlf.planner.cost.npu.shortlist import Sizes
from tlf.planner.cost.npu.size_options import stepping_sizes

EMPTY = 4
"""Tiles of which a row fills less than one part in so many of a burst are left out."""

SHORT = 8
"""Reductions of so few steps, as of the taps of a window, run whole."""

WORTHWHILE = 32
"""A product has at least so many columns, and steps, where it can."""


@dataclass
class CandidateGrid:
    """Halves of axes, and powers of two, that may be tiles of a group."""

    members: GroupMembers
    axes: TileableAxes
    contractions: Sequence[ContractionInterface]
    """Those of the group."""
    burst: int
    """Bytes of the farther memory that move at once."""

    def candidate_sizes(self, most: int) -> list[Sizes]:
        """
        The sizes of the grids, with sums that come whole and in pieces, every other of
        each axis first: not many more than so many.
        """
        chains = self._sizes_by_axis()
        count = len(self.axes.parallel)
        whole = [*chains[:count], *((extent,) for extent in self.axes.reduction)]
        grids = [self._prune_sizes(each, most) for each in (whole, chains)]
        coarse = {
            sizes
            for grid in grids
            for sizes in product(*(chain[::-2] for chain in grid))
        }
        sizes = dict.fromkeys(sizes for grid in grids for sizes in product(*grid))
        return sorted(sizes, key=lambda each: each not in coarse)

    def _prune_sizes(self, chains: Sequence[Sizes], most: int) -> list[Sizes]:
        """
        The sizes of a grid, by axis, not too many of them: the fewest of axes along
        which products are apart, for other axes are what fills the array.
        """
        chains = list(chains)
        for axis in self._batch_axes if prod(map(len, chains)) > most else ():
            chains[axis] = tuple(dict.fromkeys((chains[axis][0], chains[axis][-1])))
        while prod(map(len, chains)) > most:
            longest = max(range(len(chains)), key=lambda axis: len(chains[axis]))
            chains[longest] = chains[longest][::-2][::-1]
        return chains

    def _sizes_by_axis(self) -> list[Sizes]:
        axes = self.axes
        floors = [*self._min_parallel_sizes(), *self._min_reduction_sizes()]
        short = [False] * len(axes.parallel)
        short += [extent <= SHORT for extent in axes.reduction]
        extents = (*axes.parallel, *axes.reduction)
        free = (*axes.free, *axes.reduction_free)
        return [
            stepping_sizes(extent, floor) if is_free and not whole else (extent,)
            for extent, floor, is_free, whole in zip(
                extents, floors, free, short, strict=True
            )
        ]

    def _min_reduction_sizes(self) -> list[int]:
        """Fewer steps of a sum are not worth while, along all of its axes together."""
        extents = self.axes.reduction
        return [
            ceil(WORTHWHILE / prod(extents[axis + 1 :])) for axis in range(len(extents))
        ]

    def _min_parallel_sizes(self) -> list[int]:
        """Less of an axis moves mostly empty bursts, or leaves columns idle."""
        root = self.members.root
        item = dtype_of(tensor_type(root.results[0]).element_type).itemsize
        floors = [1] * len(self.axes.parallel)
        if floors:
            floors[-1] = max(1, self.burst // item // EMPTY)
        extents = self.axes.parallel
        if len(extents) > 2 and extents[1] >= WORTHWHILE and self._has_columns(1):
            floors[1] = WORTHWHILE
        return floors

    @cached_property
    def _batch_axes(self) -> list[int]:
        """The axes of the result along which all products are apart."""
        forms = [self.members.op_facts.of(each) for each in self.contractions]
        return [
            axis
            for axis in range(len(self.axes.parallel) if forms else 0)
            if all(
                form.roles[iterator] == "batch"
                for form in forms
                for access in form.result_map[axis : axis + 1]
                for iterator, _ in access.terms
            )
        ]

    def _has_columns(self, axis: int) -> bool:
        """
        Return `True` if many rows or columns of a product lie along an axis of the
        result.
        """
        forms = map(self.members.op_facts.of, self.contractions)
        sides = (
            prod(
                form.extents[iterator]
                for access in form.result_map[axis : axis + 1]
                for iterator, _ in access.terms
                if form.roles[iterator] != "batch"
            )
            for form in forms
        )
        return max(sides, default=1) >= WORTHWHILE
