"""Rules of random programs for operations that move elements."""

from __future__ import annotations

import math

from random_builder import Builder


def reshape(builder: Builder) -> None:
    """Another shape of as many elements."""
    x = builder.value()
    rest, shape = math.prod(x.shape), list[int]()
    for _ in range(builder.random.randrange(4)):
        divisors = [each for each in range(1, min(rest, 64) + 1) if rest % each == 0]
        shape.append(builder.random.choice(divisors))
        rest //= shape[-1]
    if rest > 1 or builder.random.random() < 0.3:
        shape.insert(builder.random.randrange(len(shape) + 1), rest)
    builder.add("graph.reshape {}", [x], shape, (x.low, x.high), exact=True)


def transpose(builder: Builder) -> None:
    """Another order of axes."""
    x = builder.value()
    order = builder.random.sample(range(len(x.shape)), len(x.shape))
    text = f"graph.transpose {{}} permutation {order}"
    shape = [x.shape[axis] for axis in order]
    builder.add(text, [x], shape, (x.low, x.high), exact=True)


def broadcast(builder: Builder) -> None:
    """More of the same."""
    x = builder.value()
    shape = [builder.extent() if each == 1 else each for each in x.shape]
    if len(shape) < 4 and builder.random.random() < 0.6:
        shape.insert(0, builder.extent())
    builder.add("graph.broadcast {}", [x], shape, (x.low, x.high), exact=True)
