"""Relative errors of results against exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from torch import Tensor
from torch_model import T


def tensors_of(value: Any) -> Iterator[Tensor]:
    """The tensors of a result, in order."""
    if isinstance(value, Tensor):
        yield value
        return
    is_named = isinstance(value, dict)
    for each in cast("dict[str, Any]", value).values() if is_named else value:
        yield from tensors_of(each)


PART = 1 << 26
"""The most elements that are widened at a time."""


def relative_error(found: Any, exact: Any) -> float:
    """The greatest relative error of the tensors of a result; absolute if it is 0."""
    pairs = zip(tensors_of(found), tensors_of(exact), strict=True)
    return max(_norm_error(mine, theirs) for mine, theirs in pairs)


def _norm_error(found: Tensor, exact: Tensor) -> float:
    """The norm of the difference over that of what is exact."""
    distance = length = 0.0
    parts = (T.split(each.reshape(-1), PART) for each in (found, exact))
    for mine, theirs in zip(*parts, strict=True):
        wide = theirs.to(mine.device, T.float64)
        distance = math.hypot(distance, float(T.norm(mine.double() - wide)))
        length = math.hypot(length, float(T.norm(wide)))
    return distance / (length or 1)
