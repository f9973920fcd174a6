"""Sums that are split round no worse than what they were."""

from collections.abc import Mapping

import numpy as np
import pytest
from cascade_programs import run
from far_rows import (
    MEAN,
    SEEDS,
    SHAPES,
    SQUARES,
    UNIT,
    decomposed,
    error,
    errors,
    program,
)
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.reassociate.distribute_sums import distribute_sum

NORM = (
    MEAN
    + SQUARES
    + """
  %u = graph.mul %v, %c : ({R}, {C}) -> {R}
  %s = graph.rsqrt %u : {R}
  %z = graph.mul %d, %s : ({X}, {R}) -> {X}
  %g = graph.mul %z, %scale : ({X}, {K}) -> {X}
  %b = graph.add %g, %shift : ({X}, {K}) -> {X}"""
)

SHARES = """
  %p = graph.abs %x : {X}
  %l = graph.reduce %p <sum> axes [1] keepdims : ({X}) -> {R}
  %o = graph.div %x, %l : ({X}, {R}) -> {X}"""

VARIANCE = """
  %m = graph.reduce %o <sum> axes [1] keepdims : ({X}) -> {R}
  %n = graph.mul %m, %c : ({R}, {C}) -> {R}
  %d = graph.sub %o, %n : ({X}, {R}) -> {X}
  %q = graph.mul %d, %d : ({X}, {X}) -> {X}
  %v = graph.reduce %q <sum> axes [1] keepdims : ({X}) -> {R}
  %y = graph.mul %v, %c : ({R}, {C}) -> {R}"""

BODIES: Mapping[str, str] = {
    "variance": MEAN + SQUARES + "\n  %y = graph.mul %v, %c : ({R}, {C}) -> {R}",
    "variance of shares": SHARES + VARIANCE,
    "variance of differences": SHARES
    + """
  %k = graph.mul %x, %x : ({X}, {X}) -> {X}
  %t = graph.reduce %k <sum> axes [1] keepdims : ({X}) -> {R}
  %a = graph.div %k, %t : ({X}, {R}) -> {X}
  %i = graph.sub %o, %a : ({X}, {X}) -> {X}"""
    + VARIANCE.replace("%o", "%i"),
    "centred": MEAN + "\n  %y = graph.matmul %d, %w : ({X}, {W}) -> {Y}",
    "layer norm": NORM + "\n  %y = graph.matmul %b, %w : ({X}, {W}) -> {Y}",
    "layer norm and row": NORM
    + """
  %p = graph.matmul %b, %w : ({X}, {W}) -> {Y}
  %r = graph.reduce %w <sum> axes [0] keepdims : ({W}) -> {B}
  %y = graph.add %p, %r : ({Y}, {B}) -> {Y}""",
    "root mean square": """
  %q = graph.mul %x, %x : ({X}, {X}) -> {X}
  %v = graph.reduce %q <sum> axes [1] keepdims : ({X}) -> {R}
  %u = graph.mul %v, %c : ({R}, {C}) -> {R}
  %s = graph.rsqrt %u : {R}
  %z = graph.mul %x, %s : ({X}, {R}) -> {X}
  %g = graph.mul %z, %scale : ({X}, {K}) -> {X}
  %y = graph.matmul %g, %w : ({X}, {W}) -> {Y}""",
    "under another shape": """
  %r = graph.reshape %x : ({X}) -> {X3}
  %m = graph.reduce %r <sum> axes [2] keepdims : ({X3}) -> {R3}
  %n = graph.mul %m, %c : ({R3}, {C}) -> {R3}
  %d = graph.sub %r, %n : ({X3}, {R3}) -> {X3}
  %g = graph.mul %d, %scale : ({X3}, {K}) -> {X3}
  %z = graph.reshape %g : ({X3}) -> {X}
  %y = graph.matmul %z, %w : ({X}, {W}) -> {Y}""",
    "difference": """
  %p = graph.softmax %x axis 1 : ({X}) -> {X}
  %o = graph.mul %x, %c : ({X}, {C}) -> {X}
  %q = graph.softmax %o axis 1 : ({X}) -> {X}
  %h = graph.mul %q, %c : ({X}, {C}) -> {X}
  %z = graph.sub %p, %h : ({X}, {X}) -> {X}
  %y = graph.matmul %z, %w : ({X}, {W}) -> {Y}""",
}
"""Computations on rows `x`, with the reciprocal `c` of their length."""


def split(context: Context, module: ModuleOp, known: int) -> int:
    """Split all sums that can be; return how many were."""
    (function,) = module.body.block.ops
    block = function.regions[0].block
    invariant = set(block.args[known:])
    count = sum(distribute_sum(op, invariant) for op in list(block.ops))
    run("canonicalize,tlf-cse,dce", context, module)
    return count


@pytest.mark.one_in(10)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("element", UNIT)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_errors(seed: int, element: str, body: str):
    """At most four times the errors of the program as it was, against f64."""
    rng = np.random.default_rng([seed, len(body)])
    for _ in range(SHAPES):
        rows, columns = (int(n) for n in rng.integers(1, 9, 2))
        sizes = rows, int(rng.integers(2, 200)), columns
        result, text = "R" if "variance" in body else "Y", BODIES[body]
        _, exact = decomposed(program(text, sizes, "f64", result))
        _, whole = decomposed(program(text, sizes, element, result))
        context, changed = decomposed(program(text, sizes, element, result))
        assert split(context, changed, 1) > 0

        worst, usual = errors(exact, (changed, whole), rng, sizes, element)
        assert worst <= 4 * max(usual, 4 * UNIT[element])


@pytest.mark.parametrize("element", UNIT)
def test_one_row_under_another_shape(element: str):
    """Axes of one element in front are not seen where the shape has none of them."""
    text = program(BODIES["under another shape"], (1, 50, 3), element, "Y")
    _, whole = decomposed(text)
    context, changed = decomposed(text)
    assert split(context, changed, 1) > 0

    sizes, rng = (1, 50, 3), np.random.default_rng(0)
    _, exact = decomposed(program(BODIES["under another shape"], sizes, "f64", "Y"))
    worst, usual = errors(exact, (changed, whole), rng, sizes, element)
    assert worst <= 4 * max(usual, 4 * UNIT[element])


@pytest.mark.parametrize("size", [1e-21, 1e21])
def test_squares_of_quotients(size: float):
    """Squares of dividends may be out of range where those of quotients are not."""
    text = program(SHARES + VARIANCE, (4, 50, 1), "f32", "R")
    _, whole = decomposed(text)
    context, changed = decomposed(text)
    assert split(context, changed, 1) > 0

    rng = np.random.default_rng(0)
    rows = (size * rng.standard_normal((4, 50))).astype(np.float32)
    inputs = {"x": rows, "w": np.zeros((50, 1), np.float32)}
    inputs |= dict.fromkeys(("scale", "shift"), np.zeros(50, np.float32))
    (found,), (wanted,) = (interpret(each, inputs) for each in (changed, whole))

    assert error(found, wanted) <= 1e-5


def test_terms_that_cancel():
    """Infinities would be lost with them."""
    context, module = decomposed(
        """
func.func @main(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %r = graph.reduce %x <sum> axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %a = graph.mul %x, %r : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %b = graph.sub %z, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = graph.sub %z, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = graph.reduce %c <sum> axes [1] keepdims : (tensor<4x8xf32>) -> tensor<4x1xf32>
  func.return %y : tensor<4x1xf32>
}
"""
    )
    before = str(module)

    assert split(context, module, 2) == 0
    assert str(module) == before
