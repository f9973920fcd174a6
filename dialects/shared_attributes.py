"""
IR utility of the dialects: attributes and types that many operations share, built and
verified once for equal contents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, TensorType, i64
from xdsl.ir import Attribute

from tlf.dialects.encoding_attribute import EncodingAttr

CACHE_SIZE = 4096
"""Maximum number of attributes of one kind that are shared."""


def share_integer_array(values: Sequence[int]) -> DenseArrayBase[IntegerType]:
    """Return an array of 64-bit integers."""
    return _build_integer_array(tuple(values))


@lru_cache(CACHE_SIZE)
def _build_integer_array(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


def share_tile_type(
    element: Attribute, shape: Sequence[int], level: str, axes: Sequence[int] = ()
) -> TensorType[Attribute]:
    """
    Return the type of a tile in a memory level, row-major or with an order of its axes.
    """
    return _build_tile_type(element, tuple(shape), level, tuple(axes))


@lru_cache(CACHE_SIZE)
def _build_tile_type(
    element: Attribute, shape: tuple[int, ...], level: str, axes: tuple[int, ...]
) -> TensorType[Attribute]:
    return TensorType(element, shape, EncodingAttr(level, axes))
