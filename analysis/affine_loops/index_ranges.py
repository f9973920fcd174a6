"""
Analysis of indices: their value ranges over the iterations of the enclosing loops.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tlf.analysis.affine_loops.iteration_systems import loop_bounds_of, loop_of_variable
from tlf.dialects.affine_values import affine_sum_of
from tlf.dialects.tile import Index
from tlf.support.affine.index_access import AffineSum


def value_range_of(index: Index | AffineSum) -> tuple[int, int] | None:
    """
    Return the smallest and the largest value of an index; None if it depends on
    anything but loops with constant bounds.
    """
    form = index if isinstance(index, AffineSum) else affine_sum_of(index)
    ranges: dict[Hashable, tuple[int, int]] = {}
    for symbol, _ in form.terms:
        if (variable_range := _range_of_induction_variable(symbol)) is None:
            return None
        ranges[symbol] = variable_range
    return form.value_bounds(ranges)


def _range_of_induction_variable(symbol: Hashable) -> tuple[int, int] | None:
    """Return the range of an induction variable, assuming at least one iteration."""
    if (owner := loop_of_variable(symbol)) is None:
        return None
    nest, index = owner
    loop = loop_bounds_of(nest)[index]
    if loop.trips is None or loop.lower.terms:
        return None
    first = loop.lower.constant
    return first, first + max(0, loop.trips - 1) * loop.step


def is_box_within_tensor(
    offsets: Sequence[Index], extents: Sequence[int], shape: Sequence[int]
) -> bool:
    """
    Return `True` if a box is inside a tensor in every iteration of the enclosing loops.
    """
    for offset, extent, bound in zip(offsets, extents, shape, strict=True):
        offset_range = value_range_of(offset)
        if (
            offset_range is None
            or offset_range[0] < 0
            or offset_range[1] + extent > bound
        ):
            return False
    return True
