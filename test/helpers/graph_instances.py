"""Building blocks of random instances of graph operations."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from numpy.random import Generator
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

Factory: TypeAlias = Callable[[Generator], Operation]


def value(shape: Sequence[int], element: Attribute = f32) -> SSAValue:
    """Return a tensor without a producer in the graph dialect."""
    return test.TestOp(result_types=[TensorType(element, shape)]).results[0]


def some_shape(rng: Generator, least: int = 0, most: int = 4) -> list[int]:
    """Return a random shape of `least` to `most` axes."""
    return [int(n) for n in rng.integers(1, 8, rng.integers(least, most + 1))]


def thinned(rng: Generator, shape: Sequence[int]) -> list[int]:
    """Return a random shape that broadcasts to `shape`."""
    extents = [n if rng.random() < 0.7 else 1 for n in shape]
    return extents[rng.integers(0, len(shape) + 1) :]


def some_axes(rng: Generator, rank: int) -> list[int]:
    """Return a random nonempty subset of `rank` axes."""
    count = rng.integers(1, rank + 1)
    return [int(axis) for axis in rng.permutation(rank)[:count]]


def coin(rng: Generator) -> bool:
    return bool(rng.random() < 0.5)


def unary(kind: Callable[[SSAValue], Operation], element: Attribute = f32) -> Factory:
    return lambda rng: kind(value(some_shape(rng), element))


def binary(
    kind: Callable[[SSAValue, SSAValue], Operation], element: Attribute = f32
) -> Factory:
    def build(rng: Generator) -> Operation:
        shape = some_shape(rng)
        shapes = [shape, thinned(rng, shape)]
        rng.shuffle(shapes)
        return kind(value(shapes[0], element), value(shapes[1], element))

    return build
