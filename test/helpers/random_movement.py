"""Rules of random programs for operations that move elements."""

from __future__ import annotations

import math

from graph_program import Value
from random_builder import INTEGERS, Builder


def reshape(builder: Builder) -> None:
    """Add a reshape."""
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
    """Add a transpose."""
    x = builder.value()
    order = builder.random.sample(range(len(x.shape)), len(x.shape))
    text = f"graph.transpose {{}} permutation {order}"
    shape = [x.shape[axis] for axis in order]
    builder.add(text, [x], shape, (x.low, x.high), exact=True)


def broadcast(builder: Builder) -> None:
    """Add a broadcast."""
    x = builder.value()
    shape = [builder.extent() if each == 1 else each for each in x.shape]
    if len(shape) < 4 and builder.random.random() < 0.6:
        shape.insert(0, builder.extent())
    builder.add("graph.broadcast {}", [x], shape, (x.low, x.high), exact=True)


def pad(builder: Builder) -> None:
    """Add a padding."""
    x = builder.value()
    low, high = ([builder.random.choice([0, 0, 1, 3]) for _ in x.shape] for _ in "ab")
    number = 0 if x.low > 0 else builder.random.choice([0, 1])
    fill = f"{number:e}" if x.is_float else str(number)
    text = f"graph.pad {{}} low {low} high {high} fill {fill}"
    shape = [sum(each) for each in zip(low, x.shape, high, strict=True)]
    bounds = (min(x.low, number), max(x.high, number))
    builder.add(text, [x], shape, bounds, exact=True)


def cut(builder: Builder) -> None:
    """Add a strided slice."""
    x = builder.value()
    offsets = [builder.random.randrange(each) for each in x.shape]
    strides = [builder.random.choice([1, 1, 2, 3]) for _ in x.shape]
    shape = [
        builder.random.randint(1, (extent - first - 1) // step + 1)
        for extent, first, step in zip(x.shape, offsets, strides, strict=True)
    ]
    text = f"graph.slice {{}} offsets {offsets} strides {strides}"
    builder.add(text, [x], shape, (x.low, x.high), exact=True)


def concat(builder: Builder) -> None:
    """Add a concatenation of several values."""
    x = builder.value()
    if not x.shape:
        return
    axis = builder.random.randrange(len(x.shape))
    operands = [x]
    for _ in range(builder.random.choice([1, 1, 2])):
        extent = builder.random.choice([x.shape[axis], builder.extent()])
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
        operands.append(builder.other(shape, x.element))
    total = sum(each.shape[axis] for each in operands)
    text = f"graph.concat {', '.join(['{}'] * len(operands))} axis {axis}"
    bounds = (min(each.low for each in operands), max(each.high for each in operands))
    shape = (*x.shape[:axis], total, *x.shape[axis + 1 :])
    builder.add(text, operands, shape, bounds, exact=True)


def iota(builder: Builder) -> None:
    """Add the sum of a value and the indices along an axis."""
    x = builder.value("i32", "f32")
    if not x.shape:
        return
    axis = builder.random.randrange(len(x.shape))
    high = x.shape[axis] - 1
    indices = builder.made(f"graph.iota axis {axis}", x.shape, x.element, (0, high))
    builder.add("graph.add {}, {}", [x, indices], x.shape, (x.low, x.high + high))


def unfold(builder: Builder) -> None:
    """Add windows along the last axis."""
    x = builder.value()
    if not x.shape or math.prod(x.shape) > 500:
        return
    *outer_extents, extent = x.shape
    taps, step, dilation = (builder.random.choice([1, 2, 3]) for _ in range(3))
    before = builder.random.choice([0, 1, 2])
    count = (extent + 2 * before - dilation * (taps - 1) - 1) // step + 1
    if count < 1:
        return
    names = [f"d{axis}" for axis in range(len(outer_extents))]
    last = f"o * {step} + k * {dilation} - {before}"
    fill = f"{1:e}" if x.is_float else "1"
    dims, indices = ", ".join([*names, "k", "o"]), ", ".join([*names, last])
    maps = f"affine_map<({dims}) -> ({indices})>"
    bounds = (min(x.low, 1), max(x.high, 1))
    text = f"graph.unfold {{}} map {maps} fill {fill}"
    builder.add(text, [x], [*outer_extents, taps, count], bounds, exact=True)


def im2col(builder: Builder) -> None:
    """Add windows along all axes, as the rows of a matrix or a vector."""
    x, choose = builder.value(), builder.random.choice
    if not x.shape or math.prod(x.shape) > 500 or len(x.shape) > 3:
        return
    rows: list[tuple[str, int]] = []
    columns: list[tuple[str, int]] = []
    indices: list[str] = []
    for axis, extent in enumerate(x.shape):
        taps, step, dilation = (choose([1, 1, 2, 3]) for _ in range(3))
        before = choose([0, 0, 1, 2])
        count = (extent + 2 * before - dilation * (taps - 1) - 1) // step + 1
        rows.append((f"o{axis}", max(1, count)))
        columns.append((f"k{axis}", taps))
        indices.append(f"o{axis} * {step} + k{axis} * {dilation} - {before}")
    if math.prod(count for _, count in rows + columns) > 2000:
        return
    builder.random.shuffle(columns)
    lists = choose([[rows, columns], [columns, rows], [rows + columns]])
    names = ", ".join(name for digits in lists for name, _ in digits)
    basis = [[count for _, count in digits] for digits in lists]
    fill = f"{1:e}" if x.is_float else "1"
    map_ = f"affine_map<({names}) -> ({', '.join(indices)})>"
    text = f"graph.im2col {{}} map {map_} basis {basis} fill {fill}"
    bounds = (min(x.low, 1), max(x.high, 1))
    builder.add(text, [x], list(map(math.prod, basis)), bounds, exact=True)


def pool(builder: Builder) -> None:
    """Add a maximum, sum or mean pooling."""
    x = images(builder, "f32", "f16", "bf16", *INTEGERS)
    choose = builder.random.choice
    taps, strides, dilation = (
        [choose(each) for _ in "hw"] for each in ([1, 2, 3], [1, 2, 3], [1, 1, 2])
    )
    padding = [choose([0, 0, 1]) for _ in range(4)]
    kind = choose(["max", "sum", "avg"] if x.is_float else ["max", "sum"])
    padding = [min(each, tap - 1) for each, tap in zip(padding, taps * 2, strict=True)]
    extents = [
        (x.shape[2 + n] + padding[n] + padding[2 + n] - dilation[n] * (taps[n] - 1) - 1)
        // strides[n]
        + 1
        for n in range(2)
    ]
    if min(extents) < 1 or (kind == "max" and max(dilation) > 1 and any(padding)):
        return
    options = f"kernel {taps} strides {strides} padding {padding} dilation {dilation}"
    if kind == "avg" and max(dilation) == 1:
        options += builder.maybe("exclude_padding")
    bound = x.bound * (math.prod(taps) if kind == "sum" else 1)
    bounds = (x.low, x.high) if kind == "max" else (-bound, bound)
    text = f"graph.{kind}_pool2d {{}} {options}"
    shape = (*x.shape[:2], *extents)
    builder.add(text, [x], shape, bounds, exact=kind == "max")


def images(builder: Builder, *elements: str) -> Value:
    """Return an existing value of rank 4, or a new argument."""
    choose = builder.random.choice
    values = [step.result for step in builder.steps] + builder.arguments
    candidates = [v for v in values if len(v.shape) == 4 and v.element in elements]
    if candidates and builder.random.random() < 0.8:
        return choose(candidates)
    shape = (
        choose([1, 2, 3]),
        choose([1, 2, 4, 6]),
        choose([3, 7, 9]),
        choose([3, 5, 8]),
    )
    element = builder.element if builder.element in elements else elements[0]
    return builder.argument(shape, element)
