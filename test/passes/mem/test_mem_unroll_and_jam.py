"""
Tiles of alternating elements: reductions over windows whose plans unroll a loop, with
the results of the reference after every pass and in Triton's interpreter.
"""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from every_stage import check
from indexed_programs import DTYPES, shaped


@dataclass(frozen=True)
class Windows:
    """Windows that slide along rows of images with channels last."""

    element: str
    images: int
    rows: int
    columns: int
    channels: int
    taps: tuple[int, int]
    step: int
    dilation: int
    padding: int

    @staticmethod
    def draw(generator: random.Random, element: str, factor: int) -> "Windows":
        """Return windows whose number per row is a multiple of a factor."""
        return Windows(
            element,
            images=generator.randint(1, 2),
            rows=generator.randint(1, 5),
            columns=factor * generator.randint(1, 4),
            channels=generator.choice((1, 8, 20, 32)),
            taps=(generator.randint(1, 3), generator.randint(2, 4)),
            step=generator.randint(1, 2),
            dilation=generator.randint(1, 2),
            padding=generator.randint(0, 1),
        )

    @property
    def source(self) -> tuple[int, ...]:
        """Shape of the images, without their padding."""
        spans = [(each - 1) * self.dilation + 1 for each in self.taps]
        extents = [
            (count - 1) * self.step + span - 2 * self.padding
            for count, span in zip((self.rows, self.columns), spans, strict=True)
        ]
        return self.images, *(max(1, each) for each in extents), self.channels

    @property
    def row_count(self) -> int:
        """Number of windows."""
        return self.images * self.rows * self.columns

    @property
    def accumulator(self) -> str:
        """Element type of results."""
        return "f32" if "f" in self.element else self.element

    def program(self, kind: str, tile: tuple[int, int], factor: int) -> str:
        """
        Return a group that adds or compares the elements of windows, and multiplies
        the results with a tensor that differs from row to row.
        """
        rows, channels = self.row_count, self.channels
        taps = self.taps[0] * self.taps[1]
        x = shaped(self.source, self.element)
        u = shaped((rows, taps, channels), self.element)
        v, y = (
            shaped(shape, self.accumulator)
            for shape in ((rows, taps, channels), (rows, channels))
        )
        fill = "0.0" if "f" in self.element else "0"
        step, dilation, start = self.step, self.dilation, -self.padding
        basis = [[self.images, self.rows, self.columns], [*self.taps], [channels]]
        wide = f"%v = graph.cast %u : ({u}) -> {v}" if u != v else ""
        return f"""
func.func @f(%x: {x}, %s: {y}) -> {y} {{
  %r = graph.group ins(%a = %x, %b = %s : {x}, {y})
      plan #graph.plan<L1, tile {list(tile)}, reduce [1], mapping grid,
                       unroll [{factor}, 1]> -> ({y}) {{
    %u = graph.im2col %a map affine_map<(n, h, w, p, q, c)
        -> (n, h * {step} + p * {dilation} + {start},
            w * {step} + q * {dilation} + {start}, c)>
        basis {basis} fill {fill} : ({x}) -> {u}
    {wide}
    %t = graph.reduce {"%v" if wide else "%u"} <{kind}> axes [1] : ({v}) -> {y}
    %z = graph.mul %t, %b : {y}
    graph.yield %z : {y}
  }}
  func.return %r : {y}
}}"""

    def inputs(self, kind: str, seed: int) -> dict[str, np.ndarray]:
        """
        Return random images and factors: small whole numbers, whose sums are exact in
        any order, and for maxima also infinities and NaN.
        """
        generator = np.random.default_rng(seed)
        numbers = [*range(1, 9), *range(-8, 0)]
        if kind == "max" and "f" in self.element:
            numbers = [*numbers, np.nan, np.inf, -np.inf]
        return {
            name: generator.choice(np.array(numbers).astype(DTYPES[element]), shape)
            for name, shape, element in (
                ("x", self.source, self.element),
                ("s", (self.row_count, self.channels), self.accumulator),
            )
        }


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(24))
def test_random_windows(seed: int):
    generator = random.Random(seed)
    factor = generator.randint(2, 5)
    windows = Windows.draw(generator, ("f32", "f16", "bf16", "i32")[seed % 4], factor)
    kind = generator.choice(("sum", "max"))
    tile = generator.choice((4, 8)), generator.choice((8, 32))
    check(windows.program(kind, tile, factor), windows.inputs(kind, seed))
