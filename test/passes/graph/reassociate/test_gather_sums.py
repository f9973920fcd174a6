"""Gathered elements that are summed are those that were gathered, bit by bit."""

from collections.abc import Mapping

import numpy as np
import pytest
from differential import PASSES, PassManager, build_passes, parsed
from special_values import DTYPE
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.reassociate.gather_sums import (
    can_rewrite_gather_as_sum,
    rewrite_gather_as_sum,
)

PROGRAM = """
func.func @main(%x: tensor<{m}x4x{t}>, %w: tensor<4x{n}x{t}>, %b: tensor<{n}x{t}>,
                %g: tensor<{m}x{n}x{t}>, %r: tensor<{m}x1x{t}>, %i: tensor<{k}x1x{i}>)
    -> tensor<{k}x1x{t}> {{
  %p = graph.matmul %x, %w
      : (tensor<{m}x4x{t}>, tensor<4x{n}x{t}>) -> tensor<{m}x{n}x{t}>
  %a = graph.add %p, %b : (tensor<{m}x{n}x{t}>, tensor<{n}x{t}>) -> tensor<{m}x{n}x{t}>
  %s = graph.sub %a, %r
      : (tensor<{m}x{n}x{t}>, tensor<{m}x1x{t}>) -> tensor<{m}x{n}x{t}>
  %h = graph.mul %s, %g
      : (tensor<{m}x{n}x{t}>, tensor<{m}x{n}x{t}>) -> tensor<{m}x{n}x{t}>
  %y = graph.gather %h, %i axis 1
      : (tensor<{m}x{n}x{t}>, tensor<{k}x1x{i}>) -> tensor<{k}x1x{t}>
  func.return %y : tensor<{k}x1x{t}>
}}
"""


def gathers(module: ModuleOp) -> list[graph.GatherOp]:
    return [op for op in module.walk() if isinstance(op, graph.GatherOp)]


def drawn(rng: np.random.Generator, sizes: Mapping[str, int], element: str):
    """Random inputs, some elements infinite or NaN, and indices, some far out."""
    m, n = sizes["m"], sizes["n"]
    shapes = {"x": (m, 4), "w": (4, n), "b": (n,), "g": (m, n), "r": (m, 1)}
    found: dict[str, Array] = {}
    for name, shape in shapes.items():
        values = rng.integers(-4, 5, shape).astype(np.float64)
        odd = rng.random(shape) < 0.05
        values[odd] = rng.choice([np.inf, -np.inf, np.nan], odd.sum())
        found[name] = values.astype(DTYPE[element])
    found["i"] = rng.integers(-2, n + 2, (m, 1)).astype(np.int64)
    return found


@pytest.mark.one_in(5)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("seed", range(25))
def test_random_places(seed: int, element: str):
    rng = np.random.default_rng(seed)
    m, n = (int(each) for each in rng.integers(1, 20, 2))
    text = PROGRAM.format(m=m, n=n, k=m, t=element, i="i64")
    _, module = parsed(text)
    context, changed = parsed(text)
    (op,) = gathers(changed)
    assert rewrite_gather_as_sum(op)
    PassManager(build_passes("canonicalize,dce", PASSES, {})).run(context, changed)
    changed.verify()

    for _ in range(14):
        inputs = drawn(rng, {"m": m, "n": n}, element)
        (right,) = interpret(module, inputs)
        (found,) = interpret(changed, inputs)
        np.testing.assert_array_equal(found.astype(float), right.astype(float))


def test_what_is_in_memory_is_gathered():
    _, module = parsed(PROGRAM.format(m=8, n=9, k=8, t="f32", i="i64"))
    (op,) = gathers(module)
    rewrite_gather_as_sum(op)
    read = {each.operand.name_hint for each in gathers(module)}
    assert read == {"g"}


@pytest.mark.parametrize("text", [PROGRAM.format(m=8, n=9, k=5, t="f32", i="i64")])
def test_fewer_rows_are_left_alone(text: str):
    _, module = parsed(text)
    (op,) = gathers(module)
    assert not can_rewrite_gather_as_sum(op)
    assert not rewrite_gather_as_sum(op)
