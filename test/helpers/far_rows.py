"""Programs on rows and their means, with rows whose mean is large."""

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
"""Largest relative rounding error of an element type."""


SEEDS, SHAPES, DRAWS = 5, 4, 17
"""Each body runs on 1,020 random inputs, over all types, seeds and shapes."""


def program(
    body: str,
    sizes: tuple[int, int, int],
    element: str,
    result: str = "Y",
    others: Mapping[str, tuple[int, ...]] | None = None,
) -> str:
    """
    Return a program on rows `x`, with parameters and the reciprocal length `c`.

    `sizes` are the number of rows, their length, and the columns of products. `result`
    names the result type, among the types of the body including `others`. Type names
    with prefix F are the f32 counterparts.
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
    output = types[result]
    return (
        f"func.func @main(%x: {types['X']}, {weights}) -> {output} {{\n  {constant}"
        f"{body.format(**types)}\n  func.return %y : {output}\n}}\n"
    )


def decomposed(text: str) -> tuple[Context, ModuleOp]:
    """Return a program in elementary operations."""
    context, module = parsed(text)
    run("graph-decompose,canonicalize,dce", context, module)
    return context, module


def error(found: Array, wanted: Array) -> float:
    """Return the largest error, relative to the largest element."""
    distance = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    return float(distance.max() / np.abs(wanted).max())


def drawn(
    rng: np.random.Generator, sizes: tuple[int, int, int], element: str
) -> dict[str, Array]:
    """Return random inputs with rows around a centre that is sometimes large."""
    rows, length, columns = sizes
    largest_centre = 10.0 if element == "f16" else 1000.0
    centre = rng.choice([0.0, 1.0, largest_centre / 10, largest_centre]) * rng.choice(
        [-1, 1]
    )
    scale = rng.choice([0.1, 1.0]) * max(1.0, abs(centre) * 32 * UNIT[element])
    x = centre + scale * rng.standard_normal((rows, length))
    shapes = {"w": (length, columns), "scale": (length,), "shift": (length,)}
    parameters = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    return {
        name: a.astype(DTYPE[element]) for name, a in {"x": x, **parameters}.items()
    }


def errors(
    exact: ModuleOp,
    programs: Sequence[ModuleOp],
    rng: np.random.Generator,
    sizes: tuple[int, int, int],
    element: str,
) -> list[float]:
    """Return the largest error of each program on random inputs, against `exact`."""
    worst = [0.0] * len(programs)
    for _ in range(DRAWS):
        inputs = drawn(rng, sizes, element)
        widened = {name: a.astype(np.float64) for name, a in inputs.items()}
        (expected,) = interpret(exact, widened)
        current = [error(interpret(each, inputs)[0], expected) for each in programs]
        worst = list(map(max, worst, current))
    return worst
