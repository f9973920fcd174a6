"""Products whose rows or columns are several short axes of a tile."""

from collections.abc import Callable

import numpy as np
import pytest
from differential import parsed
from numpy.testing import assert_allclose

from tlf.dialects.target import load
from tlf.lowering.pipelines import PIPELINES
from tlf.lowering.triton_target import build_plan
from tlf.runtime import triton
from tlf.runtime.triton.plan import Plan, load_plan
from tlf.tools.driver import PASSES
from tlf.tools.pass_manager import PassManager
from tlf.tools.pipeline import build_passes

PASSES_AFTER_TILES = (
    "convert-graph-to-tile,tidy,convert-tile-to-mem,tidy,mem-fold-unit-extents,tidy,"
    "convert-mem-to-triton"
)


def plan_with(tile: tuple[int, int], element: str) -> Plan:
    """A convolution with filters of one element, on tiles of so many rows."""
    wide = f"tensor<1x64x32x32x{element}>"
    sums, filters = "tensor<1x64x32x32xf32>", f"tensor<64x64x1x1x{element}>"
    sizes = [1, 64, *tile]
    context, module = parsed(f"""
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
    load("h200").attach(module)
    passes = build_passes(PASSES_AFTER_TILES, PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    return load_plan(build_plan(module).json)


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
