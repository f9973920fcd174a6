"""Modules whose tensors do not lie in row-major order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_check import T, compiled_by_backend

from tlf.dialects.entry import entry_point
from tlf.dialects.layouts import declared_arguments, declared_results
from tlf.frontend.torch import from_torch
from tlf.frontend.torch.strides import lying, order_of
from tlf.tools.torch_module import compile_module

LAST = (0, 2, 3, 1)


def channels_last(whole: Any) -> Any:
    return whole.to(memory_format=torch.channels_last)


def block() -> nn.Module:
    T.manual_seed(3)
    layers = nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
    return channels_last(nn.Sequential(*layers).eval())


def image() -> Tensor:
    x = T.randn((2, 6, 10, 12), generator=T.Generator().manual_seed(5))
    return channels_last(x)


@pytest.mark.parametrize(
    ("tensor", "order"),
    [
        (T.zeros(2, 3, 4), None),
        (T.zeros(2, 3, 4).transpose(1, 2), (0, 2, 1)),
        (image(), LAST),
        (channels_last(T.zeros(2, 1, 4, 5)), None),
        (T.zeros(4, 6)[:, ::2], None),
        (T.zeros(6, 4).T[:, ::2], None),
        (T.zeros(4, 1).expand(4, 6), None),
        (T.zeros(()), None),
    ],
)
def test_order_of_strides(tensor: Tensor, order: Sequence[int] | None) -> None:
    assert order_of(tensor) == order
    assert lying(tensor.contiguous(), order).equal(tensor)


def test_channels_last_is_declared() -> None:
    imported = from_torch(block(), (image(),))
    function = entry_point(imported.module)
    assert declared_arguments(function) == [None, None, LAST]
    assert declared_results(function) == [LAST]


@pytest.mark.parametrize("target", ["reference", "npu-tiny"])
def test_channels_last_runs(target: str) -> None:
    """Results lie as those of PyTorch do, wherever arguments lie."""
    module, x = block(), image()
    compiled = compile_module(module, (x,), target=target)
    with torch.no_grad():
        expected = module(x)
    for given in (x, x.contiguous()):
        found = compiled(given)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        assert found.stride() == expected.stride()


def test_backend_keeps_strides() -> None:
    """Results of `torch.compile` lie as those of PyTorch do."""
    module, x = block(), image()
    compiled = compiled_by_backend(module, "reference")
    with torch.no_grad():
        expected, found = module(x), compiled(x)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert found.stride() == expected.stride()
