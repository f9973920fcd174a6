"""Passes keep the precision of products, and do not merge those of different ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp

from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import mem
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.target import load_target_spec
from tlf.lowering.pipelines import PIPELINES

X, W, Y = "tensor<32x64xf32>", "tensor<64x48xf32>", "tensor<32x48xf32>"
IMAGE, FILTERS = "tensor<1x16x8x8xf32>", "tensor<32x16x3x3xf32>"
CHANNELS = "tensor<32xf32>"
NORM = ", ".join(f"%{each}: {CHANNELS} {{tlf.parameter}}" for each in "abcd")

PROGRAMS: Mapping[str, str] = {
    "split reduction": """
func.func @f(%x: tensor<16x8192xf32>, %w: tensor<8192x16xf32>) -> tensor<16x16xf32> {
  %y = graph.matmul %x, %w precision "PRECISION"
      : (tensor<16x8192xf32>, tensor<8192x16xf32>) -> tensor<16x16xf32>
  func.return %y : tensor<16x16xf32>
}""",
    "batch normalization": f"""
func.func @f(%x: {IMAGE}, %w: {FILTERS} {{tlf.parameter}}, {NORM})
    -> tensor<1x32x6x6xf32> {{
  %0 = graph.conv2d %x, %w precision "PRECISION"
      : ({IMAGE}, {FILTERS}) -> tensor<1x32x6x6xf32>
  %y = graph.batch_norm %0 mean %a variance %b weight %c bias %d epsilon 1.0e-5
      : (tensor<1x32x6x6xf32>, {CHANNELS}, {CHANNELS}, {CHANNELS}, {CHANNELS})
      -> tensor<1x32x6x6xf32>
  func.return %y : tensor<1x32x6x6xf32>
}}""",
    "groups": """
func.func @f(%x: tensor<1x32x8x8xf32>, %w: tensor<32x16x3x3xf32>)
    -> tensor<1x32x6x6xf32> {
  %y = graph.conv2d %x, %w groups 2 precision "PRECISION"
      : (tensor<1x32x8x8xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x6x6xf32>
  func.return %y : tensor<1x32x6x6xf32>
}""",
    "scaled": f"""
func.func @f(%x: {X}, %w: {W} {{tlf.parameter}}) -> {Y} {{
  %c = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.mul %x, %c : ({X}, tensor<f32>) -> {X}
  %1 = graph.matmul %0, %w precision "PRECISION" : ({X}, {W}) -> {Y}
  %y = graph.relu %1 : {Y}
  func.return %y : {Y}
}}""",
    "attention": """
func.func @f(%q: tensor<4x32x16xf32>, %k: tensor<4x16x32xf32>, %v: tensor<4x32x16xf32>)
    -> tensor<4x32x16xf32> {
  %0 = graph.matmul %q, %k precision "PRECISION"
      : (tensor<4x32x16xf32>, tensor<4x16x32xf32>) -> tensor<4x32x32xf32>
  %1 = graph.softmax %0 axis 2 : (tensor<4x32x32xf32>) -> tensor<4x32x32xf32>
  %y = graph.matmul %1, %v precision "PRECISION"
      : (tensor<4x32x32xf32>, tensor<4x32x16xf32>) -> tensor<4x32x16xf32>
  func.return %y : tensor<4x32x16xf32>
}""",
}


def lower(text: str, pipeline: str, target: str) -> ModuleOp:
    """Run a pipeline on a program for a target."""
    context = new_context()
    module = parse_module(context, Source(text, "program.mlir"))
    load_target_spec(target).attach_to_module(module)
    PassManager(build_passes(pipeline, PASSES, PIPELINES)).run(context, module)
    return module


def count_by_precision(module: ModuleOp) -> Counter[str]:
    """Return the number of products of each precision."""
    return Counter(
        op.precision
        for op in module.walk()
        if isinstance(op, ContractionInterface | mem.ContractOp)
    )


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("precision", ["tf32", "tf32x3"])
@pytest.mark.parametrize(
    ("target", "pipeline"),
    [
        ("h200", "graph-pipeline"),
        ("h200", "triton-pipeline"),
        ("npu", "graph-pipeline"),
    ],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_products_keep_their_precision(
    name: str, target: str, pipeline: str, precision: str
):
    text = PROGRAMS[name].replace("PRECISION", precision)
    if pipeline == "graph-pipeline":
        pipeline = f"{pipeline},graph-unfold-windows"
    found = count_by_precision(lower(text, pipeline, target))
    assert found.keys() == {precision}


def test_products_of_different_precisions_are_not_merged():
    weights = ", ".join(f"%{each}: {W} {{tlf.parameter}}" for each in "uvw")
    lines = "\n".join(
        f'%{index} = graph.matmul %x, %{weight} precision "{precision}" '
        f": ({X}, {W}) -> {Y}"
        for index, (weight, precision) in enumerate(
            [("u", "tf32"), ("v", "tf32"), ("w", "ieee"), ("u", "tf32x3")]
        )
    )
    text = f"func.func @f(%x: {X}, {weights}) -> ({Y}, {Y}, {Y}, {Y}) {{\n{lines}\n"
    text += f"func.return %0, %1, %2, %3 : {Y}, {Y}, {Y}, {Y}\n}}"
    found = count_by_precision(lower(text, "tlf-cse,graph-merge-matmuls,dce", "h200"))
    assert found == {"tf32": 1, "ieee": 1, "tf32x3": 1}
