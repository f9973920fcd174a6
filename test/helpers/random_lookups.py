"""Random programs that read their values where other values say."""

from __future__ import annotations

import math

from graph_program import Program
from random_builder import Builder
from random_chains import RULES


def look_up(builder: Builder) -> None:
    """Elements or slices of a value at indices, some of which are outside."""
    x = builder.value()
    if not x.shape:
        return
    axis = builder.random.randrange(len(x.shape))
    name = builder.random.choice(["take", "gather"])
    if name == "take":
        part = builder.shape(builder.random.choice([0, 1, 1, 2]))
        shape = (*x.shape[:axis], *part, *x.shape[axis + 1 :])
    else:
        within = [builder.random.randint(1, extent) for extent in x.shape]
        within[axis] = builder.extent()
        shape = part = tuple(within)
    if math.prod(shape) > builder.largest:
        return
    indices = builder.other(part, builder.random.choice(["i32", "i64"]))
    text = f"graph.{name} {{}}, {{}} axis {axis}"
    bounds = (min(x.low, 0), max(x.high, 0))
    builder.add(text, [x, indices], shape, bounds, x.element, exact=True)


def random_lookup(seed: int, count: int = 8, largest: int = 400) -> Program:
    """The program of a seed: about `count` steps on up to `largest` elements."""
    return Builder(seed, largest).program((*RULES, *[look_up] * 12), count)
