"""
Offsets of boxes: lists of `index` values and numbers, and the levels of buffers.
"""

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    IntegerType,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.dialects.utils.dynamic_index_list import (
    get_dynamic_index_list,
    split_dynamic_index_list,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

IntArray: TypeAlias = DenseArrayBase[IntegerType]

Index: TypeAlias = SSAValue | int
"""An offset: an `index` value, or a number that may be negative."""


def level_of(buffer: Attribute) -> str:
    """
    Return the name of the memory level of a buffer's type.

    Raises `VerifyException` when the type names no level.
    """
    if not isinstance(buffer, MemRefType):
        raise VerifyException(f"expected a memref, got {buffer}")
    space = cast(MemRefType[Attribute], buffer).memory_space
    if not isinstance(space, StringAttr):
        raise VerifyException(f'expected a memory level such as "L2" in {buffer}')
    return space.data


def mixed(static: IntArray, dynamic: Sequence[SSAValue]) -> tuple[Index, ...]:
    """
    Merge the static offsets with the values that stand at dynamic positions.
    """
    values = [*static.get_values()]
    return tuple(get_dynamic_index_list(values, dynamic, DYNAMIC_INDEX))


def split(offsets: Sequence[Index]) -> tuple[IntArray, list[SSAValue]]:
    """
    The reverse of `mixed`.
    """
    static, dynamic = split_dynamic_index_list(offsets, DYNAMIC_INDEX)
    return DenseArrayBase.from_list(i64, static), dynamic


def verify_offsets(
    static: IntArray, dynamic: Sequence[SSAValue], rank: int, what: str
) -> None:
    """
    Check that there is one offset per dimension and one value per dynamic offset.
    """
    if len(static) != rank:
        raise VerifyException(
            f"expected {rank} {what}, one per dimension, got {len(static)}"
        )
    expected = [*static.get_values()].count(DYNAMIC_INDEX)
    if expected != len(dynamic):
        raise VerifyException(
            f"expected {expected} values for dynamic {what}, got {len(dynamic)}"
        )


def verify_sizes(sizes: Sequence[int], rank: int) -> None:
    """
    Check that the sizes of a box are positive, one per dimension.
    """
    if len(sizes) != rank:
        raise VerifyException(
            f"expected {rank} sizes, one per dimension, got {len(sizes)}"
        )
    if any(size <= 0 for size in sizes):
        raise VerifyException(f"expected positive sizes, got {list(sizes)}")


def kept_dimensions(sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """
    Return the dimensions of a subview that its type keeps; the others have size 1.
    """
    kept: list[int] = []
    for dimension, size in enumerate(sizes):
        if len(kept) < len(shape) and size == shape[len(kept)]:
            kept.append(dimension)
        elif size != 1:
            break
    else:
        if len(kept) == len(shape):
            return kept
    raise VerifyException(
        f"expected a subview of sizes {list(sizes)}, got {list(shape)}"
    )
