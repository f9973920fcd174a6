"""How far results of PyTorch are from exact ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from torch import Tensor
from torch_model import T


def tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, Tensor):
        yield value
        return
    is_named = isinstance(value, dict)
    for each in cast("dict[str, Any]", value).values() if is_named else value:
        yield from tensors(each)


def error(found: Any, exact: Any) -> float:
    """The greatest relative error of the tensors of a result."""
    return max(
        float(T.norm(mine.to(theirs.device).double() - theirs) / T.norm(theirs))
        for mine, theirs in zip(tensors(found), tensors(exact), strict=True)
    )
