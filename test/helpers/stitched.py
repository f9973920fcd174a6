"""
Results assembled from tiles of one or two levels.

The writes of each element are counted iteration by iteration, independently of the
compiler.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Kind: TypeAlias = Literal["parallel", "sequential"]


@dataclass(frozen=True)
class Level:
    """Loops, one per axis, and the box that an iteration writes to a tensor."""

    kind: Kind
    bounds: tuple[tuple[int, int, int], ...]
    factors: tuple[int, ...]
    summands: tuple[int, ...]
    tile: tuple[int, ...]
    valid: tuple[int, ...]
    swapped: bool = False
    """True if axes follow the loops in reverse order."""

    def boxes(self, shape: Sequence[int]) -> Iterator[tuple[slice, ...]]:
        """Yield the box of a tensor that each iteration writes."""
        for point in product(*(range(*each) for each in self.bounds)):
            box: list[slice] = []
            for axis, bound in enumerate(shape):
                start = (
                    self.factors[axis] * point[self.loop(axis)] + self.summands[axis]
                )
                last = min(bound, start + self.valid[axis])
                box.append(slice(max(0, start), max(0, start, last)))
            yield tuple(box)

    def loop(self, axis: int) -> int:
        """Return the index of the loop that an axis follows."""
        return len(self.bounds) - 1 - axis if self.swapped else axis

    def counts(self, shape: Sequence[int]) -> NDArray[np.int64]:
        """Return the number of writes of each element."""
        writes = np.zeros(shape, np.int64)
        for box in self.boxes(shape):
            writes[box] += 1
        return writes


@dataclass(frozen=True)
class Stitched:
    """
    Result assembled from tiles, which a second level assembles from smaller tiles.
    """

    shape: tuple[int, ...]
    levels: tuple[Level, ...]

    def collides(self) -> bool:
        """Return `True` if parallel iterations write the same element."""
        shapes = (self.shape, *(level.tile for level in self.levels))
        return any(
            level.kind == "parallel" and bool((level.counts(shape) > 1).any())
            for level, shape in zip(self.levels, shapes, strict=False)
        )

    def leaves_out(self) -> bool:
        """Return `True` if no tile writes some element of the result or of a tile."""
        shapes = (self.shape, *(level.tile for level in self.levels))
        return any(
            bool((level.counts(shape) == 0).any())
            for level, shape in zip(self.levels, shapes, strict=False)
        )

    def text(self) -> str:
        """Return the program: the function `exp`, tile by tile."""
        tensor_type = _type(self.shape)
        lines = [
            f"func.func @f(%x: {tensor_type}) -> {tensor_type} {{",
            *self._nest(0, "%x"),
        ]
        return "\n".join((*lines, f"func.return %r0 : {tensor_type}", "}"))

    def _nest(self, number: int, source: str) -> list[str]:
        level, names = self.levels[number], f"L{len(self.levels) - number}"
        shape = self.levels[number - 1].tile if number else self.shape
        into = _type(shape, f"L{len(self.levels) - number + 1}" if number else "")
        tile = _type(level.tile, names)
        loops = ", ".join(
            f"%i{number}{axis} = {low} to {high} step {step}"
            for axis, (low, high, step) in enumerate(level.bounds)
        )
        offsets = [f"%o{number}{axis}" for axis in range(len(shape))]
        applied = [
            f"{name} = affine.apply affine_map<(d0) -> (d0 * {level.factors[axis]} + "
            f"{level.summands[axis]})>(%i{number}{level.loop(axis)})"
            for axis, name in enumerate(offsets)
        ]
        start = ", ".join(offsets)
        valid = ", ".join(str(extent) for extent in level.valid)
        keyword = "into" if level.kind == "parallel" else "carry"
        inner = (
            [f"%r{number + 1} = graph.exp %t{number} : {tile}"]
            if number + 1 == len(self.levels)
            else self._nest(number + 1, f"%t{number}")
        )
        return [
            f"%e{number} = tile.empty : {into}",
            f"%r{number} = tile.while ({loops}) {level.kind} mapping(loop) "
            f"{keyword}(%c{number} = %e{number} : {into}) {{",
            *applied,
            f"%t{number} = tile.slice {source}[{start}] fill 0.0 : f32 : "
            f"{into} -> {tile}",
            *inner,
            f"%n{number} = tile.deslice %r{number + 1} into %c{number}[{start}] "
            f"valid [{valid}] : {tile} into {into}",
            f"tile.yield %n{number} : {into}",
            "}",
        ]


def _type(shape: Sequence[int], level: str = "") -> str:
    extents = "x".join(str(extent) for extent in shape)
    return f"tensor<{extents}xf32{f', #tile.encoding<{level}>' if level else ''}>"


def random_stitched(generator: random.Random) -> Stitched:
    """Return tilings that are correct, or wrong in one or two numbers."""
    rank = generator.choice([1, 2, 2, 3])
    shape = tuple(generator.randint(1, 11) for _ in range(rank))
    levels: list[Level] = []
    inner = shape
    for _ in range(generator.choice([1, 1, 2])):
        levels.append(_level(generator, inner))
        inner = levels[-1].tile
    return Stitched(shape, tuple(levels))


def _level(generator: random.Random, shape: Sequence[int]) -> Level:
    rank = len(shape)
    tile = tuple(generator.randint(1, extent) for extent in shape)
    swapped = rank > 1 and generator.random() < 0.3
    order = range(rank)[::-1] if swapped else range(rank)
    bounds: list[tuple[int, int, int]] = [(0, 0, 1)] * rank
    factors, summands = [1] * rank, [0] * rank
    for axis, loop in enumerate(order):
        factors[axis] = generator.choice([1, 1, 1, 2, tile[axis]])
        step = max(1, tile[axis] // factors[axis])
        low = generator.choice([0, 0, 1, 3])
        count = -(-shape[axis] // (step * factors[axis]))
        last = low + step * count - generator.randrange(step)
        bounds[loop] = (low, last, step)
        summands[axis] = -low * factors[axis]
    valid = list(tile)
    if generator.random() < 0.3:
        axis = generator.randrange(rank)
        valid[axis] = generator.randint(1, tile[axis])
    if generator.random() < 0.3:
        summands[generator.randrange(rank)] += generator.choice([-2, -1, 1, 2])
    if generator.random() < 0.3:
        loop = generator.randrange(rank)
        low, high, step = bounds[loop]
        bounds[loop] = (low, high + generator.choice([-1, 1, 2]), step)
    kind: Kind = generator.choice(["parallel", "parallel", "sequential"])
    return Level(
        kind,
        tuple(bounds),
        tuple(factors),
        tuple(summands),
        tile,
        tuple(valid),
        swapped,
    )
