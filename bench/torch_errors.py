"""Relative errors of results against exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

from torch import Tensor
from torch_model import T


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Yield the tensors of a result, in order."""
    if isinstance(value, Tensor):
        yield value
        return
    is_named = isinstance(value, dict)
    for each in cast("dict[str, Any]", value).values() if is_named else value:
        yield from tensors_of(each)


PART = 1 << 26
"""Maximum number of elements that are converted to f64 at a time."""


def relative_error(found: Any, exact: Any) -> float:
    """
    Return the maximum relative error of the tensors of a result; absolute if exact is
    0.
    """
    pairs = zip(tensors_of(found), tensors_of(exact), strict=True)
    return max(_norm_error(actual, reference) for actual, reference in pairs)


def _norm_error(found: Tensor, exact: Tensor) -> float:
    """Return the norm of the difference divided by the norm of the exact tensor."""
    distance = length = 0.0
    chunks = (T.split(each.reshape(-1), PART) for each in (found, exact))
    for actual, reference in zip(*chunks, strict=True):
        widened = reference.to(actual.device, T.float64)
        distance = math.hypot(distance, float(T.norm(actual.double() - widened)))
        length = math.hypot(length, float(T.norm(widened)))
    return distance / (length or 1)
