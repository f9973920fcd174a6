"""Tensors of PyTorch as numpy arrays, and arrays as tensors, without IR."""

from __future__ import annotations

from typing import Any, cast

import ml_dtypes
import numpy as np
import torch
from numpy.typing import NDArray

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def to_array(tensor: torch.Tensor) -> NDArray[Any]:
    """Return the elements of a tensor as a numpy array; shares memory on the CPU."""
    host = cast(Any, tensor.detach().resolve_conj().resolve_neg().cpu().contiguous())
    if tensor.dtype == torch.bfloat16:
        return host.view(torch.int16).numpy().view(BFLOAT16)
    return host.numpy()


def to_tensor(array: NDArray[Any]) -> torch.Tensor:
    """Return a tensor with the elements of a numpy array; shares memory if possible."""
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    if not contiguous.flags.writeable:
        contiguous = contiguous.copy()
    from_numpy = cast(Any, torch.from_numpy)
    if contiguous.dtype == BFLOAT16:
        return from_numpy(contiguous.view(np.int16)).view(torch.bfloat16)
    return from_numpy(contiguous)
