"""Moving factors rounds sums of products at other points, and not by more."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from differential import make_case, parsed
from numpy.typing import NDArray
from special_values import DTYPE
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tlf.compiler.driver.pass_manager import PassManager
from tlf.dialects.interfaces import Array
from tlf.dialects.interpreters.interpret import interpret
from tlf.passes.graph.graph_decompose import GraphDecomposePass
from tlf.passes.graph.graph_hoist_scales import GraphHoistScalesPass

EPSILON = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}


def attention(sizes: list[int], scale: float, element: str) -> str:
    """Queries of a linear layer, a softmax of scaled scores, and normalized sums."""
    heads, rows, columns, depth, inner = sizes
    x, w = (
        f"tensor<{heads}x{rows}x{inner}x{element}>",
        f"tensor<{inner}x{depth}x{element}>",
    )
    q, t = (
        f"tensor<{heads}x{n}x{element}>"
        for n in (f"{rows}x{depth}", f"{depth}x{columns}")
    )
    s, v = (
        f"tensor<{heads}x{n}x{element}>"
        for n in (f"{rows}x{columns}", f"{columns}x{depth}")
    )
    return f"""
func.func @main(%x: {x}, %w: {w} {{tlf.parameter}},
                %b: tensor<{depth}x{element}> {{tlf.parameter}},
                %t: {t}, %v: {v}, %n: tensor<{heads}x{rows}x1x{element}>
                {{tlf.range = [0.5, 2.0]}}) -> ({q}, {q}) {{
  %0 = graph.matmul %x, %w : ({x}, {w}) -> {q}
  %1 = graph.add %0, %b : ({q}, tensor<{depth}x{element}>) -> {q}
  %2 = graph.matmul %1, %t : ({q}, {t}) -> {s}
  %c = graph.constant dense<{scale}> : tensor<{element}>
  %3 = graph.mul %2, %c : ({s}, tensor<{element}>) -> {s}
  %4 = graph.softmax %3 axis 2 : ({s}) -> {s}
  %5 = graph.matmul %4, %v : ({s}, {v}) -> {q}
  %6 = graph.div %3, %n : ({s}, tensor<{heads}x{rows}x1x{element}>) -> {s}
  %7 = graph.matmul %6, %v : ({s}, {v}) -> {q}
  func.return %5, %7 : {q}, {q}
}}
"""


def merged_projection(
    sizes: Sequence[int], slot: int, scale: float, element: str
) -> str:
    """Scaled scores of queries in one of three slots of a projection, in any order."""
    rows, inner, heads, depth = sizes
    t = {
        name: f"tensor<{shape}x{element}>"
        for name, shape in {
            "x": f"{rows}x{inner}",
            "w": f"{inner}x{3 * heads * depth}",
            "b": f"{3 * heads * depth}",
            "p": f"{rows}x{3 * heads * depth}",
            "split": f"{rows}x3x{heads}x{depth}",
            "moved": f"3x{heads}x{rows}x{depth}",
            "part": f"1x{heads}x{rows}x{depth}",
            "head": f"{heads}x{rows}x{depth}",
            "key": f"{heads}x{depth}x{rows}",
            "score": f"{heads}x{rows}x{rows}",
        }.items()
    }
    slices = "\n".join(
        f"""  %s{n} = graph.slice %3 offsets [{(slot + n) % 3}, 0, 0, 0]
      strides [1, 1, 1, 1] : ({t["moved"]}) -> {t["part"]}
  %h{n} = graph.reshape %s{n} : ({t["part"]}) -> {t["head"]}"""
        for n in range(3)
    )
    return f"""
func.func @main(%x: {t["x"]}, %w: {t["w"]} {{tlf.parameter}},
                %b: {t["b"]} {{tlf.parameter}}) -> ({t["score"]}, {t["head"]}) {{
  %0 = graph.matmul %x, %w : ({t["x"]}, {t["w"]}) -> {t["p"]}
  %1 = graph.add %0, %b : ({t["p"]}, {t["b"]}) -> {t["p"]}
  %2 = graph.reshape %1 : ({t["p"]}) -> {t["split"]}
  %3 = graph.transpose %2 permutation [1, 2, 0, 3] : ({t["split"]}) -> {t["moved"]}
{slices}
  %k = graph.transpose %h1 permutation [0, 2, 1] : ({t["head"]}) -> {t["key"]}
  %4 = graph.matmul %h0, %k : ({t["head"]}, {t["key"]}) -> {t["score"]}
  %c = graph.constant dense<{scale}> : tensor<{element}>
  %5 = graph.mul %4, %c : ({t["score"]}, tensor<{element}>) -> {t["score"]}
  func.return %5, %h2 : {t["score"]}, {t["head"]}
}}
"""


def results(
    text: str, inputs: Mapping[str, Array], *, moved: bool
) -> list[NDArray[np.float64]]:
    context, module = make_case(text).module()
    passes: list[ModulePass] = [
        GraphHoistScalesPass(),
        GraphDecomposePass(),
        GraphHoistScalesPass(),
    ]
    for each in passes if moved else ():
        each.apply(context, module)
        module.verify()
    return [each.astype(np.float64) for each in interpret(module, inputs)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("scale", [0.125, 0.3, -1.0])
@pytest.mark.parametrize("element", EPSILON)
@pytest.mark.parametrize("seed", range(8))
def test_error(seed: int, element: str, scale: float):
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(1, 24, 5)]
    text = attention(sizes, scale, element)
    inputs = make_case(text).inputs
    wide = {name: each.astype(np.float64) for name, each in inputs.items()}

    exact = results(
        attention(sizes, DTYPE[element].type(scale).item(), "f64"), wide, moved=False
    )
    written = results(text, inputs, moved=False)
    found = results(text, inputs, moved=True)

    for right, before, after in zip(exact, written, found, strict=True):
        floor = EPSILON[element] * np.abs(right).max()
        assert np.abs(after - right).max() <= 4 * np.abs(before - right).max() + floor


@pytest.mark.parametrize("slot", range(3))
@pytest.mark.parametrize("element", EPSILON)
def test_scale_of_a_slice_moves_into_weights(element: str, slot: int):
    rng = np.random.default_rng(slot)
    sizes = [int(n) for n in rng.integers(2, 9, 4)]
    text = merged_projection(sizes, slot, 0.25, element)
    inputs = make_case(text).inputs
    context, module = parsed(text)

    PassManager([GraphHoistScalesPass()]).run(context, module)

    scaled = [op.operands[0] for op in module.walk() if op.name == "graph.mul"]
    assert scaled == [*module_arguments(module)[1:]]
    before, after = interpret(parsed(text)[1], inputs), interpret(module, inputs)
    for left, right in zip(before, after, strict=True):
        assert np.array_equal(left, right)


def module_arguments(module: ModuleOp) -> Sequence[SSAValue]:
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    return function.body.block.args


@pytest.mark.parametrize("count", [20, 3000])
def test_numbers_move_through_chains_of_any_length(count: int):
    """They do where a chain is short, and stay where it is longer than functions go."""
    t = "tensor<64x64xf32>"
    lines = [
        f"  %{n + 1} = graph.add %{n or 'x'}, %x : ({t}, {t}) -> {t}".replace(
            "%0", "%x"
        )
        for n in range(count)
    ]
    text = "\n".join(
        [
            f"func.func @f(%x: {t}, %w: tensor<64x4096xf32>) -> tensor<64x4096xf32> {{",
            *lines,
            f"  %p = graph.matmul %{count}, %w : ({t}, tensor<64x4096xf32>)"
            " -> tensor<64x4096xf32>",
            "  %c = graph.constant dense<3.0> : tensor<f32>",
            "  %y = graph.mul %p, %c : (tensor<64x4096xf32>, tensor<f32>)"
            " -> tensor<64x4096xf32>",
            "  func.return %y : tensor<64x4096xf32>",
            "}",
        ]
    )
    context, module = parsed(text)

    PassManager([GraphHoistScalesPass()]).run(context, module)

    (product,) = (op for op in module.walk() if op.name == "graph.matmul")
    assert not any(use.operation.name == "graph.mul" for use in product.results[0].uses)
