"""
Programs of reductions that restart when an extremum changes, with inputs for them.

The inputs are integers with many equal elements, infinities and NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from special_values import DTYPE

from tlf.dialects.interfaces import Array

BODIES: Mapping[str, str] = {
    "first of the greatest": """
  %z = graph.constant dense<2147483647> : tensor<i32>
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %h = graph.compare %t, %m <eq> : ({S}, {R}) -> {B}
  %n = graph.compare %t, %t <ne> : ({S}, {S}) -> {B}
  %o = graph.or %h, %n : ({B}, {B}) -> {B}
  %u = graph.select %o, %p, %z : ({B}, {P}, tensor<i32>) -> {N}
  %y = graph.reduce %u <min> axes [1] : ({N}) -> tensor<{rows}xi32>""",
    "last of the least": """
  %z = graph.constant dense<-2147483648> : tensor<i32>
  %m = graph.reduce %t <min> axes [1] : ({S}) -> {D}
  %r = graph.reshape %m : ({D}) -> {R}
  %h = graph.compare %r, %t <eq> : ({R}, {S}) -> {B}
  %u = graph.select %h, %p, %z : ({B}, {P}, tensor<i32>) -> {N}
  %y = graph.reduce %u <max> axes [1] keepdims : ({N}) -> tensor<{rows}x1xi32>""",
    "how many are the greatest": """
  %o = graph.constant dense<1> : tensor<i32>
  %z = graph.constant dense<0> : tensor<i32>
  %m = graph.reduce %t <max> axes [1] keepdims : ({S}) -> {R}
  %h = graph.compare %t, %m <ge> : ({S}, {R}) -> {B}
  %u = graph.select %h, %o, %z : ({B}, tensor<i32>, tensor<i32>) -> {N}
  %y = graph.reduce %u <sum> axes [1] : ({N}) -> tensor<{rows}xi32>""",
    "the greatest beside the least": """
  %z = graph.constant dense<0.0> : tensor<f32>
  %m = graph.reduce %t <min> axes [1] keepdims : ({S}) -> {R}
  %h = graph.compare %m, %t <ge> : ({R}, {S}) -> {B}
  %g = graph.compare %w, %z <gt> : ({W}, tensor<f32>) -> {B}
  %a = graph.and %g, %h : ({B}, {B}) -> {B}
  %u = graph.select %a, %w, %z : ({B}, {W}, tensor<f32>) -> {W}
  %y = graph.reduce %u <sum> axes [1] : ({W}) -> tensor<{rows}xf32>""",
}
"""Programs on scores `t`, on a weight `w` for each score, and on positions `p`."""

ELEMENTS = ["f32", "f16", "bf16", "i32"]


def program(body: str, rows: int, columns: int, element: str) -> str:
    """Return a program that adds up scores and applies a body."""
    shape = f"{rows}x{columns}"
    types = {
        "S": f"tensor<{shape}x{element}>",
        "R": f"tensor<{rows}x1x{element}>",
        "B": f"tensor<{shape}xi1>",
        "N": f"tensor<{shape}xi32>",
        "W": f"tensor<{shape}xf32>",
        "P": f"tensor<{columns}xi32>",
        "D": f"tensor<{rows}x{element}>",
        "rows": str(rows),
    }
    text = "\n  %t = graph.add %s, %b : ({S}, {S}) -> {S}" + BODIES[body]
    lines = text.format(**types)
    result = lines.rpartition("-> ")[2]
    used = {"%w": "{W}", "%p": "{P}"}
    optional = [f"{name}: {type_}" for name, type_ in used.items() if name in lines]
    arguments = ", ".join(["%s: {S}", "%b: {S}", *optional]).format(**types)
    text = f"{lines}\n  func.return %y : {result}\n"
    return f"func.func @main({arguments}) -> {result} {{{text}}}\n"


def inputs_of(rows: int, columns: int, element: str, seed: int) -> dict[str, Array]:
    """Return small integers with many equal scores, and rows of special values."""
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-3, 4, (3, rows, columns))
    dtype = DTYPE.get(element, np.dtype(np.int32))
    scores, bias = numbers[0].astype(dtype), numbers[1].astype(dtype)
    if element != "i32":
        for row, value in enumerate((-np.inf, np.inf, np.nan, -np.inf, np.inf)):
            positions = rng.random(columns) < (0.2 if row < 3 else 1.0)
            if row < rows:
                scores[row, positions] = value
    positions = rng.permutation(columns).astype(np.int32)
    return {"s": scores, "b": bias, "w": numbers[2].astype(np.float32), "p": positions}
