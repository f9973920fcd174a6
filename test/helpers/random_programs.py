"""
Random programs of the graph dialect: every operation, on small shapes of odd extents.

Value ranges are tracked, so that no program overflows, divides by nearly zero, or takes
the root of a negative number. Only exact values are rounded to integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graph_program import Program, Value
from random_builder import BOUND, INTEGERS, Builder
from random_movement import (
    broadcast,
    concat,
    cut,
    images,
    iota,
    pad,
    pool,
    reshape,
    transpose,
    unfold,
)

FLOATS = ("f32", "f16", "bf16")
NUMBERS = (*FLOATS, *INTEGERS)


def unary(builder: Builder) -> None:
    """Add a function of each element."""
    x = builder.value(*FLOATS)
    functions: list[tuple[str, tuple[float, float]]] = [
        ("tanh {}", (-1, 1)),
        ("erf {}", (-1, 1)),
        ("sin {}", (-1, 1)),
        ("cos {}", (-1, 1)),
        ("sigmoid {}", (0, 1)),
        ("silu {}", (-0.3, max(0.0, x.high))),
        ("gelu {} <erf>", (-0.2, max(0.0, x.high))),
        ("gelu {} <tanh>", (-0.2, max(0.0, x.high))),
    ]
    if x.high < 4:
        functions.append(("exp {}", (math.exp(x.low), math.exp(x.high))))
    name, bounds = builder.random.choice(functions)
    builder.add(f"graph.{name}", [x], x.shape, bounds)


def root(builder: Builder) -> None:
    """Add a root, reciprocal root, logarithm or power of a positive value."""
    values = [*builder.arguments, *(step.result for step in builder.steps)]
    positive = [each for each in values if each.is_float and each.low > 0.01]
    if positive and builder.random.random() < 0.7:
        x = builder.random.choice(positive)
    else:
        element = builder.element if builder.element in FLOATS else "f32"
        x = builder.argument(builder.shape(), element, 0.25, 2.0)
    choice = builder.random.random()
    if choice < 0.3:
        bounds = (math.sqrt(x.low), math.sqrt(x.high))
        builder.add("graph.sqrt {}", [x], x.shape, bounds)
    elif choice < 0.5:
        bounds = (math.log(x.low), math.log(x.high))
        builder.add("graph.log {}", [x], x.shape, bounds)
    elif choice < 0.7:
        power(builder, x)
    else:
        builder.add("graph.rsqrt {}", [x], x.shape, (x.high**-0.5, x.low**-0.5))


def power(builder: Builder, x: Value) -> None:
    """Add a power of a positive value."""
    y = builder.other(x.shape[len(x.shape) // 2 :], x.element)
    values = [a**b for a in (x.low, x.high) for b in (y.low, y.high)]
    bounds = (min(values), max(values))
    builder.add("graph.pow {}, {}", [x, y], x.shape, bounds)


def rectify(builder: Builder) -> None:
    """Add a ReLU, a negation, a magnitude or a dropout."""
    choice = builder.random.random()
    if choice < 0.2:
        x = builder.value(*NUMBERS)
        builder.add("graph.neg {}", [x], x.shape, (-x.high, -x.low), exact=True)
    elif choice < 0.4:
        x = builder.value(*NUMBERS)
        builder.add("graph.abs {}", [x], x.shape, (0, x.bound), exact=True)
    elif choice < 0.6:
        x = builder.value()
        builder.add(
            "graph.dropout {} ratio 0.3", [x], x.shape, (x.low, x.high), exact=True
        )
    else:
        x = builder.value(*NUMBERS)
        bounds = (max(0, x.low), max(0, x.high))
        builder.add("graph.relu {}", [x], x.shape, bounds, exact=True)


def binary(builder: Builder) -> None:
    """Add a function of two elements, broadcast."""
    x = builder.value()
    dropped_axes = builder.random.randrange(len(x.shape) + 1)
    shape = [builder.random.choice([1, each, each]) for each in x.shape[dropped_axes:]]
    y = builder.other(builder.random.choice([x.shape, shape]), x.element)
    names = (
        ["mul", "maximum", "minimum", "and", "or"]
        if x.element == "i1"
        else ["add", "sub", "mul", "maximum", "minimum"]
    )
    if x.is_float and y.low > 0.05:
        names = ["div"]
    if builder.random.random() < 0.3 and "div" not in names:
        x, y = y, x
    name = builder.random.choice(names)
    ends = [(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    functions: dict[str, Callable[[float, float], float]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "maximum": max,
        "minimum": min,
        "and": min,
        "or": max,
    }
    values = [functions[name](*each) for each in ends]
    result = _broadcast(x.shape, y.shape)
    bounds = (min(values), max(values))
    builder.add(f"graph.{name} {{}}, {{}}", [x, y], result, bounds, exact=True)


def _broadcast(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    rank = max(len(left), len(right))
    left = (*[1] * (rank - len(left)), *left)
    right = (*[1] * (rank - len(right)), *right)
    return tuple(max(each) for each in zip(left, right, strict=True))


def cast(builder: Builder) -> None:
    """Add a cast to another element type."""
    x = builder.value()
    integer_types = [*INTEGERS, "i1"] if x.exact else []
    element = builder.random.choice([*FLOATS, *integer_types])
    bounds = (0, 1) if element == "i1" else (math.trunc(x.low), math.trunc(x.high))
    if element in FLOATS:
        bounds = (x.low, x.high)
    builder.add("graph.cast {}", [x], x.shape, bounds, element, exact=True)


def matmul(builder: Builder) -> None:
    """Add a matrix product of an existing value and another one."""
    x = builder.value(*NUMBERS)
    if len(x.shape) < 2:
        return
    *batch, _, depth = x.shape
    dropped_axes = builder.random.randrange(len(batch) + 1)
    lead = [builder.random.choice([1, each]) for each in batch[dropped_axes:]]
    y = builder.other([*lead, depth, builder.extent()], x.element)
    shape = (*x.shape[:-1], y.shape[-1])
    _accumulate(builder, "graph.matmul {}, {}", "", [x, y], shape, depth)


def _accumulate(
    builder: Builder,
    pattern: str,
    options: str,
    operands: list[Value],
    shape: Sequence[int],
    depth: int,
) -> None:
    """Add a contraction or a sum, perhaps with an init and a wide result."""
    element = operands[0].element
    acc = {"i64": "i64", "i32": "i32", "i8": "i32"}.get(element, "f32")
    result = builder.random.choice([element, element, acc])
    bound = depth * math.prod(each.bound for each in operands)
    if bound > BOUND or math.prod(shape) > builder.largest:
        return
    if builder.random.random() < 0.25:
        start = builder.other(shape, result)
        operands = [*operands, start]
        pattern += " init {}"
        bound += start.bound
    suffix = builder.maybe(f"acc {acc}") if result == element else f" acc {acc}"
    builder.add(f"{pattern}{options}{suffix}", operands, shape, (-bound, bound), result)


def contract(builder: Builder) -> None:
    """Add a sum of products with random maps."""
    x = builder.value(*NUMBERS)
    extents = dict(enumerate(x.shape))
    left = list(extents)
    right = [axis for axis in left if builder.random.random() < 0.6]
    for _ in range(builder.random.randrange(2)):
        right.append(len(extents))
        extents[right[-1]] = builder.extent()
    builder.random.shuffle(right)
    result = [axis for axis in extents if builder.random.random() < 0.6]
    builder.random.shuffle(result)
    y = builder.other([extents[axis] for axis in right], x.element)
    dims = ", ".join(f"d{axis}" for axis in extents)
    maps = ", ".join(
        f"affine_map<({dims}) -> ({', '.join(f'd{axis}' for axis in axes)})>"
        for axes in (left, right, result)
    )
    depth = math.prod(n for axis, n in extents.items() if axis not in result)
    shape = [extents[axis] for axis in result]
    _accumulate(
        builder, "graph.contract {}, {}", f" maps [{maps}]", [x, y], shape, depth
    )


def conv2d(builder: Builder) -> None:
    """Add a convolution of an existing value of rank 4, or of a new argument."""
    choose = builder.random.choice
    x = images(builder, *NUMBERS)
    groups = choose(
        [each for each in (1, 1, 1, 2, 3, x.shape[1]) if x.shape[1] % each == 0]
    )
    taps = [choose([1, 1, 2, 3]) for _ in range(2)]
    strides, dilation = ([choose([1, 1, 2, 3]) for _ in range(2)] for _ in range(2))
    padding = [choose([0, 0, 1, 2]) for _ in range(4)]
    channels = x.shape[1] // groups
    y = builder.other([groups * choose([1, 2, 3, 5]), channels, *taps], x.element)
    extents = [
        (x.shape[2 + i] + padding[i] + padding[2 + i] - dilation[i] * (taps[i] - 1) - 1)
        // strides[i]
        + 1
        for i in range(2)
    ]
    if min(extents) < 1:
        return
    options = (
        f" strides {strides} padding {padding} dilation {dilation} groups {groups}"
    )
    depth = channels * math.prod(taps)
    shape = (x.shape[0], y.shape[0], *extents)
    _accumulate(builder, "graph.conv2d {}, {}", options, [x, y], shape, depth)


def reduce(builder: Builder) -> None:
    """Add a sum, a product, a maximum or a minimum along axes."""
    x = builder.value(*NUMBERS)
    kind = builder.random.choice(["sum", "sum", "max", "min", "prod"])
    axes, keepdims, shape = _axes(builder, x)
    depth = math.prod(x.shape[axis] for axis in axes)
    text = f"graph.reduce {{}} <{kind}> axes {axes}{keepdims}"
    if kind in ("max", "min"):
        builder.add(text, [x], shape, (x.low, x.high), exact=True)
        return
    if kind == "prod":
        bound = math.exp(min(99.0, depth * math.log(max(1.0, x.bound))))
        builder.add(text, [x], shape, (-bound, bound))
        return
    options = f" axes {axes}{keepdims}"
    _accumulate(builder, "graph.reduce {} <sum>", options, [x], shape, depth)


def _axes(builder: Builder, x: Value) -> tuple[list[int], str, list[int]]:
    rank = len(x.shape)
    count = builder.random.randrange(min(rank, 1), rank + 1)
    axes = builder.random.sample(range(rank), count)
    if builder.random.random() < 0.5:
        shape = [1 if axis in axes else each for axis, each in enumerate(x.shape)]
        return axes, " keepdims", shape
    return axes, "", [each for axis, each in enumerate(x.shape) if axis not in axes]


def mean(builder: Builder) -> None:
    """Add a mean along axes."""
    x = builder.value(*FLOATS)
    axes, keepdims, shape = _axes(builder, x)
    text = f"graph.mean {{}} axes {axes}{keepdims}"
    builder.add(text, [x], shape, (x.low, x.high))


def softmax(builder: Builder) -> None:
    """Add a softmax along an axis."""
    x = builder.value(*FLOATS)
    if x.shape:
        axis = builder.random.randrange(len(x.shape))
        builder.add(f"graph.softmax {{}} axis {axis}", [x], x.shape, (0, 1))


def layer_norm(builder: Builder) -> None:
    """Add a normalization of rows, with or without weight and bias."""
    x = builder.value(*FLOATS)
    if not x.shape:
        return
    last = builder.random.randrange(1, len(x.shape) + 1)
    shape = x.shape[len(x.shape) - last :]
    kind = builder.random.choice(["layer", "rms"])
    text, operands = f"graph.{kind}_norm {{}}", [x]
    bound = math.sqrt(math.prod(shape))
    for name in ("weight", "bias") if kind == "layer" else ("weight",):
        if builder.random.random() < 0.6:
            element = builder.random.choice([x.element, "f32"])
            operands.append(builder.argument(shape, element))
            text += f" {name} {{}}"
    text += f" last {last} epsilon 1.0e-03"
    builder.add(text, operands, x.shape, (-bound - 1, bound + 1))


def batch_norm(builder: Builder) -> None:
    """Add a batch normalization, with or without weight and bias."""
    x = builder.value(*FLOATS)
    if len(x.shape) < 2:
        return
    text, operands = "graph.batch_norm {} mean {} variance {}", [x]
    element = builder.random.choice([x.element, "f32"])
    operands.append(builder.argument(x.shape[1:2], element))
    operands.append(builder.argument(x.shape[1:2], "f32", 0.5, 1.5))
    for name in ("weight", "bias"):
        if builder.random.random() < 0.6:
            operands.append(builder.argument(x.shape[1:2], x.element))
            text += f" {name} {{}}"
    bound = (x.bound + 1) * 1.5 + 1
    builder.add(f"{text} epsilon 1.0e-05", operands, x.shape, (-bound, bound))


def compare(builder: Builder) -> None:
    """Add a comparison of two elements; of floats, only if both are exact."""
    x = builder.value(*NUMBERS)
    y = builder.other(x.shape[builder.random.randrange(len(x.shape) + 1) :], x.element)
    relation = builder.random.choice(["eq", "ne", "lt", "le", "gt", "ge"])
    if x.exact and y.exact:
        text = f"graph.compare {{}}, {{}} <{relation}>"
        builder.add(text, [x, y], x.shape, (0, 1), "i1", exact=True)


def select(builder: Builder) -> None:
    """Add a select of one of two elements, or a logical negation."""
    condition = builder.value("i1")
    if builder.random.random() < 0.2:
        builder.add("graph.not {}", [condition], condition.shape, (0, 1))
        return
    x = builder.other(condition.shape, builder.element)
    y = builder.other([builder.random.choice([1, n]) for n in x.shape], x.element)
    operands = [x, y] if builder.random.random() < 0.5 else [y, x]
    bounds = (min(x.low, y.low), max(x.high, y.high))
    text = "graph.select {}, {}, {}"
    builder.add(text, [condition, *operands], x.shape, bounds, x.element, exact=True)


Rule = Callable[[Builder], None]

RULES: Sequence[Rule] = (
    unary,
    unary,
    root,
    rectify,
    binary,
    binary,
    binary,
    compare,
    select,
    cast,
    matmul,
    matmul,
    contract,
    conv2d,
    reduce,
    reduce,
    mean,
    softmax,
    layer_norm,
    batch_norm,
    reshape,
    transpose,
    broadcast,
    pad,
    cut,
    concat,
    iota,
    unfold,
    pool,
    pool,
)


def random_program(seed: int, count: int = 6, largest: int = 2000) -> Program:
    """
    Return the program of a seed: about `count` operations on up to `largest` elements.
    """
    return Builder(seed, largest).program(RULES, count)
