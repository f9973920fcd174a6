"""Convolutions whose neighbouring results are columns, on chips of several arrays."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from differential import check, compiled_text, make_case
from numpy.random import Generator

CHIPS = ("npu", "npu-4core", "npu-tiny", "npu-tiny:L2=8K,L1=2K")


@dataclass(frozen=True)
class Layer:
    """A convolution with what comes before and after it."""

    channels: int
    per_group: int
    filters: int
    """For each group."""
    image: tuple[int, int]
    taps: tuple[int, int]
    strides: tuple[int, int]
    padding: tuple[int, ...]
    element: str

    @staticmethod
    def random(rng: Generator) -> "Layer":
        """Some layer with a small image."""
        per_group, filters = (int(rng.choice([1, 1, 2, 3])) for _ in range(2))
        taps = (int(rng.choice([1, 2, 3, 5])), int(rng.choice([2, 3, 5, 7])))
        image = (int(rng.integers(7, 30)), int(rng.integers(7, 30)))
        return Layer(
            per_group * int(rng.integers(1, 9)),
            per_group,
            filters,
            image,
            taps,
            (int(rng.integers(1, 3)), int(rng.integers(1, 4))),
            tuple(int(n) for n in rng.integers(0, 4, 4)),
            str(rng.choice(["f32", "f16", "bf16"])),
        )

    @property
    def text(self) -> str:
        """The layer between two elementwise operations, as a program."""
        groups = self.channels // self.per_group
        top, left, bottom, right = self.padding
        rows, columns = (
            (extent + pad - tap) // stride + 1
            for extent, pad, tap, stride in zip(
                self.image,
                (top + bottom, left + right),
                self.taps,
                self.strides,
                strict=True,
            )
        )
        x = f"tensor<2x{self.channels}x{self.image[0]}x{self.image[1]}x{self.element}>"
        w = f"tensor<{groups * self.filters}x{self.per_group}x{self.taps[0]}x"
        w += f"{self.taps[1]}x{self.element}>"
        y = f"tensor<2x{groups * self.filters}x{rows}x{columns}x{self.element}>"
        return f"""
func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %0 = graph.neg %x : {x}
  %1 = graph.conv2d %0, %w strides {list(self.strides)} padding {list(self.padding)}
      groups {groups} : ({x}, {w}) -> {y}
  %2 = graph.relu %1 : {y}
  func.return %2 : {y}
}}"""


def layers(count: int) -> Iterator[Layer]:
    """Some layers, always the same."""
    for seed in range(count):
        yield Layer.random(np.random.default_rng(seed))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("layer", list(layers(24)), ids=lambda layer: layer.element)
def test_values(layer: Layer, chip: str):
    assert check(make_case(layer.text), chip, stages=False) is None


DEPTHWISE = Layer(6, 1, 1, (28, 28), (3, 3), (1, 1), (1, 1, 1, 1), "f16")


def test_columns_of_depthwise_layers():
    """Each filter has a channel to itself, and still no product has a single column."""
    text = compiled_text(DEPTHWISE.text, "npu")
    products = [line for line in text.splitlines() if "matmul" in line]
    assert products
    assert not any("m=()" in each or "n=()" in each for each in products)
