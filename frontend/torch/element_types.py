"""Import of PyTorch dtypes: their element types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from xdsl.dialects.builtin import (
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute

from tlf.dialects.types import AnyTensor
from tlf.frontend.torch.import_errors import Unsupported

ELEMENTS: Mapping[torch.dtype, Attribute] = {
    torch.float64: f64,
    torch.float32: f32,
    torch.float16: f16,
    torch.bfloat16: bf16,
    torch.int64: i64,
    torch.int32: i32,
    torch.int8: i8,
    torch.bool: i1,
}

DTYPES: Mapping[Attribute, torch.dtype] = {
    element: dtype for dtype, element in ELEMENTS.items()
}


def element_of_dtype(dtype: torch.dtype) -> Attribute:
    """Return the element type of a dtype. Raises `Unsupported` for other dtypes."""
    if (element := ELEMENTS.get(dtype)) is None:
        listed = ", ".join(str(each).removeprefix("torch.") for each in ELEMENTS)
        name = str(dtype).removeprefix("torch.")
        raise Unsupported(f"expected a dtype among {listed}, got {name}")
    return element


def ir_type_of(tensor: torch.Tensor) -> AnyTensor:
    """
    Return the type of a tensor or fake tensor. Raises `Unsupported` for dynamic shapes,
    sparse layouts and unsupported dtypes.
    """
    if tensor.layout != torch.strided:
        raise Unsupported(f"expected a dense tensor, got layout {tensor.layout}")
    shape: list[int] = []
    for extent in tensor.shape:
        if not isinstance(cast(object, extent), int):
            raise Unsupported(f"expected a static shape, got {tuple(tensor.shape)}")
        shape.append(int(extent))
    return TensorType(element_of_dtype(tensor.dtype), shape)
