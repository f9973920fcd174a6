"""Boxes of arrays that a move reads, straight or through an affine map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir.affine import AffineMap

from tlf.dialects.interfaces import Array
from tlf.dialects.linear_map import accesses


def gather(
    source: Array,
    offsets: Sequence[int],
    indexing: AffineMap,
    sizes: Sequence[int],
    fill: object,
) -> Array:
    """
    The elements of `source` at `offsets + indexing(e)` for each `e` of a box, and
    `fill` where that lies outside. The box has `sizes` elements along its axes.
    """
    grid = np.indices(tuple(sizes), sparse=True)
    inside = np.ones(tuple(sizes), np.bool_)
    index: list[NDArray[np.int64]] = []
    for access, offset, extent in zip(
        accesses(indexing), offsets, source.shape, strict=True
    ):
        position = np.full(tuple(sizes), offset + access.constant, np.int64)
        for coefficient, axis in zip(access.coefficients, grid, strict=True):
            position = position + coefficient * axis
        inside &= (position >= 0) & (position < extent)
        index.append(np.clip(position, 0, extent - 1))
    found = np.full(tuple(sizes), fill, source.dtype)
    found[inside] = source[tuple(index)][inside]
    return found
