"""Stride arithmetic of views of one buffer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def has_unique_stride(shape: Sequence[int], strides: Sequence[int], axis: int) -> bool:
    """Return `True` if no other axis of a view has the stride of the given axis."""
    return not any(
        size > 1 and stride == strides[axis]
        for other, (size, stride) in enumerate(zip(shape, strides, strict=True))
        if other != axis
    )


def stride_steps_between(
    one: int, other: int, stride: int, strides: Iterable[int]
) -> int:
    """
    Return the number of steps of a stride by which one offset is behind another one in
    a buffer of some strides, leaving aside their distance along larger strides.
    """
    around = min((each for each in strides if each > stride), default=None)
    first, second = (each if around is None else each % around for each in (one, other))
    return first // stride - second // stride
