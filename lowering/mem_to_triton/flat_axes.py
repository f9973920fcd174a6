"""
Axes of a tile in Triton code that enumerate several dims of a value, in row-major
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod


@dataclass(frozen=True)
class FlatAxes:
    """Axes of a tile, with the dims of the value that each of them enumerates."""

    shape: tuple[int, ...]
    """Shape of the value."""
    groups: tuple[tuple[int, ...], ...]
    """Dims of each axis; all dims of the value, in order."""

    @staticmethod
    def of_merged_axis(shape: Sequence[int], axis: int) -> FlatAxes:
        """Return one axis per dim, but one for `axis` and `axis + 1`."""
        dims = [(dim,) for dim in range(len(shape))]
        return FlatAxes(
            tuple(shape), (*dims[:axis], (axis, axis + 1), *dims[axis + 2 :])
        )

    @staticmethod
    def of_dims(shape: Sequence[int]) -> FlatAxes:
        """Return one axis per dim."""
        return FlatAxes(tuple(shape), tuple((dim,) for dim in range(len(shape))))

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """Shape of the tile."""
        return tuple(prod(self.shape[dim] for dim in group) for group in self.groups)

    def axis_of(self, dim: int) -> int:
        """Return the axis that enumerates a dim of the value."""
        return next(axis for axis, dims in enumerate(self.groups) if dim in dims)

    def extent_along(self, dim: int) -> int:
        """Return the extent of the axis that enumerates a dim of the value."""
        return self.extents[self.axis_of(dim)]

    def index_along(self, dim: int, numbers: str) -> str:
        """
        Return the expression of the indices along a dim, given that of the numbers of
        the elements along its axis.
        """
        dims = self.groups[self.axis_of(dim)]
        outer, inner = (
            prod(self.shape[each] for each in part)
            for part in (dims[: dims.index(dim)], dims[dims.index(dim) + 1 :])
        )
        text = numbers if inner == 1 else f"{numbers} // {inner}"
        return text if outer == 1 else f"{text} % {self.shape[dim]}"

    def innermost_dims(self) -> dict[int, int]:
        """Return the last dim with several elements of each axis that has one."""
        last = {
            axis: [dim for dim in dims if self.shape[dim] > 1][-1:]
            for axis, dims in enumerate(self.groups)
        }
        return {axis: dims[0] for axis, dims in last.items() if dims}

    def first_dims(self, domain: Sequence[int | None]) -> tuple[int | None, ...]:
        """
        Return, for each axis, the domain dim of its first dim with several elements.
        """
        return tuple(
            next((domain[dim] for dim in dims if self.shape[dim] > 1), None)
            for dims in self.groups
        )
