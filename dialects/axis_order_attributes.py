"""IR utility of the dialects: axis orders as attributes such as `array<i64: 1, 0>`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType, i64
from xdsl.ir import Attribute

from tlf.support.affine.axis_orders import Order


def make_axis_order_attribute(order: Sequence[int]) -> Attribute:
    """Return the attribute of an axis order."""
    return DenseArrayBase.from_list(i64, list(order))


def parse_axis_order(attribute: Attribute, rank: int) -> Order | None:
    """Return the permutation of `rank` axes in an attribute, `None` if it is none."""
    if not isinstance(attribute, DenseArrayBase):
        return None
    order = tuple(map(int, attribute.get_values()))
    return order if sorted(order) == list(range(rank)) else None


def rank_of_type(type_: Attribute) -> int:
    """Return the number of axes of a tensor or buffer; 0 for other types."""
    if not isinstance(type_, TensorType | MemRefType):
        return 0
    return cast(TensorType[Attribute], type_).get_num_dims()
