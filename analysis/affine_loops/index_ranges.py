"""Value ranges of indices over the iterations of the loops around them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tlf.analysis.affine_loops.affine_sums import affine_sum_of
from tlf.analysis.affine_loops.iteration_systems import loop_bounds_of, loop_of_variable
from tlf.dialects.tile import Index
from tlf.support.affine.index_access import AffineSum


def range_of(index: Index | AffineSum) -> tuple[int, int] | None:
    """
    The least and the greatest value of an index, or None where it depends on more than
    loops whose bounds are numbers.
    """
    form = index if isinstance(index, AffineSum) else affine_sum_of(index)
    ranges: dict[Hashable, tuple[int, int]] = {}
    for symbol, _ in form.terms:
        if (found := _range_of_variable(symbol)) is None:
            return None
        ranges[symbol] = found
    return form.bounds(ranges)


def _range_of_variable(symbol: Hashable) -> tuple[int, int] | None:
    """The values of an induction variable, were its loop to run at least once."""
    if (found := loop_of_variable(symbol)) is None:
        return None
    nest, number = found
    loop = loop_bounds_of(nest)[number]
    if loop.trips is None or loop.lower.terms:
        return None
    first = loop.lower.constant
    return first, first + max(0, loop.trips - 1) * loop.step


def is_within_bounds(
    offsets: Sequence[Index], extents: Sequence[int], shape: Sequence[int]
) -> bool:
    """
    Return `True` if a box lies within a tensor in every iteration of the loops around
    it.
    """
    for offset, extent, bound in zip(offsets, extents, shape, strict=True):
        found = range_of(offset)
        if found is None or found[0] < 0 or found[1] + extent > bound:
            return False
    return True
