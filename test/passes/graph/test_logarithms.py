"""Exponentials take logarithms of sums as divisors, and are as exact as before."""

import numpy as np
import pytest
from differential import make_case
from numpy.typing import NDArray
from special_values import DTYPE
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_hoist_scales import GraphHoistScalesPass

EPSILON = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
ROWS = 50

DIFFERENCES = {
    "apart": "%u = graph.sub %d, %l : ({s}, {r}) -> {s}",
    "together": """%t = graph.add %l, %n : {r}
  %u = graph.sub %s, %t : ({s}, {r}) -> {s}""",
    "behind": """%t = graph.sub %s, %l : ({s}, {r}) -> {s}
  %u = graph.sub %t, %n : ({s}, {r}) -> {s}""",
}
"""The scores without the logarithm of the sum of their exponentials."""

GUARD = """%a = graph.abs %m : {r}
  %c = graph.compare %a, %i <eq> : ({r}, tensor<{e}>) -> tensor<{rows}x1xi1>
  %n = graph.select %c, %z, %m : (tensor<{rows}x1xi1>, tensor<{e}>, {r}) -> {r}"""
"""As PyTorch computes the logarithm of a sum of exponentials."""

PLAIN = "%n = graph.maximum %m, %m : {r}"

INFINITY = {"f32": "0x7F800000", "f16": "0x7C00", "bf16": "0x7F80"}


def logarithms(columns: int, element: str, difference: str, guard: str) -> str:
    """The probabilities of scores by their logarithms."""
    s, r = f"tensor<{ROWS}x{columns}x{element}>", f"tensor<{ROWS}x1x{element}>"
    names = {"s": s, "r": r, "e": element, "rows": ROWS}
    return f"""
func.func @main(%x: {s}, %b: tensor<{columns}x{element}>) -> {s} {{
  %s = graph.sub %x, %b : ({s}, tensor<{columns}x{element}>) -> {s}
  %z = graph.constant dense<0.0> : tensor<{element}>
  %i = graph.constant dense<{INFINITY[element]}> : tensor<{element}>
  %m = graph.reduce %s <max> axes [1] keepdims : ({s}) -> {r}
  {guard.format(**names)}
  %d = graph.sub %s, %n : ({s}, {r}) -> {s}
  %e = graph.exp %d : {s}
  %k = graph.reduce %e <sum> axes [1] keepdims : ({s}) -> {r}
  %l = graph.log %k : {r}
  {DIFFERENCES[difference].format(**names)}
  %y = graph.exp %u : {s}
  func.return %y : {s}
}}
"""


def moved(text: str) -> ModuleOp:
    """A program whose exponentials have taken logarithms."""
    context, module = make_case(text).module()
    GraphHoistScalesPass().apply(context, module)
    module.verify()
    assert sum(isinstance(op, graph.ExpOp) for op in module.walk()) == 1
    return module


def biased(values: Array, element: str) -> dict[str, Array]:
    """Scores of a type, and a bias of theirs that is nothing."""
    scores = values.astype(DTYPE[element])
    return {"x": scores, "b": np.zeros_like(scores[0])}


def softmax(values: Array) -> NDArray[np.float64]:
    """The same in f64."""
    wide = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        found = np.exp(wide - wide.max(1, keepdims=True))
        return found / found.sum(1, keepdims=True)


@pytest.mark.one_in(1)
@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("element", EPSILON)
def test_a_thousand_rows(element: str, difference: str):
    """None of 50 is off by more than four times as much, or than what is rounded."""
    rng = np.random.default_rng(0)
    for number in range(1000 // ROWS):
        columns = int(rng.integers(1, 40))
        guard = GUARD if number % 2 else PLAIN
        text = logarithms(columns, element, difference, guard)
        spread = 10.0 ** rng.uniform(-6, 3, (ROWS, 1))
        values = rng.normal(size=(ROWS, columns)) * spread
        values[rng.random(values.shape) < rng.uniform(0.0, 0.8)] = -np.inf
        inputs = biased(values, element)
        right = softmax(inputs["x"])
        (before,) = interpret(make_case(text).module()[1], inputs)
        (after,) = interpret(moved(text), inputs)

        was, now = (np.abs(e.astype(np.float64) - right) for e in (before, after))
        np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
        known = ~np.isnan(right).any(1)
        assert now[known].max() <= 4 * was[known].max() + EPSILON[element]


@pytest.mark.one_in(1)
@pytest.mark.parametrize("guard", [GUARD, PLAIN])
@pytest.mark.parametrize("difference", DIFFERENCES)
@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 6.0e4])
def test_special_scores(value: float, element: str, difference: str, guard: str):
    text = logarithms(7, element, difference, guard)
    changed = np.array(make_case(text).inputs["x"])
    changed[0] = changed[1, :3] = changed[2, 5] = value
    inputs = biased(changed, element)
    (before,) = interpret(make_case(text).module()[1], inputs)

    (after,) = interpret(moved(text), inputs)

    np.testing.assert_array_equal(np.isnan(after), np.isnan(before))
    right, found = softmax(changed), after.astype(np.float64)
    known = ~np.isnan(right).any(1)
    np.testing.assert_allclose(found[known], right[known], atol=4 * EPSILON[element])
