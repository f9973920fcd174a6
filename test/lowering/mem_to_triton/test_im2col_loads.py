"""
Loads of windows as the rows of a value, at the mem level: in Triton's interpreter,
against enumeration, and compiled.
"""

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from random_windows import Windows, random_windows

from tlf.runtime.triton.launch_plan import Plan

Check = Callable[[str, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]

ELEMENTS = ("f32", "f16", "i8", "i32", "i64", "i1")


def memref(shape: Sequence[int], element: str) -> str:
    return f'memref<{"x".join(map(str, [*shape, element]))}, "L3">'


def load(
    windows: Windows, offsets: Sequence[int], box: Sequence[int], tile: Sequence[int]
) -> str:
    """Return a program that loads a box of the windows, and stores the tile."""
    element, rank = windows.element, len(tile)
    value = f"tensor<{'x'.join(map(str, [*tile, element]))}>"
    source, target = memref(windows.source, element), memref(tile, element)
    basis = [list(extents) for extents in windows.access.basis]
    fill = {"false": "0", "true": "1"}.get(windows.fill, windows.fill)
    return f"""
func.func @f(%x: {source}, %y: {target}) attributes {{tlf.results = 1 : i64}} {{
  %v = mem.im2col %x{list(offsets)} map {windows.map_text} basis {basis}
      size {list(box)} fill {fill} : {source} -> {value}
  mem.store %v to %y{[0] * rank} : {value} to {target}
  func.return
}}"""


@pytest.mark.parametrize("seed", range(16))
def test_random_boxes(seed: int, check: Check):
    generator = random.Random(seed)
    windows = random_windows(generator, ELEMENTS)
    access = windows.access
    tile = [2 ** generator.randint(0, 5) for _ in access.shape]
    box = [generator.choice((size, generator.randint(1, size))) for size in tile]
    offsets = [
        generator.choice((0, extent // size * size, generator.randrange(extent)))
        for extent, size in zip(access.shape, tile, strict=True)
    ]
    source = windows.inputs("max", np.random.default_rng(seed))["x"]
    (value,) = check(load(windows, offsets, box, tile), {"x": source}).values()
    expected = np.full(tile, windows.fill_value, source.dtype)
    region = tuple(map(slice, box))
    fill = expected.reshape(-1)[0]
    expected[region] = access.gather_elements(source, offsets, box, fill)
    np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize(("extent", "is_wide"), [(40000, False), (50000, True)])
def test_offsets_beyond_32_bits(
    extent: int, is_wide: bool, plan_of: Callable[[str], Plan]
):
    digits = f"basis [[{extent}, {extent}]] size [64]"
    source = memref((extent, extent), "f32")
    (kernel,) = plan_of(f"""
func.func @f(%x: {source}, %y: memref<64xf32, "L3">)
    attributes {{tlf.results = 1 : i64}} {{
  %v = mem.im2col %x[{extent * extent - 64}] map affine_map<(a, b) -> (a, b)>
      {digits} : {source} -> tensor<64xf32>
  mem.store %v to %y[0] : tensor<64xf32> to memref<64xf32, "L3">
  func.return
}}""").kernels
    assert ("tl.int64" in kernel.source) == is_wide
