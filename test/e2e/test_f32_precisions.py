"""
Products of f32 in each precision, from PyTorch modules to kernels: factors of tf32 are
rounded, and all passes keep the precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import tlf


class Product(nn.Module):
    """A batched product of two tensors."""

    def forward(self, x: Tensor) -> Tensor:
        return x @ x.transpose(-1, -2)


class Attention(nn.Module):
    """Attention of a tensor to itself."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(x, x, x)


Case = tuple[Callable[[], nn.Module], tuple[int, ...]]

CASES: Mapping[str, Case] = {
    "linear": (lambda: nn.Linear(40, 48), (32, 40)),
    "batched": (Product, (3, 32, 40)),
    "1d": (lambda: nn.Conv1d(16, 32, 3, padding=1), (2, 16, 20)),
    "2d": (lambda: nn.Conv2d(16, 24, 3, stride=2), (2, 16, 9, 11)),
    "pointwise": (lambda: nn.Conv2d(16, 32, 1), (1, 16, 6, 7)),
    "groups": (lambda: nn.Conv2d(32, 32, 3, groups=2), (1, 32, 7, 7)),
    "3d": (lambda: nn.Conv3d(3, 16, 3), (1, 3, 5, 6, 6)),
    "transposed": (lambda: nn.ConvTranspose1d(16, 16, 3, stride=2), (1, 16, 20)),
}


def round_to_tf32(value: Tensor) -> Tensor:
    """Return a tensor of f32 rounded to the bits that tf32 has."""
    bits = value.view(torch.int32)
    return (bits + 0xFFF + ((bits >> 13) & 1) & ~0x1FFF).view(torch.float32)


def distance(found: Tensor, exact: Tensor) -> float:
    """Return the largest difference, relative to the largest element."""
    return float((found.double() - exact).abs().max() / exact.abs().max())


def make(case: Case) -> tuple[nn.Module, Tensor]:
    make_module, shape = case
    library: Any = torch
    library.manual_seed(0)
    return make_module().eval(), torch.rand(shape) + 0.5


@torch.no_grad()
def compute_exactly(case: Case, *, rounds: bool) -> Tensor:
    """Compute a module in f64, on rounded inputs and weights with `rounds`."""
    module, x = make(case)
    if rounds:
        x = round_to_tf32(x)
        for parameter in module.parameters():
            if parameter.ndim > 1:
                parameter.copy_(round_to_tf32(parameter))
    return module.double()(x.double())


@pytest.mark.one_in(1)
@pytest.mark.parametrize("precision", ["ieee", "bf16x6", "tf32x3", "tf32"])
@pytest.mark.parametrize("name", CASES)
def test_factors_of_tf32_are_rounded(name: str, precision: str):
    module, x = make(CASES[name])
    compiled = tlf.compile(module, (x,), target="triton", f32_precision=precision)
    found = compiled(x)
    rounds = precision == "tf32"
    same, other = (
        compute_exactly(CASES[name], rounds=each) for each in (rounds, not rounds)
    )
    assert distance(found, same) < 3e-6
    assert distance(found, other) > 3e-5


def test_factors_of_products_are_rounded_where_they_are_computed():
    module, x = make((Attention, (1, 32, 16)))
    exact = module.double()(x.double())
    errors = [
        distance(
            tlf.compile(Attention(), (x,), target="triton", f32_precision=each)(x),
            exact,
        )
        for each in ("ieee", "tf32")
    ]
    assert errors[0] < 1e-6
    assert 1e-5 < errors[1] < 2e-3


@pytest.mark.parametrize("name", ["linear", "1d"])
def test_the_npu_rounds_factors(name: str):
    module, x = make(CASES[name])
    errors = [
        distance(
            tlf.compile(module, (x,), target="npu", f32_precision=each)(x),
            compute_exactly(CASES[name], rounds=False),
        )
        for each in ("ieee", "tf32")
    ]
    assert errors[0] < 3e-6
    assert 1e-5 < errors[1] < 2e-3
