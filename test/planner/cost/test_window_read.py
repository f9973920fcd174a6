"""Footprints of tiles of windows, against enumeration of the elements read."""

import random
from itertools import product
from math import prod

import numpy as np
import pytest
from random_windows import random_windows

from tlf.planner.cost.gpu.global_tensor import GlobalTensor
from tlf.planner.cost.gpu.window_read import WindowRead
from tlf.support.affine.delinearized_access import DelinearizedAccess
from tlf.support.affine.index_access import AffineSum, Box, IndexAccess, Interval

BYTES = 4


def window_read(access: DelinearizedAccess, shape: tuple[int, ...]) -> WindowRead:
    """Return the read of a row-major tensor."""
    strides = tuple(BYTES * prod(shape[axis + 1 :]) for axis in range(len(shape)))
    tensor = GlobalTensor(shape, tuple(range(len(shape))), strides, BYTES)
    return WindowRead(tensor, access)


def box_of(tile: tuple[int, ...]) -> Box:
    return tuple(Interval(AffineSum(0), size) for size in tile)


def most_elements_of_tile(read: WindowRead, tile: tuple[int, ...]) -> int:
    """Return the greatest number of distinct elements that a tile reads."""
    access, shape = read.access, read.tensor.shape
    numbers, most = np.arange(prod(shape)).reshape(shape), 0
    extents = zip(access.shape, tile, strict=True)
    for starts in product(*(range(0, extent, size) for extent, size in extents)):
        elements = access.gather_elements(numbers, starts, tile, -1)
        most = max(most, len({*elements.ravel().tolist()} - {-1}))
    return most


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(60))
def test_footprints_contain_all_elements_read(seed: int):
    generator = random.Random(seed)
    windows = random_windows(generator)
    read = window_read(windows.access, windows.source)
    tile = tuple(2 ** generator.randint(0, 6) for _ in windows.access.shape)
    footprint = read.footprint_bytes(box_of(tile)) / BYTES
    assert most_elements_of_tile(read, tile) <= footprint <= prod(tile)


def convolution(
    batch: int, extent: int, channels: int, window: int
) -> tuple[DelinearizedAccess, tuple[int, ...]]:
    """Return the windows of square images, channels last, and the images' shape."""
    border = window // 2
    accesses = (
        IndexAccess.of_iterator(0),
        IndexAccess(((1, 1), (3, 1)), -border),
        IndexAccess(((2, 1), (4, 1)), -border),
        IndexAccess.of_iterator(5),
    )
    basis = (batch, extent, extent), (window, window, channels)
    return DelinearizedAccess(accesses, basis), (batch, extent, extent, channels)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("extent", [4, 8, 16])
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("rows", [4, 16, 64])
@pytest.mark.parametrize("columns", [4, 16, 32])
def test_footprints_of_aligned_tiles_are_close(
    extent: int, window: int, rows: int, columns: int
):
    access, shape = convolution(4, extent, 16, window)
    read, tile = window_read(access, shape), (rows, columns)
    footprint = read.footprint_bytes(box_of(tile)) / BYTES
    assert footprint <= 2 * most_elements_of_tile(read, tile)


def test_runs_of_channels():
    read = window_read(*convolution(4, 8, 16, 3))
    assert read.contiguous_bytes(box_of((16, 8))) == 8 * BYTES
    assert read.contiguous_bytes(box_of((16, 64))) == 16 * BYTES
    assert read.aligned_load_bytes(box_of((16, 8))) == 16
    assert read.aligned_load_bytes(box_of((16, 2))) == 2 * BYTES
    assert read.sector_bytes_per_byte(64, 32) == 1
    assert read.sector_bytes_per_byte(16, 32) == (16 + 32 - BYTES) / 16


def test_runs_of_windows():
    accesses = (IndexAccess(((0, 1), (1, 1)), -1),)
    read = window_read(DelinearizedAccess(accesses, ((9,), (3,))), (9,))
    assert read.contiguous_bytes(box_of((8, 4))) == 8 * BYTES
    assert read.aligned_load_bytes(box_of((8, 4))) == BYTES
    assert read.sector_bytes_per_byte(32, 32) == (32 + 32 - BYTES) / 32


def test_rows_of_strided_windows():
    accesses = (IndexAccess.of_iterator(0), IndexAccess(((1, 1), (2, 2)), -1))
    access = DelinearizedAccess(accesses, ((8,), (3,), (128,)))
    read = window_read(access, (8, 256))
    # Windows of 64 pixels and of one element, or of all three.
    assert read.footprint_row_bytes(box_of((1, 1, 64))) == 127 * BYTES
    assert read.footprint_row_bytes(box_of((1, 4, 64))) == 129 * BYTES
    assert read.line_bytes_per_byte(box_of((1, 1, 64)), 128, 128) == 380 / 128
    assert read.line_bytes_per_byte(box_of((1, 1, 8)), 128, 128) == 188 / 32


def test_lines_of_contiguous_windows():
    read = window_read(*convolution(4, 8, 64, 3))
    assert read.line_bytes_per_byte(box_of((16, 64)), 512, 128) == 1
    assert read.line_bytes_per_byte(box_of((16, 16)), 512, 128) == (64 + 124) / 64
