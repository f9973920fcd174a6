"""Operation verification of the `mem` dialect: memory levels, windows and box sizes."""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import AffineMapAttr, MemRefType, StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException


def level_of(buffer: Attribute) -> str:
    """
    Return the name of the memory level of a buffer type.

    Raises `VerifyException` if the type names no level.
    """
    if not isinstance(buffer, MemRefType):
        raise VerifyException(f"expected a memref, got {buffer}")
    space = cast(MemRefType[Attribute], buffer).memory_space
    if not isinstance(space, StringAttr):
        raise VerifyException(f'expected a memory level such as "L2" in {buffer}')
    return space.data


def verify_is_no_window(buffer: SSAValue) -> None:
    """Check that a buffer is not a window, which only moves can access."""
    type_ = buffer.type
    if not isinstance(type_, MemRefType):
        return
    if isinstance(cast(MemRefType[Attribute], type_).layout, AffineMapAttr):
        raise VerifyException(f"expected a buffer that does not wrap, got {type_}")


def verify_sizes(sizes: Sequence[int], rank: int) -> None:
    """Check that the sizes of a box are positive, one per dimension."""
    if len(sizes) != rank:
        raise VerifyException(
            f"expected {rank} sizes, one per dimension, got {len(sizes)}"
        )
    if any(size <= 0 for size in sizes):
        raise VerifyException(f"expected positive sizes, got {list(sizes)}")


def verify_buffers_with_level(*buffers: SSAValue) -> None:
    """Check that buffers have a memory level, and are not windows."""
    for buffer in buffers:
        level_of(buffer.type)
        verify_is_no_window(buffer)


def verify_box_fits_buffer(sizes: Sequence[int], shape: Sequence[int]) -> None:
    """Check that a box at offset 0 is within a buffer of a shape."""
    verify_sizes(sizes, len(shape))
    if any(size > extent for size, extent in zip(sizes, shape, strict=True)):
        raise VerifyException(f"expected a box within {list(shape)}, got {list(sizes)}")


def dimensions_in_subview_type(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """
    Return the dimensions of a subview that its type keeps; dropped ones have size 1.
    """
    dimensions: list[int] = []
    for dimension, size in enumerate(sizes):
        if len(dimensions) < len(shape) and size == shape[len(dimensions)]:
            dimensions.append(dimension)
        elif size != 1:
            break
    else:
        if len(dimensions) == len(shape):
            return dimensions
    raise VerifyException(
        f"expected a subview of sizes {list(sizes)}, got {list(shape)}"
    )
