"""Sums of windows of products round no worse as products of sums of windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from far_rows import SEEDS, SHAPES, UNIT, decomposed, errors, program
from product_sums import changed

from tlf.dialects.graph.image_windows import Window

LAYERS: Mapping[str, str] = {
    "convolution": """
  %a = graph.transpose %x permutation [1, 0] : ({X}) -> {T}
  %i = graph.reshape %a : ({T}) -> {I}
  %b = graph.transpose %w permutation [1, 0] : ({W}) -> {V}
  %f = graph.reshape %b : ({V}) -> {F}
  %o = graph.conv2d %i, %f : ({I}, {F}) -> {S}
  %r = graph.reduce %w <sum> axes [0] : ({W}) -> {B1}
  %q = graph.reshape %r : ({B1}) -> {B3}
  %u = graph.mul %o, %c : ({S}, {C}) -> {S}
  %s = graph.sub %u, %q : ({S}, {B3}) -> {S}""",
    "channels behind": """
  %i = graph.reshape %x : ({X}) -> {H}
  %s = graph.contract %i, %w maps [
    affine_map<(n, f, h, w, k) -> (n, h, w, k)>,
    affine_map<(n, f, h, w, k) -> (k, f)>,
    affine_map<(n, f, h, w, k) -> (n, f, h, w)>] : ({H}, {W}) -> {S}""",
    "an axis of each factor": """
  %i = graph.reshape %x : ({X}) -> {H}
  %s = graph.contract %i, %w maps [
    affine_map<(n, f, h, w, k) -> (n, f, h, k)>,
    affine_map<(n, f, h, w, k) -> (k, w)>,
    affine_map<(n, f, h, w, k) -> (n, f, h, w)>] : ({H}, {W}) -> {S}""",
}
"""Images `s` of products of rows `x` and columns `w`."""


@dataclass(frozen=True)
class Case:
    """A layer and windows of what it gives."""

    layer: str
    window: Window
    extents: tuple[int, int]
    """Rows and columns of an image."""
    length: int
    """Number of products for each element."""
    filters: int

    @staticmethod
    def drawn(rng: np.random.Generator, layer: str) -> Case:
        """A random one with several elements in a window."""
        taps, strides = (tuple(map(int, rng.integers(1, 4, 2))) for _ in range(2))
        dilation = tuple(map(int, rng.integers(1, 3, 2)))
        padding = tuple(int(rng.integers(0, n)) for n in (*taps, *taps))
        extents = rng.integers(5, 8, 2)
        case = Case(
            layer,
            Window(taps, strides, padding, dilation),
            (int(extents[0]), int(extents[1])),
            int(rng.integers(2, 100)),
            int(rng.integers(2, 6)),
        )
        counts = case.window.count_window_elements(case.extents)
        return case if counts.all() and counts.max() > 1 else Case.drawn(rng, layer)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Rows, their length, and columns."""
        rows, columns = self.extents
        if self.layer == "an axis of each factor":
            return rows, self.length, columns
        return rows * columns, self.length, self.filters

    def program(self, element: str) -> str:
        """Sums of the windows."""
        rows, length, columns = self.sizes
        filters = 1 if (rows, columns) == self.extents else columns
        shapes = {
            "T": (length, rows),
            "I": (1, length, *self.extents),
            "V": (columns, length),
            "F": (columns, length, 1, 1),
            "B1": (columns,),
            "B3": (columns, 1, 1),
            "H": (1, 1, rows, length) if filters == 1 else (1, *self.extents, length),
            "S": (1, filters, *self.extents),
            "Z": (1, filters, *self.window.output_extents((1, 1, *self.extents))),
        }
        numbers = {
            "kernel": self.window.taps,
            "strides": self.window.strides,
            "padding": self.window.padding,
            "dilation": self.window.dilation,
        }
        told = " ".join(f"{name} {list(each)}" for name, each in numbers.items())
        pooled = f"\n  %y = graph.sum_pool2d %s {told} : ({{S}}) -> {{Z}}"
        return program(LAYERS[self.layer] + pooled, self.sizes, element, "Z", shapes)


@pytest.mark.one_in(10)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("seed", range(2 * SEEDS))
def test_errors(seed: int, layer: str):
    """At most four times the errors of the program as it was, against f64."""
    # 1,360 inputs of each layer.
    rng = np.random.default_rng([seed, len(layer)])
    for _ in range(2 * SHAPES):
        case = Case.drawn(rng, layer)
        _, exact = decomposed(case.program("f64"))
        _, whole = decomposed(case.program("bf16"))
        made = changed(case.program("bf16"))

        worst, usual = errors(exact, (made, whole), rng, case.sizes, "bf16")
        assert worst <= 4 * max(usual, 4 * UNIT["bf16"])
