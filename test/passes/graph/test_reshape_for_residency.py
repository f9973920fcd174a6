"""Programs compute the same once axes are split where tensors may stay near."""

import numpy as np
import pytest
from differential import disagreement, make_case

from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.passes.graph.graph_hoist_reshapes import GraphHoistReshapesPass

ELEMENTS = ["f64", "f32", "f16", "bf16", "i64", "i32", "i8"]


def random_heads(seed: int, element: str) -> str:
    """Queries, keys and values of a few heads, cut of one product, and merged again."""
    rng = np.random.default_rng(seed)
    batch, rows, heads, size, width = (int(n) for n in rng.integers(1, 5, 5))
    inner, wide = heads * size, {"i8": "i32", "f16": "f32", "bf16": "f32"}
    acc = wide.get(element, element)
    x, w = f"tensor<{batch}x{rows}x3x{element}>", f"tensor<3x{3 * inner}x{element}>"
    joined = f"tensor<{batch}x{rows}x{3 * inner}x{element}>"
    part = f"tensor<{batch}x{rows}x{inner}x{element}>"
    head = f"tensor<{batch}x{rows}x{heads}x{size}x{element}>"
    score = f"tensor<{batch}x{heads}x{rows}x{rows}x{element}>"
    out, result = f"tensor<{inner}x{width}x{element}>", f"{batch}x{rows}x{width}"
    cuts = "".join(
        f"""
  %c{n} = graph.slice %p offsets [0, 0, {n * inner}] strides [1, 1, 1]
      : ({joined}) -> {part}
  %h{n} = graph.reshape %c{n} : ({part}) -> {head}"""
        for n in range(3)
    )
    maps = [f"affine_map<(b, h, q, k, d) -> ({each})>" for each in MAPS]
    return f"""
func.func @main(%x: {x}, %w: {w}, %b: tensor<{3 * inner}x{element}>, %o: {out})
    -> tensor<{result}x{element}> {{
  %m = graph.matmul %x, %w acc {acc} : ({x}, {w})
      -> tensor<{batch}x{rows}x{3 * inner}x{acc}>
  %n = graph.cast %m : (tensor<{batch}x{rows}x{3 * inner}x{acc}>) -> {joined}
  %p = graph.add %n, %b : ({joined}, tensor<{3 * inner}x{element}>) -> {joined}{cuts}
  %s = graph.contract %h0, %h1 maps [{", ".join(maps[:3])}] acc {acc}
      : ({head}, {head}) -> {score.replace(element, acc)}
  %t = graph.cast %s : ({score.replace(element, acc)}) -> {score}
  %a = graph.contract %t, %h2 maps [{", ".join(maps[3:])}] acc {acc}
      : ({score}, {head}) -> {head.replace(element, acc)}
  %e = graph.cast %a : ({head.replace(element, acc)}) -> {head}
  %g = graph.reshape %e : ({head}) -> {part}
  %y = graph.matmul %g, %o acc {acc} : ({part}, {out}) -> tensor<{result}x{acc}>
  %z = graph.cast %y : (tensor<{result}x{acc}>) -> tensor<{result}x{element}>
  func.return %z : tensor<{result}x{element}>
}}
"""


MAPS = (
    "b, q, h, d",
    "b, k, h, d",
    "b, h, q, k",
    "b, h, q, k",
    "b, k, h, d",
    "b, q, h, d",
)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("seed", range(10))
def test_same_results(seed: int, element: str):
    case = make_case(random_heads(seed, element))
    context, module = case.module()
    load_target_spec("npu").attach_to_module(module)
    GraphHoistReshapesPass().apply(context, module)
    module.verify()

    assert disagreement(case, interpret(module, case.inputs)) is None


def test_nothing_is_reshaped_but_weights():
    """Of three heads of four, no tensor that is computed is under another shape."""
    seed = next(seed for seed in range(100) if "x3x4xf32>" in random_heads(seed, "f32"))
    case = make_case(random_heads(seed, "f32"))
    context, module = case.module()
    load_target_spec("npu").attach_to_module(module)
    GraphHoistReshapesPass().apply(context, module)

    reshapes = [op for op in module.walk() if isinstance(op, graph.ReshapeOp)]
    assert reshapes
    assert all(
        not isinstance(op.operand.owner, graph.ReshapeOp | graph.ContractOp)
        for op in reshapes
    )
