"""The constant -0 keeps its sign on every target."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_check import Module, T

from tlf.compiler.api.torch_module import compile_module

F = nn.functional


def stored(x: Tensor) -> Tensor:
    return T.full_like(x, -0.0)


def masked(x: Tensor) -> Tensor:
    return x.masked_fill(x > 0, -0.0)


def selected(x: Tensor) -> Tensor:
    return T.where(x < 0, -0.0, x * 2)


def padded(x: Tensor) -> Tensor:
    return F.pad(x, (1, 2), value=-0.0)


def clamped(x: Tensor) -> Tensor:
    return T.clamp(-T.abs(x) - 1, min=-0.0)


def divided(x: Tensor) -> Tensor:
    return x / (T.full_like(x, -0.0) * 1)


@pytest.mark.one_in(1)
@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "function", [stored, masked, selected, padded, clamped, divided]
)
def test_the_sign_of_negative_zero(
    function: Callable[[Tensor], Tensor], dtype: torch.dtype, target: str
):
    x = T.tensor([[-2.0, 3.0, 0.5], [-0.25, 1.0, -7.0]], dtype=dtype)
    wanted = function(x)
    found = compile_module(Module(function), (x,), target=target)(x)
    torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    assert T.signbit(found).equal(T.signbit(wanted))


def limited(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.clamp(min=0.0),
        x.clamp(min=-0.0),
        x.clamp(max=0.0),
        x.clamp(max=-0.0),
        x.clamp(-0.0, 0.0),
        F.relu(x),
        F.relu6(x),
        F.hardtanh(x, -1.0, -0.0),
    )


@pytest.mark.one_in(3 / 8)
@pytest.mark.parametrize("target", ["reference", "npu", "triton"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_limits_of_zero_keep_the_sign_of_zero(dtype: torch.dtype, target: str):
    x = T.tensor([0.0, -0.0, 2.0, -3.0, -0.0, 0.0], dtype=dtype)
    found = compile_module(Module(limited), (x,), target=target)(x)
    for actual, expected in zip(found, limited(x), strict=True):
        torch.testing.assert_close(actual, expected, rtol=0, atol=0)
        assert T.signbit(actual).equal(T.signbit(expected))
