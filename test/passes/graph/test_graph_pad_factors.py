"""Products of padded factors compute the same."""

import numpy as np
import pytest
from differential import parsed
from xdsl.dialects.builtin import bf16, f16

from tlf.compiler.driver.driver import PASSES
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.dialects import graph
from tlf.dialects.interpreters.interpret import interpret
from tlf.dialects.target import load_target_spec
from tlf.dialects.types import dtype_of
from tlf.lowering.pipelines import PIPELINES

BATCHED = "(b, i, k)", "(b, k, j)", "(b, i, j)"
PLAIN = "(i, k)", "(k, j)", "(i, j)"
TRANSPOSED = "(k, i)", "(j, k)", "(j, i)"

CASES = {
    "reduction": (PLAIN, (1024, 1023), (1023, 1024), (1024, 1024)),
    "result": (PLAIN, (1024, 512), (512, 1021), (1024, 1021)),
    "both": (TRANSPOSED, (1023, 1021), (1024, 1023), (1024, 1021)),
    "batched": (BATCHED, (2, 768, 1023), (2, 1023, 768), (2, 768, 768)),
}


def product_of(name: str, element: str) -> str:
    """Return a program with one product."""
    maps, *shapes = CASES[name]
    iterators = "(b, i, j, k)" if maps is BATCHED else "(i, j, k)"
    listed = ", ".join(f"affine_map<{iterators} -> {each}>" for each in maps)
    x, w, y = (f"tensor<{'x'.join(map(str, each))}x{element}>" for each in shapes)
    return (
        f"func.func @main(%x: {x}, %w: {w}) -> {y} {{\n"
        f"%y = graph.contract %x, %w maps [{listed}] : ({x}, {w}) -> {y}\n"
        f"func.return %y : {y}\n}}"
    )


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("name", CASES)
def test_products_of_padded_factors_are_equal(name: str, element: str):
    context, module = parsed(product_of(name, element))
    dtype = dtype_of({"f16": f16, "bf16": bf16}[element])
    generator = np.random.default_rng(0)
    shapes = dict(zip("xw", CASES[name][1:3], strict=True))
    arrays = {
        each: generator.integers(-4, 5, shape).astype(dtype)
        for each, shape in shapes.items()
    }
    expected = interpret(module, arrays)[0]
    load_target_spec("h200").attach_to_module(module)
    passes = build_passes("graph-pad-factors", PASSES, PIPELINES)
    PassManager(passes).run(context, module)
    assert any(isinstance(op, graph.PadOp) for op in module.walk())
    np.testing.assert_array_equal(interpret(module, arrays)[0], expected)
