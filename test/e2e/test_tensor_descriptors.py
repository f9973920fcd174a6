"""
Products whose factors kernels load by tensor descriptors: in Triton's interpreter,
against the reference.
"""

import random

import pytest
import torch
from differential import check, compiled_text, make_case

import tlf
from tlf.runtime.triton import load_plan

PRODUCT = """
func.func @f(%x: tensor<{batch}x{rows}x{depth}x{T}>, %w: tensor<{weight}x{T}>,
             %b: tensor<{columns}x{T}>) -> tensor<{batch}x{rows}x{columns}x{T}> {{
  %0 = graph.contract %x, %w maps [affine_map<(b, m, n, k) -> (b, m, k)>,
      affine_map<(b, m, n, k) -> {order}>, affine_map<(b, m, n, k) -> (b, m, n)>]
      acc f32 : (tensor<{batch}x{rows}x{depth}x{T}>, tensor<{weight}x{T}>)
      -> tensor<{batch}x{rows}x{columns}x{T}>
  %1 = graph.add %0, %b
      : (tensor<{batch}x{rows}x{columns}x{T}>, tensor<{columns}x{T}>)
      -> tensor<{batch}x{rows}x{columns}x{T}>
  func.return %1 : tensor<{batch}x{rows}x{columns}x{T}>
}}"""

SLICED = """
func.func @f(%x: tensor<96x808xf16>, %w: tensor<40x728xf16>) -> tensor<80x40xf16> {
  %a = graph.slice %x offsets [8, 48] strides [1, 1]
      : (tensor<96x808xf16>) -> tensor<80x728xf16>
  %0 = graph.contract %a, %w maps [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] acc f32
      : (tensor<80x728xf16>, tensor<40x728xf16>) -> tensor<80x40xf16>
  func.return %0 : tensor<80x40xf16>
}"""


class Product(torch.nn.Module):
    """Product of two matrices."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return x @ w


def described_loads(text: str) -> int:
    plan = load_plan(compiled_text(text, "h200"))
    return sum(len(kernel.descriptors) for kernel in plan.kernels)


@pytest.mark.one_in(1 / 4)
@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("seed", range(4))
def test_random_extents(seed: int, element: str):
    """Tiles do not divide extents, which are multiples of 16 bytes in the rows."""
    generator = random.Random(seed)
    batch, rows = generator.randint(1, 3), generator.randint(65, 90)
    depth, columns = 8 * generator.randint(65, 90), 8 * generator.randint(5, 14)
    weight, order = (depth, columns), "(k, n)"
    if seed % 2:
        weight, order = weight[::-1], "(n, k)"
    text = PRODUCT.format(
        batch=batch,
        rows=rows,
        depth=depth,
        columns=columns,
        weight="x".join(map(str, weight)),
        order=order,
        T=element,
    )
    assert described_loads(text) == 2
    assert check(make_case(text, seed), "h200", stages=False) is None


def test_slices():
    """The offset of a slice is part of the descriptor."""
    assert described_loads(SLICED) == 2
    assert check(make_case(SLICED), "h200", stages=False) is None


@pytest.mark.parametrize("start", [0, 3, 8])
def test_unaligned_arguments(start: int):
    """An argument whose memory cannot be described is copied."""
    x = torch.randn(64 * 512 + start).half()[start:].view(64, 512)
    w = torch.randn(64 * 512 + start).half()[start:].view(512, 64)
    run = tlf.compile(Product().eval(), [x, w], target="triton")
    assert described_loads(str(tlf.from_torch(Product().eval(), (x, w)).module)) == 2
    assert torch.allclose(run(x, w).float(), x.float() @ w.float(), atol=0.1)
