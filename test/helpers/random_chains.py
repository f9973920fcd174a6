"""
Random programs that mostly move elements.

Slices of one value are rearranged, between a few operations that compute.
"""

from __future__ import annotations

import math

from graph_program import Program, Value
from random_builder import EXTENTS, Builder
from random_movement import (
    broadcast,
    concat,
    cut,
    pad,
    reshape,
    transpose,
    unfold,
)
from random_programs import binary, matmul, rectify, reduce, softmax, unary


def part(
    builder: Builder, x: Value, axis: int, first: int, count: int, step: int = 1
) -> Value:
    """Add a slice of `count` elements along an axis, and all along the others."""
    offsets = [first if each == axis else 0 for each in range(len(x.shape))]
    strides = [step if each == axis else 1 for each in range(len(x.shape))]
    shape = [*x.shape]
    shape[axis] = count
    text = f"graph.slice {{}} offsets {offsets} strides {strides}"
    builder.add(text, [x], shape, (x.low, x.high), exact=True)
    return builder.steps[-1].result


def joined(builder: Builder, parts: list[Value], axis: int) -> Value:
    """Add a concatenation of values."""
    text = f"graph.concat {', '.join(['{}'] * len(parts))} axis {axis}"
    shape = [*parts[0].shape]
    shape[axis] = sum(each.shape[axis] for each in parts)
    bounds = (min(each.low for each in parts), max(each.high for each in parts))
    builder.add(text, parts, shape, bounds, exact=True)
    return builder.steps[-1].result


def movable(builder: Builder) -> tuple[Value, int] | None:
    """Return a value and one of its axes with more than one element."""
    x = builder.value()
    axes = [axis for axis, extent in enumerate(x.shape) if extent > 1]
    if not axes or math.prod(x.shape) > builder.largest:
        return None
    return x, builder.random.choice(axes)


def roll(builder: Builder) -> None:
    """Add a rotation along one axis, or along all."""
    if (operand := movable(builder)) is None:
        return
    x, axis = operand
    everywhere = builder.random.random() < 0.5
    for each in range(len(x.shape)) if everywhere else [axis]:
        if (extent := x.shape[each]) > 1:
            offset = builder.random.randrange(1, extent)
            parts = [part(builder, x, each, offset, extent - offset)]
            parts.append(part(builder, x, each, 0, offset))
            x = joined(builder, parts, each)


def deal(builder: Builder) -> None:
    """Add every second element followed by the others, or the maximum of both."""
    if (operand := movable(builder)) is None:
        return
    x, axis = operand
    extent = x.shape[axis]
    even = part(builder, x, axis, 0, (extent + 1) // 2, 2)
    odd = part(builder, x, axis, 1, extent // 2, 2)
    if even.shape == odd.shape and builder.random.random() < 0.4:
        bounds = (min(even.low, odd.low), max(even.high, odd.high))
        builder.add("graph.maximum {}, {}", [even, odd], even.shape, bounds, exact=True)
        return
    joined(builder, [even, odd], axis)


def rotate(builder: Builder) -> None:
    """
    Add the swapped halves of an axis, one of them negated, as in rotary embeddings.
    """
    if (operand := movable(builder)) is None:
        return
    x, axis = operand
    half = x.shape[axis] // 2
    upper = part(builder, x, axis, half, x.shape[axis] - half)
    if upper.element != "i1":
        bounds = (-upper.high, -upper.low)
        builder.add("graph.neg {}", [upper], upper.shape, bounds, exact=True)
        upper = builder.steps[-1].result
    rotated = joined(builder, [upper, part(builder, x, axis, 0, half)], axis)
    if x.is_float and x.bound < 50:
        bounds = (x.low + rotated.low, x.high + rotated.high)
        builder.add("graph.add {}, {}", [x, rotated], x.shape, bounds, exact=True)


def neighbours(builder: Builder) -> None:
    """Add the difference of adjacent elements along an axis."""
    if (operand := movable(builder)) is None:
        return
    x, axis = operand
    count = x.shape[axis] - 1
    if x.element == "i1" or x.bound > 50:
        return
    before = part(builder, x, axis, 0, count)
    after = part(builder, x, axis, 1, count)
    bound = x.high - x.low
    builder.add(
        "graph.sub {}, {}", [after, before], after.shape, (-bound, bound), exact=True
    )


def stack(builder: Builder) -> None:
    """Add the concatenation of a value and another one of its shape."""
    if (operand := movable(builder)) is None:
        return
    x, axis = operand
    parts = [x, builder.other(x.shape, x.element)]
    builder.random.shuffle(parts)
    if 2 * math.prod(x.shape) <= builder.largest:
        joined(builder, parts, axis)


def gather(builder: Builder) -> None:
    """Add elements at a random affine map: diagonals, repetitions, windows."""
    x = builder.value()
    rank = builder.random.randrange(1, 4)
    shape = [builder.random.choice(EXTENTS[:6]) for _ in range(rank)]
    indices: list[str] = []
    for extent in x.shape:
        terms = [
            f"d{builder.random.randrange(rank)} * {builder.random.choice([1, 1, 2])}"
            for _ in range(builder.random.choice([0, 1, 1, 1, 2]))
        ]
        offset = builder.random.choice([0, 0, builder.random.randrange(extent)])
        indices.append(" + ".join([*terms, str(offset - len(terms) // 2)]))
    dims = ", ".join(f"d{axis}" for axis in range(rank))
    map_ = f"affine_map<({dims}) -> ({', '.join(indices)})>"
    text = f"graph.unfold {{}} map {map_} fill {f'{1:e}' if x.is_float else '1'}"
    builder.add(text, [x], shape, (min(x.low, 1), max(x.high, 1)), exact=True)


MOVEMENTS = (
    *(roll, roll, deal, rotate, neighbours, stack, gather, gather),
    *(cut, pad, concat, reshape, transpose, broadcast, unfold),
)

RULES = (*MOVEMENTS, *MOVEMENTS, unary, rectify, binary, binary, reduce, softmax)


def random_chain(seed: int, count: int = 8, largest: int = 400) -> Program:
    """Return the program of a seed: about `count` steps on up to `largest` elements."""
    builder = Builder(seed, largest)
    if builder.element not in ("f32", "f16", "bf16"):
        return builder.program(RULES, count)
    return builder.program((*RULES, matmul), count)
