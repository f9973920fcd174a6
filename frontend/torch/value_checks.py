"""
Import of FX graphs: calls whose operand values PyTorch checks at run time, such as
indices.
"""

from __future__ import annotations

import torch
from torch import fx

from tlf.frontend.torch.convert import fake_result_tensors_of
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import find_aten_overload

INDEXED = frozenset(
    map(
        find_aten_overload,
        (
            *("embedding.default", "index_select.default", "gather.default"),
            *("index.Tensor", "index_put.default", "scatter.src", "scatter.value"),
            *("scatter_add.default", "scatter_reduce.two"),
        ),
    )
)
"""Operations that take indices."""

DIVIDING = frozenset(
    map(
        find_aten_overload,
        (
            *("div.Tensor_mode", "div.Scalar_mode", "fmod.Tensor", "fmod.Scalar"),
            *("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"),
        ),
    )
)
"""Operations that divide integers, if their results are integers."""


def needs_value_check(node: fx.Node) -> bool:
    """
    Return `True` if PyTorch checks values of a call's operands that TLF does not check.
    """
    if node.target in INDEXED:
        return True
    if node.target not in DIVIDING:
        return False
    try:
        (result,) = fake_result_tensors_of(node)
    except Unsupported:
        return False
    return isinstance(result, torch.Tensor) and not result.is_floating_point()
