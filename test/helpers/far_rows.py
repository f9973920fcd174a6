"""Programs that compute with rows and their means, and rows that lie far from 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from cascade_programs import run
from differential import parsed
from special_values import DTYPE
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret

MEAN = """
  %m = graph.reduce %x <sum> axes [1] keepdims : ({X}) -> {R}
  %n = graph.mul %m, %c : ({R}, {C}) -> {R}
  %d = graph.sub %x, %n : ({X}, {R}) -> {X}"""

SQUARES = """
  %q = graph.mul %d, %d : ({X}, {X}) -> {X}
  %v = graph.reduce %q <sum> axes [1] keepdims : ({X}) -> {R}"""

UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
"""By which part a number is rounded at most."""


SEEDS, SHAPES, DRAWS = 5, 4, 17
"""A body is computed of 1,020 random inputs, with all types, seeds and shapes."""


def program(
    body: str,
    sizes: tuple[int, int, int],
    element: str,
    result: str = "Y",
    others: Mapping[str, tuple[int, ...]] | None = None,
) -> str:
    """
    Rows `x` of a length, with its reciprocal `c`, and products with so many columns, of
    parameters. `result` says which of the types in a body it has, among them those of
    `others`. Those that begin with F are the same of f32.
    """
    rows, length, columns = sizes
    shapes = {"X": (rows, length), "R": (rows, 1), "W": (length, columns)}
    shapes |= {"Y": (rows, columns), "K": (length,), "C": ()}
    shapes["B"] = 1, columns
    shapes |= {"X3": (1, rows, length), "R3": (1, rows, 1), **(others or {})}
    types = {
        name: f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"
        for name, shape in shapes.items()
    }
    for name in ("X", "R", "C", "K"):
        types[f"F{name}"] = types[name].replace(element, "f32")
    weights = ", ".join(
        f"%{name}: {types[kind]} {{tlf.parameter}}"
        for name, kind in (("w", "W"), ("scale", "K"), ("shift", "K"))
    )
    constant = f"%c = graph.constant dense<{1.0 / length!r}> : {types['C']}"
    made = types[result]
    return (
        f"func.func @main(%x: {types['X']}, {weights}) -> {made} {{\n  {constant}"
        f"{body.format(**types)}\n  func.return %y : {made}\n}}\n"
    )


def decomposed(text: str) -> tuple[Context, ModuleOp]:
    """A program in simple operations."""
    context, module = parsed(text)
    run("graph-decompose,canonicalize,dce", context, module)
    return context, module


def error(found: Array, wanted: Array) -> float:
    """The largest error, in multiples of the largest element."""
    distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return float(distance.max() / np.abs(wanted).max())


def drawn(
    rng: np.random.Generator, sizes: tuple[int, int, int], element: str
) -> dict[str, Array]:
    """Inputs whose rows lie around a number, far from 0 in some."""
    rows, length, columns = sizes
    far = 10.0 if element == "f16" else 1000.0
    centre = rng.choice([0.0, 1.0, far / 10, far]) * rng.choice([-1, 1])
    scale = rng.choice([0.1, 1.0]) * max(1.0, abs(centre) * 32 * UNIT[element])
    x = centre + scale * rng.standard_normal((rows, length))
    shapes = {"w": (length, columns), "scale": (length,), "shift": (length,)}
    others = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return {name: a.astype(DTYPE[element]) for name, a in {"x": x, **others}.items()}


def errors(
    exact: ModuleOp,
    programs: Sequence[ModuleOp],
    rng: np.random.Generator,
    sizes: tuple[int, int, int],
    element: str,
) -> list[float]:
    """The largest error of each program for random inputs, against an exact one."""
    worst = [0.0] * len(programs)
    for _ in range(DRAWS):
        inputs = drawn(rng, sizes, element)
        wide = {name: a.astype(np.float64) for name, a in inputs.items()}
        (wanted,) = interpret(exact, wide)
        found = [error(interpret(each, inputs)[0], wanted) for each in programs]
        worst = list(map(max, worst, found))
    return worst
