"""Products whose factors are so long that only pieces of them have room."""

from itertools import product

import pytest
from bounded import bounds_in
from differential import check, compiled_text, make_case
from example_variants import matmul_bias_relu

from tlf.dialects.target import load_target_spec
from tlf.runtime import npu

CONVOLUTION = """
func.func @f(%x: tensor<2x200x5x7x{T}>, %w: tensor<9x200x3x3x{T}>,
             %b: tensor<2x9x5x7x{T}>) -> tensor<2x9x5x7x{T}> {{
  %0 = graph.conv2d %x, %w padding [1, 1, 1, 1] acc f32
      : (tensor<2x200x5x7x{T}>, tensor<9x200x3x3x{T}>) -> tensor<2x9x5x7x{T}>
  %y = graph.add %0, %b : tensor<2x9x5x7x{T}>
  func.return %y : tensor<2x9x5x7x{T}>
}}"""

BATCHED = """
func.func @f(%x: tensor<3x17x1100x{T}>, %y: tensor<3x1100x13x{T}>)
    -> (tensor<3x17x13x{T}>) {{
  %0 = graph.exp %x : tensor<3x17x1100x{T}>
  %1 = graph.matmul %0, %y acc f32
      : (tensor<3x17x1100x{T}>, tensor<3x1100x13x{T}>) -> tensor<3x17x13x{T}>
  func.return %1 : tensor<3x17x13x{T}>
}}"""

SUMS = """
func.func @f(%x: tensor<7x9000x{T}>) -> tensor<7x{T}> {{
  %0 = graph.reduce %x <sum> axes [1] : (tensor<7x9000x{T}>) -> tensor<7x{T}>
  func.return %0 : tensor<7x{T}>
}}"""

PROGRAMS = {"convolution": CONVOLUTION, "batched": BATCHED, "sums": SUMS}


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("name", "element"), [*product(PROGRAMS, ("f32", "f16", "bf16"))]
)
def test_values(name: str, element: str):
    case = make_case(PROGRAMS[name].format(T=element))
    assert check(case, "npu-tiny:L2=16K") is None


@pytest.mark.one_in(3)
@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("target", ["npu-tiny:L2=16K", "npu-tiny:cores=3,L2=16K"])
def test_products(element: str, target: str):
    case = make_case(matmul_bias_relu(19, 23, 2111, element).program.text())
    assert check(case, target, stages=False) is None


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("target", "sizes", "times"),
    [
        ("npu:L2=512K", (50, 50, 5000), 1.4),
        ("npu-tiny", (16, 2048, 2048), 1.4),
        ("npu:L2=128K", (8, 2048, 512), 1.5),
        ("npu:L2=512K", (2048, 2048, 2048), 1.7),
        ("u85-like", (2048, 2048, 2048), 3.0),
    ],
)
def test_they_use_the_array(target: str, sizes: tuple[int, int, int], times: float):
    """
    With whole factors, these take from 6 to 32 times of their bounds; the third one
    4 times, if its weights were to lie in another order than they do.
    """
    text = matmul_bias_relu(*sizes, "f16").program.text()
    program = npu.parse(compiled_text(text, target))
    cycles = npu.run(program, {}, functional=False).cycles
    assert cycles < times * bounds_in(text, load_target_spec(target)).cycles
