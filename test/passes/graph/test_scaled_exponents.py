"""Exponents take the scale of 16-bit scores, and sums are as exact as before."""

import numpy as np
import pytest
from differential import make_case
from numpy.typing import NDArray
from special_values import DTYPE
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects import graph
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_decompose import GraphDecomposePass
from tlf.passes.graph.graph_hoist_scales import GraphHoistScalesPass

EPSILON = {"f16": 2.0**-11, "bf16": 2.0**-8}
ROWS = 50


def scores(columns: int, scale: float, element: str) -> str:
    """The probabilities of scaled scores."""
    s = f"tensor<{ROWS}x{columns}x{element}>"
    return f"""
func.func @main(%s: {s}) -> {s} {{
  %c = graph.constant dense<{scale}> : tensor<{element}>
  %t = graph.mul %s, %c : ({s}, tensor<{element}>) -> {s}
  %y = graph.softmax %t axis 1 : ({s}) -> {s}
  func.return %y : {s}
}}
"""


def moved(text: str) -> ModuleOp:
    """A program whose exponents have taken scales."""
    context, module = make_case(text).module()
    passes: list[ModulePass] = [GraphDecomposePass(), GraphHoistScalesPass()]
    for each in passes:
        each.apply(context, module)
        module.verify()
    return module


def softmax(values: Array, scale: float) -> NDArray[np.float64]:
    """The same in f64."""
    wide = values.astype(np.float64) * scale
    with np.errstate(invalid="ignore"):
        found = np.exp(wide - wide.max(1, keepdims=True))
        return found / found.sum(1, keepdims=True)


@pytest.mark.parametrize("element", EPSILON)
def test_a_thousand_rows(element: str):
    """No row is off by more than four times as much, or than what its type rounds."""
    rng = np.random.default_rng(0)
    for _ in range(1000 // ROWS):
        columns, scale = int(rng.integers(1, 40)), 2.0 ** -int(rng.integers(0, 8))
        text = scores(columns, scale, element)
        spread = 10.0 ** rng.uniform(-6, 3, (ROWS, 1))
        values = rng.normal(size=(ROWS, columns)) * spread
        values[rng.random(values.shape) < rng.uniform(0.0, 0.8)] = -np.inf
        inputs: dict[str, Array] = {"s": values.astype(DTYPE[element])}
        right = softmax(inputs["s"], scale)
        (before,) = interpret(make_case(text).module()[1], inputs)
        module = moved(text)
        (after,) = interpret(module, inputs)

        assert not any(isinstance(op, graph.ExpOp) for op in module.walk())
        was, now = (np.abs(e.astype(np.float64) - right) for e in (before, after))
        bound = 4 * was.max(1) + EPSILON[element] * right.max(1)
        np.testing.assert_array_equal(np.isnan(after), np.isnan(right))
        known = ~np.isnan(right).any(1)
        assert (now.max(1) <= bound)[known].all()


@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 6.0e4])
def test_special_scores(value: float, element: str):
    text = scores(7, 0.125, element)
    inputs: dict[str, Array] = dict(make_case(text).inputs)
    changed = np.array(inputs["s"])
    changed[0] = changed[1, :3] = changed[2, 5] = value
    inputs["s"] = changed

    (before,) = interpret(make_case(text).module()[1], inputs)
    (after,) = interpret(moved(text), inputs)

    unit = 2 * EPSILON[element]
    wide, found = before.astype(np.float64), after.astype(np.float64)
    np.testing.assert_allclose(found, wide, rtol=unit, atol=unit, equal_nan=True)


OTHERS = """
func.func @main(%s: tensor<16x32xf16>) -> (tensor<16x32xf32>, {result}) {{
  %c = graph.constant dense<{scale}> : tensor<f16>
  %t = graph.mul %s, %c : (tensor<16x32xf16>, tensor<f16>) -> tensor<16x32xf16>
  %w = graph.cast %t : (tensor<16x32xf16>) -> tensor<16x32xf32>
  %m = graph.reduce %w <max> axes [1] keepdims : (tensor<16x32xf32>) -> tensor<16x1xf32>
  %d = graph.sub %w, %m : (tensor<16x32xf32>, tensor<16x1xf32>) -> tensor<16x32xf32>
  %e = graph.exp %d : tensor<16x32xf32>
  func.return %e, {value} : tensor<16x32xf32>, {result}
}}
"""


@pytest.mark.parametrize(
    ("value", "result", "scale", "moves"),
    [
        ("%m", "tensor<16x1xf32>", 0.25, True),
        ("%e", "tensor<16x32xf32>", 0.25, True),
        ("%w", "tensor<16x32xf32>", 0.25, False),
        ("%t", "tensor<16x32xf16>", 0.25, False),
        ("%m", "tensor<16x1xf32>", 0.3, False),
        ("%m", "tensor<16x1xf32>", -0.25, False),
        ("%m", "tensor<16x1xf32>", 2.0, False),
    ],
)
def test_what_else_is_read(value: str, result: str, scale: float, moves: bool):
    """Rows are scaled for other readers; scores that others read stay scaled."""
    text = OTHERS.format(value=value, result=result, scale=scale)
    case = make_case(text)

    module = moved(text)

    assert any(isinstance(op, graph.Exp2Op) for op in module.walk()) == moves
    before = interpret(case.module()[1], case.inputs)
    for right, found in zip(before, interpret(module, case.inputs), strict=True):
        wide, same = right.astype(np.float64), found.astype(np.float64)
        np.testing.assert_allclose(same, wide, rtol=1e-5, atol=1e-6)
