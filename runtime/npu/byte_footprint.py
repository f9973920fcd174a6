"""Simulator: byte footprint of a strided array in memory, in granules."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np


@dataclass(frozen=True, slots=True)
class Footprint:
    """Set of bytes of a strided array, as disjoint or nested rows of granules."""

    low: int
    """Bytes from the base address to the lowest byte; at most 0."""
    high: int
    """Bytes from the base address to the end of the highest byte."""
    shape: tuple[int, ...]
    """
    Extents of the simplified set, innermost last; the innermost one is contiguous.
    """
    strides: tuple[int, ...]
    """Strides of the simplified set, in granules, all positive."""
    is_aligned: bool
    """True if all strides are multiples of the element size."""


@lru_cache(maxsize=1 << 16)
def compute_footprint(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, granule: int
) -> Footprint:
    """
    Return the footprint of a non-empty strided array of elements of `itemsize` bytes,
    in granules of `granule` bytes.
    """
    low, high, aligned = 0, itemsize, True
    axes: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1 or stride == 0:
            continue
        low += min(0, (extent - 1) * stride)
        high += max(0, (extent - 1) * stride)
        aligned = aligned and stride % itemsize == 0
        axes.append((abs(stride) // granule, extent))
    if not aligned:
        return Footprint(low, high, (), (), False)
    # Merge axes from the innermost outwards: an axis whose stride is within the
    # contiguous extent of the inner axis only extends that axis.
    merged = [(1, itemsize // granule)]
    for stride, extent in sorted(axes):
        inner, length = merged[-1]
        if stride % inner == 0 and stride // inner <= length:
            merged[-1] = (inner, (extent - 1) * (stride // inner) + length)
        else:
            merged.append((stride, extent))
    merged.reverse()
    return Footprint(
        low,
        high,
        tuple(length for _, length in merged),
        tuple(stride for stride, _ in merged),
        True,
    )


@lru_cache(maxsize=1 << 16)
def has_distinct_elements(
    shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int
) -> bool:
    """Return `True` if no two elements of a strided array share a byte."""
    axes = sorted(
        (abs(stride), extent)
        for extent, stride in zip(shape, strides, strict=True)
        if extent > 1
    )
    if axes and axes[0][0] < itemsize:
        return False
    span = itemsize
    nested = True
    for stride, extent in axes:
        nested = nested and stride >= span
        span += (extent - 1) * stride
    if nested:
        return True
    offsets = np.zeros(1, np.int64)
    for stride, extent in axes:
        steps = np.arange(extent, dtype=np.int64) * stride
        offsets = np.add.outer(offsets, steps).reshape(-1)
    offsets.sort()
    return bool(np.diff(offsets).min() >= itemsize)
