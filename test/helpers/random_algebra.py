"""Random programs with redundant scalars, negations, casts and movements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graph_program import Program, Step, Value
from random_builder import INTEGERS, Builder
from random_movement import broadcast, cut, reshape, transpose

FLOATS = ("f32", "f16", "bf16")
CASTS = ("f64", *FLOATS, *INTEGERS, "i1")
BOUNDS = (-1.0, 1.0)


def _number(builder: Builder, element: str, scalar: float) -> Value:
    """Add a constant scalar; numpy treats it as a number, not as a tensor."""
    value = Value(f"n{len(builder.steps)}", (), element)
    text = str(scalar) if element in (*FLOATS, "f64") else str(int(scalar))
    if element == "i1":
        text = "true" if scalar else "false"
    builder.steps.append(Step(value, f"graph.constant dense<{text}>", ()))
    return value


def of_number(builder: Builder) -> None:
    """Add an operation with a scalar operand, often an identity."""
    x = builder.value(*FLOATS, *INTEGERS)
    names = ["add", "sub", "mul", "div", "maximum", "minimum"]
    if x.is_float:
        names.append("pow")
    name = builder.random.choice(names)
    numbers = [0.0, 1.0, -1.0, 2.0, 4.0, 3.0] + [-0.0, 0.5] * x.is_float
    scalar = builder.random.choice(numbers)
    if name == "pow" and len(x.shape) == 0:
        return
    if name == "pow" and scalar not in (0.0, 1.0, 3.0):
        scalar = 1.0
    operands = [x, _number(builder, x.element, scalar)]
    if builder.random.random() < 0.3 and name != "pow":
        operands.reverse()
    builder.add(f"graph.{name} {{}}, {{}}", operands, x.shape, BOUNDS)


def of_two(builder: Builder) -> None:
    """Add an operation of two values, or of a value and itself."""
    x = builder.value(*FLOATS, *INTEGERS)
    y = builder.random.choice([x, builder.other(x.shape, x.element)])
    names = ["add", "sub", "mul", "maximum", "minimum"]
    name = builder.random.choice(names if x.is_float else [*names, "and", "or", "rem"])
    builder.add(f"graph.{name} {{}}, {{}}", [x, y], x.shape, BOUNDS)


def function(builder: Builder) -> None:
    """Add a function that is often an involution or idempotent."""
    x = builder.value(*FLOATS, *INTEGERS)
    names = ["neg", "neg", "abs", "relu"]
    names += ["floor", "ceil", "round", "trunc"] if x.is_float else ["not", "not"]
    name = builder.random.choice(names)
    builder.add(f"graph.{name} {{}}", [x], x.shape, BOUNDS)


def convert(builder: Builder) -> None:
    """Add a cast, but none from floats to integers, which could overflow."""
    x = builder.value()
    element = builder.random.choice(CASTS)
    if x.element in (*FLOATS, "f64") and element in INTEGERS:
        return
    builder.add("graph.cast {}", [x], x.shape, BOUNDS, element)


def choose(builder: Builder) -> None:
    """Add a comparison, perhaps its negation, and a select by it."""
    x = builder.value(*FLOATS, *INTEGERS)
    y = builder.random.choice([x, builder.other(x.shape, x.element)])
    relation = builder.random.choice(["eq", "ne", "lt", "le", "gt", "ge"])
    text = f"graph.compare {{}}, {{}} <{relation}>"
    builder.add(text, [x, y], x.shape, (0, 1), "i1")
    condition = builder.value("i1")
    if builder.random.random() < 0.5:
        builder.add("graph.not {}", [condition], condition.shape, (0, 1))
        condition = builder.value("i1")
    if condition.shape == x.shape:
        operands = [condition, x, builder.random.choice([x, y])]
        builder.add("graph.select {}, {}, {}", operands, x.shape, BOUNDS, x.element)


def reduce_one(builder: Builder) -> None:
    """Add a reduction along axes of one element."""
    x = builder.value(*FLOATS, *INTEGERS)
    axes = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    kind = builder.random.choice(["sum", "prod", "max", "min"])
    shape = [extent for extent in x.shape if extent != 1]
    builder.add(f"graph.reduce {{}} <{kind}> axes {axes}", [x], shape, BOUNDS)


RULES: Sequence[Callable[[Builder], None]] = (
    of_number,
    of_number,
    of_number,
    of_two,
    function,
    function,
    convert,
    convert,
    choose,
    reduce_one,
    broadcast,
    reshape,
    transpose,
    cut,
)


def random_algebra(seed: int, count: int = 12, largest: int = 400) -> Program:
    """
    Return the program of a seed: about `count` operations on up to `largest` elements.
    """
    return Builder(seed, largest).program(RULES, count)
