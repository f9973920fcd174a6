"""
Import of ATen `linspace` with ends that are tensors: decomposition in PyTorch, before
conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from tlf.frontend.torch.registry import library_decomposition_of

T: Any = torch

End = Tensor | float


def _make_linspace_decomposition(operation: Any) -> Callable[..., Tensor]:
    """
    Return PyTorch's decomposition for ends that are converted to the type of the result
    first: integer results need integer ends.
    """

    def decompose(
        start: End, end: End, steps: int, *, dtype: Any = None, **options: Any
    ) -> Tensor:
        kind = T.get_default_dtype() if dtype is None else dtype
        ends = (_convert_end_to_dtype(each, kind) for each in (start, end))
        library_decompose = library_decomposition_of(operation)
        return library_decompose(*ends, steps, dtype=dtype, **options)

    return decompose


def _convert_end_to_dtype(end: End, dtype: Any) -> End:
    """Convert an end to the type of the result; numbers only to an integer type."""
    if isinstance(end, Tensor):
        return end.to(dtype)
    return end if dtype.is_floating_point else int(end)


LINSPACE: Mapping[Any, Callable[..., Tensor]] = {
    operation: _make_linspace_decomposition(operation)
    for operation in (
        T.ops.aten.linspace.Tensor_Tensor,
        T.ops.aten.linspace.Tensor_Scalar,
        T.ops.aten.linspace.Scalar_Tensor,
    )
}
"""Decomposition of each overload of `linspace` with tensor ends."""
