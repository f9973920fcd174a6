"""Bitwise comparison of functions of PyTorch on edge values of their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch_check import noted

from tlf.compiler.api.torch_module import CompiledModule
from tlf.frontend.torch.export import from_torch

T: Any = torch
Functions = Mapping[str, Callable[..., Any]]


def functions(parameters: str, *texts: str, **known: object) -> Functions:
    """
    Return functions by their result expression, in Python source.

    In the source, `T` is torch and `F` is torch.nn.functional.
    """
    names = {"T": torch, "F": functional, **known}
    note = f" for {known}" if known else ""
    return {
        f"{text}{note}": eval(f"lambda {parameters}: {text}", names) for text in texts
    }


class Together(torch.nn.Module):
    """Module that applies several functions to the same arguments."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *arguments: Any) -> Any:
        return tuple(function(*arguments) for function in self.functions)


def special(dtype: torch.dtype) -> Tensor:
    """
    Return zeros, infinities, NaN, the largest and least numbers, and ordinary ones.
    """
    if not dtype.is_floating_point:
        limits = T.iinfo(dtype)
        edges = [limits.min, limits.min + 1, limits.max - 1, limits.max]
        return T.tensor([*edges, -100, -7, -3, -1, 0, 1, 2, 3, 5, 7, 100], dtype=dtype)
    limits = T.finfo(dtype)
    sizes = [0.0, 1.0, 0.1, 0.2, 1 / 3, 0.5, 2.5, 3.0, 3.25, 5.0, 6.0, 7.0, 1e-3, 1e3]
    sizes += [1e4, limits.max, limits.tiny, limits.tiny / 8, float("inf")]
    signed = [sign * size for size in sizes for sign in (1.0, -1.0)]
    return T.tensor([*signed, float("nan")], dtype=T.float64).to(dtype)


def pairs(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return two arguments that together contain every pair of special numbers."""
    numbers = special(dtype)
    return numbers.repeat_interleave(len(numbers)), numbers.repeat(len(numbers))


def differences(found: Tensor, wanted: Tensor, *, zeros: bool = True) -> list[str]:
    """
    Return the differences of two tensors.

    NaN equals NaN. With `zeros`, zeros differ by sign.
    """
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return [f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"]
    actual, expected = found.flatten(), wanted.flatten()
    same = (actual == expected) | ((actual != actual) & (expected != expected))
    if zeros and wanted.is_floating_point():
        same &= (T.signbit(actual) == T.signbit(expected)) | T.isnan(expected)
    positions = [position for position, each in enumerate(same) if not each]
    return [
        f"{actual[index].item()} for {expected[index].item()} at {index}"
        for index in positions
    ]


def check_exactly(
    given: Functions,
    arguments: Sequence[Any],
    targets: Sequence[str] = ("reference",),
    *,
    wanted: Sequence[Tensor] | None = None,
    zeros: bool = True,
) -> None:
    """Compare functions on targets with the results of PyTorch, or with `wanted`."""
    if wanted is None:
        wanted = [function(*arguments) for function in given.values()]
    imported = from_torch(Together(list(given.values())), arguments)
    for target in targets:
        results = CompiledModule(imported, target)(*arguments)
        for name, actual, expected in zip(given, results, wanted, strict=True):
            with noted(f"{name} on {target}"):
                assert differences(actual, expected, zeros=zeros) == []
