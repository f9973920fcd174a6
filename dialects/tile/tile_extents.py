"""
Operation base of the `tile` dialect, with checks of valid extents and element types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mixed_offsets import IntArray, OffsetOperation
from tlf.dialects.shared_attributes import share_integer_array
from tlf.dialects.types import AnyTensor, scalar_attribute

Number: TypeAlias = int | float


def to_extents_attribute(sizes: Sequence[int] | None) -> IntArray | None:
    return None if sizes is None else share_integer_array(sizes)


def to_fill_attribute(
    fill: Number | None, tile: AnyTensor
) -> FloatAttr | IntegerAttr | None:
    """Return a fill value, if given, as an attribute of a tile's element type."""
    return None if fill is None else scalar_attribute(fill, tile.element_type)


def valid_extents_of_tile(valid: IntArray | None, tile: AnyTensor) -> tuple[int, ...]:
    """Return the valid extents of a tile; by default the whole tile."""
    if valid is None:
        return tile.get_shape()
    return tuple(cast(Sequence[int], valid.get_values()))


class TileOperation(OffsetOperation):
    """
    Base of `tile` operations on a box of a tensor, at constant or dynamic offsets.
    """

    def verify_valid_extents(
        self, valid: IntArray | None, shape: Sequence[int]
    ) -> None:
        """
        Raise `VerifyException` unless valid extents, if given, are positive and within
        a tile.
        """
        if valid is None:
            return
        sizes = list(cast(Sequence[int], valid.get_values()))
        fits = len(sizes) == len(shape) and all(
            0 < size <= extent for size, extent in zip(sizes, shape, strict=True)
        )
        if not fits:
            raise VerifyException(
                f"expected valid extents within the tile {list(shape)}, got {sizes}"
            )


def verify_equal_element_types(lhs: AnyTensor, rhs: AnyTensor) -> None:
    """Raise `VerifyException` unless two tensor types have the same element type."""
    if lhs.element_type != rhs.element_type:
        raise VerifyException(
            f"expected one element type, got {lhs.element_type} and {rhs.element_type}"
        )


def verify_equal_element_types_and_ranks(lhs: AnyTensor, rhs: AnyTensor) -> None:
    """
    Raise `VerifyException` unless two tensor types have the same element type and rank.
    """
    verify_equal_element_types(lhs, rhs)
    if lhs.get_num_dims() != rhs.get_num_dims():
        raise VerifyException(
            f"expected tensors of one rank, got {lhs.get_num_dims()} and "
            f"{rhs.get_num_dims()}"
        )


def verify_fill_element_type(fill: Attribute | None, type_: AnyTensor) -> None:
    """
    Raise `VerifyException` unless a fill, if given, has the element type of a tensor.
    """
    if fill is None:
        return
    is_scalar = isinstance(fill, FloatAttr | IntegerAttr)
    actual = cast(Attribute, fill.type) if is_scalar else fill
    if actual != type_.element_type:
        raise VerifyException(
            f"expected a fill value of type {type_.element_type}, got {actual}"
        )
