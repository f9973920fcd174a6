"""Base of operations on tiles, with checks of valid extents and element types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mixed_offsets import IntArray, OffsetOperation
from tlf.dialects.types import AnyTensor

Number: TypeAlias = int | float


def extents_attribute(sizes: Sequence[int] | None) -> IntArray | None:
    return None if sizes is None else DenseArrayBase.from_list(i64, sizes)


def valid_extents(valid: IntArray | None, tile: AnyTensor) -> tuple[int, ...]:
    """Return the valid extents of a tile; by default the whole tile."""
    if valid is None:
        return tile.get_shape()
    return tuple(cast(Sequence[int], valid.get_values()))


class TileOperation(OffsetOperation):
    """Operation on a box of a tensor that starts at some offsets."""

    def verify_valid_extents(
        self, valid: IntArray | None, shape: Sequence[int]
    ) -> None:
        """Check that valid extents are within a tile."""
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


def verify_element_types(left: AnyTensor, right: AnyTensor) -> None:
    """Check that two tensors have the same element type."""
    if left.element_type != right.element_type:
        raise VerifyException(
            f"expected one element type, got {left.element_type} and "
            f"{right.element_type}"
        )


def verify_same_elements(left: AnyTensor, right: AnyTensor) -> None:
    """Check that two tensors have the same element type and rank."""
    verify_element_types(left, right)
    if left.get_num_dims() != right.get_num_dims():
        raise VerifyException(
            f"expected tensors of one rank, got {left.get_num_dims()} and "
            f"{right.get_num_dims()}"
        )


def verify_fill_type(number: Attribute | None, type_: AnyTensor) -> None:
    """Check that a fill value has the element type of a tensor."""
    if number is None:
        return
    is_scalar = isinstance(number, FloatAttr | IntegerAttr)
    actual = cast(Attribute, number.type) if is_scalar else number
    if actual != type_.element_type:
        raise VerifyException(
            f"expected a fill value of type {type_.element_type}, got {actual}"
        )
