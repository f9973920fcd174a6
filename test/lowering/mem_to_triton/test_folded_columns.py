"""Products whose rows or columns are several short axes of a tile."""

from collections.abc import Callable

import numpy as np
import pytest
from differential import parsed
from numpy.testing import assert_allclose

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects.target import load_target_spec
from tlf.lowering.mem_to_triton.triton_target import build_launch_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.runtime import triton
from tlf.runtime.triton.launch_plan import Plan, load_plan

PASSES_AFTER_TILES = (
    "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-fold-unit-dims,tidy,"
    "convert-mem-to-triton"
)


def lowered(text: str) -> Plan:
    """The plan of a program whose groups have tiles."""
    context, module = parsed(text)
    load_target_spec("h200").attach_to_module(module)
    passes = build_passes(PASSES_AFTER_TILES, PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    return load_plan(build_launch_plan(module).json)


def plan_with(tile: tuple[int, int], element: str) -> Plan:
    """A convolution with filters of one element, on tiles of so many rows."""
    wide = f"tensor<1x64x32x32x{element}>"
    sums, filters = "tensor<1x64x32x32xf32>", f"tensor<64x64x1x1x{element}>"
    sizes = [1, 64, *tile]
    return lowered(f"""
func.func @main(%x: {wide}, %w: {filters}) -> {sums} {{
  %y = graph.group ins(%a = %x, %b = %w : {wide}, {filters})
      plan #graph.plan<L1, tile {sizes}, reduce [64, 1, 1], mapping grid>
      -> ({sums}) {{
    %p = graph.conv2d %a, %b : ({wide}, {filters}) -> {sums}
    graph.yield %p : {sums}
  }}
  func.return %y : {sums}
}}
""")


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("element", ["f16", "f32"])
@pytest.mark.parametrize("tile", [(4, 4), (8, 2), (16, 4), (4, 8), (2, 16), (16, 1)])
def test_tiles(
    tile: tuple[int, int], element: str, compile_plan: Callable[[Plan], None]
):
    plan = plan_with(tile, element)
    rng = np.random.default_rng(0)
    dtype = np.dtype({"f16": "float16", "f32": "float32"}[element])
    inputs = {
        "x": rng.standard_normal((1, 64, 32, 32)).astype(dtype),
        "w": rng.standard_normal((64, 64, 1, 1)).astype(dtype),
    }
    (found,) = triton.run(plan, inputs).values()
    x, w = (each.astype(np.float64) for each in inputs.values())
    wanted = np.einsum("bchw,oc->bohw", x, w[:, :, 0, 0])
    assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-4)
    compile_plan(plan)


def attention(heads: int, rows: int) -> Plan:
    """Attention of heads that share keys, on tiles of some heads and some rows."""
    queries, keys = "tensor<4x32x64xf16>", "tensor<256x64xf16>"
    scores, probabilities = "tensor<4x32x256xf32>", "tensor<4x32x256xf16>"
    row, out = "tensor<4x32x1xf32>", "tensor<4x32x64xf32>"
    products = [
        f"affine_map<(h, r, c, d) -> ({axes})>"
        for axes in ("h, r, d", "c, d", "h, r, c", "d, c")
    ]
    left, right, result, across = products
    return lowered(f"""
func.func @main(%q: {queries}, %k: {keys}, %v: {keys}) -> {out} {{
  %y = graph.group ins(%a = %q, %b = %k, %c = %v : {queries}, {keys}, {keys})
      plan #graph.plan<L1, tile [{heads}, {rows}, 64], reduce [128], mapping grid>
      -> ({out}) {{
    %s = graph.contract %a, %b maps [{left}, {right}, {result}]
        : ({queries}, {keys}) -> {scores}
    %m = graph.reduce %s <max> axes [2] keepdims : ({scores}) -> {row}
    %d = graph.sub %s, %m : ({scores}, {row}) -> {scores}
    %e = graph.exp %d : {scores}
    %t = graph.reduce %e <sum> axes [2] keepdims : ({scores}) -> {row}
    %p = graph.cast %e : ({scores}) -> {probabilities}
    %o = graph.contract %p, %c maps [{left}, {across}, {result}]
        : ({probabilities}, {keys}) -> {out}
    %z = graph.div %o, %t : ({out}, {row}) -> {out}
    graph.yield %z : {out}
  }}
  func.return %y : {out}
}}
""")


@pytest.mark.parametrize("tile", [(4, 16), (2, 32), (1, 32)])
def test_totals_of_heads_are_corrected(
    tile: tuple[int, int], compile_plan: Callable[[Plan], None]
):
    plan, rng = attention(*tile), np.random.default_rng(0)
    shapes = {"q": (4, 32, 64), "k": (256, 64), "v": (256, 64)}
    inputs = {
        name: rng.standard_normal(shape).astype(np.float16)
        for name, shape in shapes.items()
    }
    (found,) = triton.run(plan, inputs).values()
    q, k, v = (each.astype(np.float64) for each in inputs.values())
    weights = np.exp((scores := q @ k.T) - scores.max(-1, keepdims=True))
    wanted = weights @ v / weights.sum(-1, keepdims=True)
    assert_allclose(np.asarray(found), wanted, rtol=2e-3, atol=2e-3)
    compile_plan(plan)
