"""
Random programs with weights.

Contractions share an input, and are followed by additions, normalizations and
movements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from graph_program import Program, Value
from random_builder import INTEGERS, Builder
from random_movement import broadcast, concat, cut, images, reshape, transpose
from random_programs import (
    FLOATS,
    batch_norm,
    binary,
    cast,
    contract,
    conv2d,
    layer_norm,
    matmul,
    mean,
    reduce,
    softmax,
    unary,
)


def weight(
    builder: Builder,
    shape: Sequence[int],
    element: str,
    low: float = -1.0,
    high: float = 1.0,
) -> Value:
    """Add an argument, mostly a weight, or rarely a constant."""
    if builder.random.random() < 0.1 and element not in INTEGERS and low < 0:
        return builder.constant(tuple(shape), element)
    if element in INTEGERS:
        low, high = -8, 7
    name = f"a{len(builder.arguments)}"
    is_weight = builder.random.random() < 0.9
    value = Value(name, tuple(shape), element, low, high, parameter=is_weight)
    builder.arguments.append(value)
    return value


def moved(builder: Builder, x: Value) -> Value:
    """Return a weight, perhaps after movements or a product."""
    for _ in range(builder.random.choice([0, 0, 0, 1, 2])):
        kind = builder.random.choice(["t", "t", "r", "m", "s"])
        if kind == "t" and len(x.shape) > 1:
            back = [*range(len(x.shape))][::-1]
            source = weight(builder, x.shape[::-1], x.element)
            text = f"graph.transpose {{}} permutation {back}"
            builder.add(text, [source], x.shape, (source.low, source.high))
        elif kind == "r":
            source = weight(builder, [math.prod(x.shape)], x.element)
            builder.add("graph.reshape {}", [source], x.shape, (x.low, x.high))
        elif kind == "s" and x.shape:
            first = [builder.random.randrange(3) for _ in x.shape]
            steps = [builder.random.choice([1, 1, 2]) for _ in x.shape]
            source_shape = [
                offset + (n - 1) * step + 1 + builder.random.randrange(2)
                for n, offset, step in zip(x.shape, first, steps, strict=True)
            ]
            source = weight(builder, source_shape, x.element)
            text = f"graph.slice {{}} offsets {first} strides {steps}"
            builder.add(text, [source], x.shape, (x.low, x.high))
        else:
            other = weight(builder, x.shape, x.element)
            bounds = (-x.bound * other.bound, x.bound * other.bound)
            builder.add("graph.mul {}, {}", [x, other], x.shape, bounds)
        result = builder.steps[-1].result if builder.steps else x
        x = result if result.shape == x.shape and result.element == x.element else x
    return x


def last(builder: Builder, shape: Sequence[int], element: str) -> Value | None:
    """Return the result of the last step if it has the shape and element type."""
    if not builder.steps:
        return None
    result = builder.steps[-1].result
    return result if (result.shape, result.element) == (tuple(shape), element) else None


def follow(builder: Builder, x: Value, kinds: Sequence[str], channel: int) -> None:
    """Add operations after a contraction."""
    for kind in kinds:
        rank = len(x.shape)
        tail = [1] * (rank - channel - 1)
        if kind == "bias":
            lead = builder.random.choice([[], [], [1] * channel])
            shape = builder.random.choice([[x.shape[channel], *tail]] * 5 + [[], [1]])
            shape = [*lead, *shape] if len(shape) > len(tail) else shape
            y = moved(builder, weight(builder, shape, x.element))
            operands = builder.random.choice([[x, y], [x, y], [y, x]])
            bounds = (x.low + y.low, x.high + y.high)
            builder.add("graph.add {}, {}", operands, x.shape, bounds)
        elif kind == "relu":
            bounds = (max(0, x.low), max(0, x.high))
            builder.add("graph.relu {}", [x], x.shape, bounds)
        elif kind == "scale":
            shape = builder.random.choice([[], [x.shape[channel], *tail], [1]])
            y = weight(builder, shape, x.element)
            bound = x.bound * y.bound
            builder.add("graph.mul {}, {}", [x, y], x.shape, (-bound, bound))
        elif kind == "tanh" and x.is_float:
            builder.add("graph.tanh {}", [x], x.shape, (-1, 1))
        elif kind == "norm" and x.is_float and rank > 1:
            normalize(builder, x)
        elif kind == "split":
            split(builder, x)
        elif kind == "cast" and x.is_float:
            element = builder.random.choice(FLOATS)
            if element != x.element:
                bounds = (x.low, x.high)
                builder.add("graph.cast {}", [x], x.shape, bounds, element)
        if builder.steps and builder.steps[-1].operands.count(x):
            x = builder.steps[-1].result


def split(builder: Builder, x: Value) -> None:
    """Add a reshape that splits an axis into two."""
    axis = builder.random.randrange(len(x.shape))
    extent = x.shape[axis]
    divisors = [n for n in range(1, extent + 1) if extent % n == 0]
    divisor = builder.random.choice(divisors)
    shape = (*x.shape[:axis], extent // divisor, divisor, *x.shape[axis + 1 :])
    builder.add("graph.reshape {}", [x], shape, (x.low, x.high))


def normalize(builder: Builder, x: Value) -> None:
    """Add a batch normalization with weights."""
    channels = x.shape[1:2]
    element = builder.random.choice([x.element, "f32"])
    operands = [x, moved(builder, weight(builder, channels, element))]
    operands.append(weight(builder, channels, "f32", 0.5, 1.5))
    text = "graph.batch_norm {} mean {} variance {}"
    for name in ("weight", "bias"):
        if builder.random.random() < 0.6:
            operands.append(weight(builder, channels, element))
            text += f" {name} {{}}"
    bound = (x.bound + 1) * 1.5 + 1
    builder.add(f"{text} epsilon 1.0e-05", operands, x.shape, (-bound, bound))


STEPS = ("bias", "bias", "relu", "scale", "tanh", "norm", "split", "cast")


def products(builder: Builder) -> None:
    """Add several products of one value with weights."""
    x = builder.value(*FLOATS)
    if len(x.shape) < 2:
        return
    choose = builder.random.choice
    count = choose([1, 2, 2, 3])
    kinds = [choose(STEPS) for _ in range(choose([0, 1, 2, 3]))]
    flip, lead = choose([False, False, True]), choose([False, False, True])
    shared = builder.extent()
    same = choose([True, False])
    for _ in range(count):
        width = shared if same else builder.extent()
        depth = x.shape[-2 if flip else -1]
        batch = [*x.shape[:-2]] if lead else []
        matrix_shape = [width, depth] if flip else [depth, width]
        y = moved(builder, weight(builder, [*batch, *matrix_shape], x.element))
        operands = [y, x] if flip else [x, y]
        shape = (*x.shape[:-2], width, x.shape[-1]) if flip else (*x.shape[:-1], width)
        bound = depth * x.bound * y.bound
        if math.prod(shape) > builder.largest or bound > 900:
            return
        builder.add("graph.matmul {}, {}", operands, shape, (-bound, bound))
        if (result := last(builder, shape, x.element)) is None:
            return
        following = kinds if choose([True, True, False]) else kinds[:-1]
        follow(builder, result, following, len(shape) - (2 if flip else 1))


def convolutions(builder: Builder) -> None:
    """Add several convolutions of one value with weights."""
    choose = builder.random.choice
    x = images(builder, *FLOATS)
    groups = choose([n for n in (1, 1, 2, 3) if x.shape[1] % n == 0])
    kinds = [choose(STEPS) for _ in range(choose([0, 1, 2, 3]))]
    taps, step = choose([1, 1, 2, 3]), choose([1, 1, 2])
    for _ in range(choose([1, 2, 2])):
        channels = x.shape[1] // groups
        shape = [groups * choose([1, 2, 3]), channels, taps, taps]
        y = moved(builder, weight(builder, shape, x.element))
        extents = [(each - taps) // step + 1 for each in x.shape[2:]]
        bound = x.bound * y.bound * channels * taps * taps
        if min(extents) < 1 or bound > 900:
            return
        text = (
            f"graph.conv2d {{}}, {{}} strides [{step}, {step}] padding [0, 0, 0, 0]"
            f" dilation [1, 1] groups {groups}"
        )
        result = (x.shape[0], y.shape[0], *extents)
        builder.add(text, [x, y], result, (-bound, bound))
        if (output := last(builder, result, x.element)) is None:
            return
        follow(builder, output, kinds, 1)


def halves(builder: Builder) -> None:
    """Add slices of a value, perhaps nested, and perhaps with a reshape between."""
    cut(builder)
    if builder.random.random() < 0.5:
        x = builder.steps[-1].result if builder.steps else builder.value()
        if x.shape:
            split(builder, x)
    if builder.random.random() < 0.4:
        cut(builder)


def normalization(builder: Builder) -> None:
    """Add a batch normalization of any value."""
    x = builder.value(*FLOATS)
    if len(x.shape) > 1:
        normalize(builder, x)


def tall(builder: Builder) -> None:
    """Add a reshape that inserts an axis of extent 1."""
    x = builder.value()
    axis = builder.random.randrange(len(x.shape) + 1)
    shape = (*x.shape[:axis], 1, *x.shape[axis:])
    builder.add("graph.reshape {}", [x], shape, (x.low, x.high))


RULES = (
    *(products, products, products, convolutions, convolutions, convolutions),
    *(halves, halves, halves, normalization, tall, cut, transpose, reshape),
    *(matmul, contract, conv2d, unary, binary, binary, cast, reduce, softmax, mean),
    *(broadcast, concat, layer_norm, batch_norm),
)


def random_weighted(seed: int, count: int = 6, largest: int = 2000) -> Program:
    """
    Return the program of a seed: about `count` operations on up to `largest` elements.
    """
    return Builder(seed, largest).program(RULES, count)
