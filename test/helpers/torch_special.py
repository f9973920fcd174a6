"""Numbers at the edges of their types for functions of PyTorch, compared bit by bit."""

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
    Functions by what they return, in Python, where `T` is torch and `F` is
    torch.nn.functional.
    """
    names = {"T": torch, "F": functional, **known}
    note = f" for {known}" if known else ""
    return {
        f"{text}{note}": eval(f"lambda {parameters}: {text}", names) for text in texts
    }


class Together(torch.nn.Module):
    """Functions of the same arguments as one module."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *arguments: Any) -> Any:
        return tuple(function(*arguments) for function in self.functions)


def special(dtype: torch.dtype) -> Tensor:
    """Zeros, infinities, NaN, the largest and the least numbers, and plain ones."""
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
    """Two arguments that hold every pair of special numbers."""
    numbers = special(dtype)
    return numbers.repeat_interleave(len(numbers)), numbers.repeat(len(numbers))


def differences(found: Tensor, wanted: Tensor, *, zeros: bool = True) -> list[str]:
    """
    Return the differences of two tensors. NaN is equal to NaN; zeros differ by their
    signs, if `zeros`.
    """
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return [f"{found.dtype}{found.shape} for {wanted.dtype}{wanted.shape}"]
    mine, theirs = found.flatten(), wanted.flatten()
    same = (mine == theirs) | ((mine != mine) & (theirs != theirs))
    if zeros and wanted.is_floating_point():
        same &= (T.signbit(mine) == T.signbit(theirs)) | T.isnan(theirs)
    places = [place for place, each in enumerate(same) if not each]
    return [f"{mine[at].item()} for {theirs[at].item()} at {at}" for at in places]


def check_exactly(
    given: Functions,
    arguments: Sequence[Any],
    targets: Sequence[str] = ("reference",),
    *,
    wanted: Sequence[Tensor] | None = None,
    zeros: bool = True,
) -> None:
    """Compare functions on targets with what PyTorch computes, or with `wanted`."""
    if wanted is None:
        wanted = [function(*arguments) for function in given.values()]
    imported = from_torch(Together(list(given.values())), arguments)
    for target in targets:
        found = CompiledModule(imported, target)(*arguments)
        for name, mine, theirs in zip(given, found, wanted, strict=True):
            with noted(f"{name} on {target}"):
                assert differences(mine, theirs, zeros=zeros) == []
