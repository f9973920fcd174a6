"""
Reference interpretation of the gathers and scatters of the `tile` and `mem` dialects on
numpy arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.ir.affine import AffineMap

from tlf.dialects.interfaces import Array
from tlf.support.affine.linear_access import linear_accesses_of_map


def gather_box(
    source: Array,
    offsets: Sequence[int],
    indexing_map: AffineMap,
    sizes: Sequence[int],
    fill: object,
    axis_and_indices: tuple[int, Array] | None = None,
) -> Array:
    """
    Return the elements of `source` at `offsets + indexing(e)` for each `e` of a box of
    `sizes`, and `fill` for positions out of bounds.

    `axis_and_indices` is an axis of the source with the positions along it, one per
    `e`, which replace those of the map.
    """
    inside, index = _resolve_box_indices(
        source.shape, offsets, indexing_map, sizes, axis_and_indices
    )
    result = np.full(tuple(sizes), fill, source.dtype)
    elements = np.broadcast_to(source[index], tuple(sizes))
    result[inside] = elements[inside]
    return result


def _resolve_box_indices(
    shape: Sequence[int],
    offsets: Sequence[int],
    indexing_map: AffineMap,
    sizes: Sequence[int],
    axis_and_indices: tuple[int, Array] | None,
) -> tuple[NDArray[np.bool_], tuple[NDArray[np.int64], ...]]:
    """
    Return the mask of the in-bounds elements of a box, and for each axis of the array
    the indices of all elements, clamped to the bounds.
    """
    grid = np.indices(tuple(sizes), sparse=True)
    inside = np.ones(tuple(sizes), np.bool_)
    index: list[NDArray[np.int64]] = []
    for dimension, (access, offset, extent) in enumerate(
        zip(linear_accesses_of_map(indexing_map), offsets, shape, strict=True)
    ):
        position = np.full(tuple(sizes), offset + access.offset, np.int64)
        for dim, coefficient in access.terms:
            position = position + coefficient * grid[dim]
        if axis_and_indices is not None and axis_and_indices[0] == dimension:
            position = axis_and_indices[1].astype(np.int64)
        inside &= (position >= 0) & (position < extent)
        index.append(np.clip(position, 0, extent - 1))
    return inside, tuple(index)


def gather_box_by_indices(
    source: Array,
    offsets: Sequence[int],
    maps: tuple[AffineMap, AffineMap],
    axis: int,
    indices: Array,
    sizes: Sequence[int],
    fill: object,
) -> Array:
    """
    Gather like `gather_box` with `maps[0]`, but along `axis` of the source at the
    positions `indices[maps[1](e)]`.
    """
    positions = gather_box(indices, [0] * indices.ndim, maps[1], sizes, -1)
    return gather_box(source, offsets, maps[0], sizes, fill, (axis, positions))


def scatter_box_by_indices(
    destination: Array,
    offsets: Sequence[int],
    maps: tuple[AffineMap, AffineMap],
    axis: int,
    indices: Array,
    values: Array,
    combine: np.ufunc | None,
) -> Array:
    """
    Return the destination after a write of the elements of a box, in row-major order,
    to `offsets + maps[0](e)`, but along `axis` to the positions `indices[maps[1](e)]`.

    An element replaces the one at its destination, or is combined with it by a
    function.
    """
    sizes = values.shape
    positions = gather_box(indices, [0] * indices.ndim, maps[1], sizes, -1)
    inside, index = _resolve_box_indices(
        destination.shape, offsets, maps[0], sizes, (axis, positions)
    )
    result = destination.copy()
    targets = tuple(np.broadcast_to(each, sizes)[inside] for each in index)
    if combine is None:
        result[targets] = values[inside]
        return result
    with np.errstate(all="ignore"):
        combine.at(result, targets, values[inside])
    return result
