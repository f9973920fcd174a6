"""Programs that read tensors where indices say, with their inputs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tlf.dialects.interfaces import Array
from tlf.dialects.types import ELEMENT_TYPES, dtype_of

DTYPES = {str(element): dtype_of(element) for element in ELEMENT_TYPES}
"""The dtypes of all element types, by their names."""

FLOATS = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, 1.5, -3.25]
"""Values that are easily lost on the way."""


def shaped(shape: Sequence[int], element: str) -> str:
    """The text of a tensor type."""
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


@dataclass(frozen=True)
class Lookup:
    """An operation that reads a table by indices: its name, shapes and types."""

    name: str
    table: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int
    element: str = "f32"
    index: str = "i64"

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the result."""
        if self.name == "gather":
            return self.indices
        before, behind = self.table[: self.axis], self.table[self.axis + 1 :]
        return (*before, *self.indices, *behind)

    @property
    def text(self) -> str:
        """A program of this operation alone."""
        table, indices = (
            shaped(self.table, self.element),
            shaped(self.indices, self.index),
        )
        result = shaped(self.result, self.element)
        return f"""
func.func @main(%t: {table}, %n: {indices}) -> {result} {{
  %y = graph.{self.name} %t, %n axis {self.axis} : ({table}, {indices}) -> {result}
  func.return %y : {result}
}}
"""

    def inputs(self, rng: Generator) -> dict[str, Array]:
        """A table of special values, and indices of which some are outside."""
        return {
            "t": some_table(rng, self.table, self.element),
            "n": some_indices(rng, self.indices, self.index, self.table[self.axis]),
        }


def some_table(rng: Generator, shape: Sequence[int], element: str) -> Array:
    """Random values of an element type, and its special ones."""
    dtype = DTYPES[element]
    if dtype.kind == "b":
        return rng.random(tuple(shape)) < 0.5
    if dtype.kind == "i":
        limits = np.iinfo(dtype.name)
        values = rng.integers(limits.min, limits.max, tuple(shape), dtype.name, True)
        return np.asarray(values)
    values = rng.standard_normal(tuple(shape))
    special = rng.choice(FLOATS, tuple(shape))
    return np.where(rng.random(tuple(shape)) < 0.3, special, values).astype(dtype)


def some_indices(
    rng: Generator, shape: Sequence[int], index: str, extent: int
) -> Array:
    """Indices of an axis, with some before it, behind it, and far away."""
    dtype = DTYPES[index]
    limits = np.iinfo(dtype.name)
    inside = rng.integers(0, extent, tuple(shape))
    outside = rng.choice([-1, extent, limits.min, limits.max, -extent], tuple(shape))
    return np.where(rng.random(tuple(shape)) < 0.3, outside, inside).astype(dtype)
