"""Analysis of views of one buffer: stride arithmetic, without IR."""

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
    offset: int, other_offset: int, stride: int, strides: Iterable[int]
) -> int:
    """
    Return the distance of two offsets in a buffer in steps of a stride, ignoring their
    distance along larger strides.
    """
    outer_stride = min((each for each in strides if each > stride), default=None)
    first, second = (
        each if outer_stride is None else each % outer_stride
        for each in (offset, other_offset)
    )
    return first // stride - second // stride
