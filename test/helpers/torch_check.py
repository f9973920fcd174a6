"""Comparison of compiled modules with PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from tlf.compiler.api.torch_backend import REPORT, tlf

T: Any = torch
TOLERANCES = {torch.float32: 1e-5, torch.float16: 3e-3, torch.bfloat16: 2e-2}


class Module(torch.nn.Module):
    """Module that wraps a function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def tensors(value: Any) -> list[Tensor]:
    """Return the tensors of a result, in order."""
    if isinstance(value, Tensor):
        return [value]
    return [tensor for each in value for tensor in tensors(each)]


def assert_close(found: Any, expected: Any, tolerance: float) -> None:
    """Compare results by shape, dtype and each element."""
    for actual, reference in zip(tensors(found), tensors(expected), strict=True):
        assert (actual.shape, actual.dtype) == (reference.shape, reference.dtype)
        torch.testing.assert_close(
            actual, reference, rtol=tolerance, atol=tolerance, equal_nan=True
        )


@contextmanager
def noted(note: str) -> Generator[None]:
    """Add a note to errors raised in the body."""
    try:
        yield
    except Exception as error:
        error.add_note(note)
        raise


def relative_error(found: Any, expected: Any) -> float:
    """
    Return the norm of the difference of all tensors, relative to the expected norm.
    """
    actual, reference = (
        torch.cat([each.double().flatten() for each in tensors(value)])
        for value in (found, expected)
    )
    return float(
        T.linalg.vector_norm(actual - reference) / T.linalg.vector_norm(reference)
    )


def compiled_by_backend(
    module: Callable[..., Any], target: str = "reference"
) -> Callable[..., Any]:
    """Compile a function with `torch.compile`, starting from an empty `REPORT`."""
    torch.compiler.reset()
    REPORT.clear()
    return T.compile(module, backend=tlf, options={"target": target})
