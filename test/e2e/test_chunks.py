"""Moves in chunks: products start when the first part of what they need is there."""

import random

import pytest
from bounded import bounds_in
from differential import (
    check,
    disagreement,
    make_case,
    printed,
    run_lowered,
    with_and_without,
)
from example_layers import BlockSizes, bottleneck
from example_variants import matmul_bias_relu
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import load_target_spec
from tlf.runtime import npu

NPU = load_target_spec("npu")

NORMALIZED = """
func.func @normalized(%a: tensor<2x24x{rows}x17xf16>, %b: tensor<2x12x{rows}x17xf16>,
    %g: tensor<17xf16> {{tlf.parameter}})
    -> (tensor<2x36x{rows}x17xf16>, tensor<2x36xf32>) {{
  %c = graph.concat %a, %b axis 1
      : (tensor<2x24x{rows}x17xf16>, tensor<2x12x{rows}x17xf16>)
      -> tensor<2x36x{rows}x17xf16>
  %n = graph.layer_norm %c weight %g epsilon 1.0e-05
      : (tensor<2x36x{rows}x17xf16>, tensor<17xf16>) -> tensor<2x36x{rows}x17xf16>
  %f = graph.cast %n : (tensor<2x36x{rows}x17xf16>) -> tensor<2x36x{rows}x17xf32>
  %s = graph.reduce %f <max> axes [2, 3]
      : (tensor<2x36x{rows}x17xf32>) -> tensor<2x36xf32>
  func.return %n, %s : tensor<2x36x{rows}x17xf16>, tensor<2x36xf32>
}}
"""


def cycles(context: Context, module: ModuleOp) -> int:
    program = npu.parse(printed(context, module, NPU))
    return npu.run(program, {}, functional=False).cycles


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_values_with_any_tiles(seed: int):
    """Races, and chunks that have not arrived, trap. Some tiles do not fit."""
    chosen = random.Random(seed)
    rows, columns, depth = chosen.choices([256, 300, 384, 512, 517, 640], k=3)
    element = chosen.choice(["f32", "f16", "bf16"])
    case = make_case(matmul_bias_relu(rows, columns, depth, element).program.text())
    fault = check(case, "npu", stages=False, plans=seed)
    assert fault is None or fault.kind == "refused"


@pytest.mark.parametrize(("size", "times"), [(512, 1.25), (1024, 1.1)])
def test_they_hide_loads(size: int, times: float):
    """All weights before the first product take 0.25 and 0.12 of the bound."""
    text = matmul_bias_relu(size, size, size, "f16").program.text()
    context, module, whole = with_and_without(text, NPU, "mem-chunk-loads")

    found = cycles(context, module)

    assert found < 0.96 * cycles(context, whole)
    assert found < times * bounds_in(text, NPU).cycles


@pytest.mark.long
def test_the_first_window_of_a_chain_comes_in_chunks():
    """Its first products start when its first rows are there, and values are right."""
    text = bottleneck(BlockSizes(1, 64, 32, 32, 64), "f16").program.text()
    case = make_case(text)

    context, module, whole = with_and_without(text, NPU, "mem-chunk-loads")

    assert cycles(context, module) < 0.985 * cycles(context, whole)
    found = run_lowered(context, module, NPU, case.inputs)
    assert disagreement(case, found) is None


@pytest.mark.searched
@pytest.mark.parametrize("rows", [9, 25])
def test_what_is_stored_beside_chunks_is_waited_for(rows: int):
    """A loop makes two results, of which one leaves in chunks and the other whole."""
    case = make_case(NORMALIZED.format(rows=rows))
    assert check(case, "u85-like", stages=False, search=True) is None
