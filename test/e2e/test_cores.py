"""Programs on chips with several cores give what the reference gives."""

from pathlib import Path

import pytest
from differential import check, compiled_text, make_case
from example_layers import BlockSizes, bottleneck
from example_variants import (
    Variant,
    gelu,
    layer_norm,
    matmul_bias_relu,
    softmax,
    weighted_sum,
)
from random_chains import random_chain
from random_programs import random_program

from tlf.runtime import npu

EXAMPLES = Path(__file__).parents[2] / "examples"

KERNELS = [
    matmul_bias_relu(37, 29, 53),
    gelu(37, 211),
    softmax(31, 307),
    layer_norm(29, 307, "bf16"),
    weighted_sum(101, 307),
]
"""Products, maps and reductions, in tiles that no number of cores divides."""

LAYERS = [
    (matmul_bias_relu(101, 103, 211, "f16").program.text(), 4),
    ((EXAMPLES / "attention.mlir").read_text(encoding="utf-8"), 2),
    (bottleneck(BlockSizes(1, 37, 13, 13, 17)).program.text(), 3),
]
"""Attention, convolutions with a residual, and for how many cores."""


@pytest.mark.one_in(6)
@pytest.mark.parametrize("cores", [2, 3, 4])
@pytest.mark.parametrize("variant", KERNELS, ids=lambda each: each.name)
def test_kernels(variant: Variant, cores: int):
    """After every pass, too."""
    case = make_case(variant.program.text())
    assert check(case, f"npu-tiny:cores={cores}", stages=cores == 3) is None


AS_MANY = """
func.func @f(%x: tensor<1x3x{n}x8x7xf32>, %w: tensor<6x3x3x3x3xf32>)
    -> tensor<1x6x{n}x8x7xf32> {{
  %y = graph.conv3d %x, %w strides [1, 1, 1] padding [1, 1, 1, 1, 1, 1]
      : (tensor<1x3x{n}x8x7xf32>, tensor<6x3x3x3x3xf32>) -> tensor<1x6x{n}x8x7xf32>
  func.return %y : tensor<1x6x{n}x8x7xf32>
}}
"""


@pytest.mark.parametrize("cores", [2, 3, 4])
def test_as_many_tiles_as_cores(cores: int):
    """Every core has the filters for its only tile."""
    case = make_case(AS_MANY.format(n=cores))
    assert check(case, f"npu:cores={cores}", stages=False) is None


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    ("text", "cores"), LAYERS, ids=["product", "attention", "block"]
)
def test_layers(text: str, cores: int):
    """Loops are dealt, and those that have settled are skipped over exactly."""
    name = f"npu-tiny:cores={cores}"
    assert check(make_case(text), name, stages=False) is None
    compiled = compiled_text(text, name, search=False)
    assert "cores %" in compiled
    program = npu.parse(compiled)
    short = npu.run(program, {}, functional=False)
    assert short == npu.run(program, {}, functional=False, step_by_step=True)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed: int):
    """With random plans, every other time."""
    make = (random_program, random_chain)[seed % 4 // 2]
    plans = seed if seed % 2 else None
    case = make_case(make(7000 + seed).text())
    fault = check(case, "npu-tiny:cores=4", stages=False, plans=plans)
    assert fault is None or fault.kind == "refused"


@pytest.mark.searched
def test_four_cores_are_faster():
    """Products that the array limits."""
    text = matmul_bias_relu(512, 512, 512, "f32").program.text()
    one, four = (
        npu.run(program, {}, functional=False).cycles
        for name in ("npu-4core:cores=1", "npu-4core")
        for program in [npu.parse(compiled_text(text, name, search=False))]
    )
    assert 2.5 * four < one
