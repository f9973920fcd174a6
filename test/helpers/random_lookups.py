"""Random programs that read values at indices computed by other values."""

from __future__ import annotations

import math

from graph_program import Program
from random_builder import Builder
from random_chains import RULES


def look_up(builder: Builder) -> None:
    """Add elements or slices of a value at indices, some of them out of bounds."""
    x = builder.value()
    if not x.shape:
        return
    axis = builder.random.randrange(len(x.shape))
    name = builder.random.choice(["take", "gather"])
    if name == "take":
        index_shape = builder.shape(builder.random.choice([0, 1, 1, 2]))
        shape = (*x.shape[:axis], *index_shape, *x.shape[axis + 1 :])
    else:
        extents = [builder.random.randint(1, extent) for extent in x.shape]
        extents[axis] = builder.extent()
        shape = index_shape = tuple(extents)
    if math.prod(shape) > builder.largest:
        return
    indices = builder.other(index_shape, builder.random.choice(["i32", "i64"]))
    text = f"graph.{name} {{}}, {{}} axis {axis}"
    bounds = (min(x.low, 0), max(x.high, 0))
    builder.add(text, [x, indices], shape, bounds, x.element, exact=True)


def random_lookup(seed: int, count: int = 8, largest: int = 400) -> Program:
    """Return the program of a seed: about `count` steps on up to `largest` elements."""
    return Builder(seed, largest).program((*RULES, *[look_up] * 12), count)
