"""
Emission of Triton code for accesses: positions of a tile's elements along each dim of a
buffer, with bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir.affine import AffineMap

from tlf.dialects import mem
from tlf.lowering.mem_to_triton.flat_axes import FlatAxes
from tlf.lowering.mem_to_triton.index_expressions import IndexExpr
from tlf.lowering.mem_to_triton.thread_order import DimStep
from tlf.support.affine.index_access import IndexAccess


@dataclass(frozen=True)
class Position:
    """
    Position along one dim of a buffer: `offset`, plus for each term the index along a
    dim of the value times a coefficient.
    """

    offset: IndexExpr
    terms: tuple[tuple[int, int], ...]

    def position_range(self, extents: Sequence[int]) -> tuple[int, int]:
        """Return the minimum and maximum position of a value with the given extents."""
        low, high = IndexAccess(self.terms).index_bounds(extents)
        return self.offset.low + low, self.offset.high + high

    def is_along(self, dim: int) -> bool:
        """Return `True` if the position is an offset plus the index along `dim`."""
        return self.terms == ((dim, 1),)


@dataclass(frozen=True)
class ElementPositions:
    """
    Positions of the elements of a value, one per dim of the buffer, in a tile with axes
    that enumerate the dims of the value.
    """

    axes: FlatAxes
    along: tuple[Position, ...]

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Shape of the tile."""
        return self.axes.extents

    @staticmethod
    def from_offsets(
        offsets: Sequence[IndexExpr],
        axes: FlatAxes,
        indexing: AffineMap | None = None,
    ) -> "ElementPositions":
        """
        Return the positions of elements `e`: `offsets + indexing(e)`, or `offsets + e`.

        Unit dims of the value are dropped, as their index is 0, unless all dims are.
        """
        rank = len(axes.shape)
        indexing = AffineMap.identity(rank) if indexing is None else indexing
        nonunit = [dim for dim in range(rank) if axes.shape[dim] > 1] or list(
            range(rank)
        )
        along: list[Position] = []
        for offset, access in zip(
            offsets, mem.linear_accesses_of_map(indexing), strict=True
        ):
            terms = tuple(term for term in access.terms if term[0] in nonunit)
            along.append(Position(offset + IndexExpr.of_constant(access.offset), terms))
        return ElementPositions(axes, tuple(along))

    def steps_in_memory(self, strides: Sequence[int]) -> dict[int, DimStep]:
        """
        Return the steps along the tile's axes, which are those of their innermost dims,
        given the strides of the buffer.
        """
        steps: dict[int, int] = {}
        for position, stride in zip(self.along, strides, strict=True):
            for dim, factor in position.terms:
                steps[dim] = steps.get(dim, 0) + factor * stride
        return {
            axis: DimStep(steps[dim], self.axes.shape[dim])
            for axis, dim in self.axes.innermost_dims().items()
            if dim in steps
        }

    @property
    def invariant_axes(self) -> list[int]:
        """
        Axes of the tile along which no position varies; unit axes are included only if
        none varies.
        """
        used = {
            self.axes.axis_of(dim)
            for position in self.along
            for dim, _ in position.terms
        }
        if used:
            used |= {axis for axis, extent in enumerate(self.tile_shape) if extent == 1}
        return [axis for axis in range(len(self.tile_shape)) if axis not in used]
