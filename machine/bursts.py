"""Timing model: bus traffic of a strided array, rounded to whole bursts."""

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=1 << 16)
def bus_bytes_of_array(
    start_in_burst: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    burst: int,
) -> int:
    """
    Return the bytes that a bus with bursts of `burst` bytes moves for a strided array,
    walked in order. Every contiguous run is rounded out to whole bursts; a repeated
    dimension (stride 0) is moved once.

    `start_in_burst` is the base address modulo the burst.
    """
    run = itemsize
    axes = [
        (stride, extent)
        for extent, stride in zip(shape, strides, strict=True)
        if extent > 1 and stride != 0
    ]
    while axes and axes[-1][0] == run:
        stride, extent = axes.pop()
        run *= extent
    starts = np.array([start_in_burst], np.int64)
    repeat = 1
    for stride, extent in axes:
        if stride % burst == 0:
            repeat *= extent
            continue
        steps = np.arange(extent, dtype=np.int64) * stride
        starts = np.add.outer(starts, steps).reshape(-1)
    bursts = -(-(starts + run) // burst) - starts // burst
    return int(bursts.sum()) * burst * repeat
