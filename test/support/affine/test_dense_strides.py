"""Strides of dense tensors, compared with those of numpy."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from tlf.support.affine.axis_orders import inverse_order
from tlf.support.affine.dense_strides import (
    address_equally,
    axis_order_of_strides,
    is_row_major_in_memory,
    strides_in_axis_order,
)

SHAPE = (2, 3, 4, 5)


@pytest.mark.parametrize("order", [*permutations(range(4))])
def test_strides_are_those_of_a_transposed_array(order: tuple[int, ...]) -> None:
    physical = np.zeros([SHAPE[axis] for axis in order], np.int8)
    array = physical.transpose(inverse_order(order))
    assert array.shape == SHAPE
    assert strides_in_axis_order(SHAPE, order) == array.strides
    assert axis_order_of_strides(SHAPE, array.strides) == order


@pytest.mark.parametrize(
    ("shape", "strides", "order"),
    [
        ((), (), ()),
        ((4, 1, 3), (3, 99, 1), (1, 0, 2)),
        ((4, 1, 3), (3, -7, 1), (0, 2, 1)),
        ((1, 1), (0, 0), (0, 1)),
        ((4, 3), (4, 1), None),
        ((4, 3), (0, 1), None),
        ((4, 3), (2, 1), None),
        ((4,), (-1,), None),
    ],
)
def test_orders_of_strides(
    shape: tuple[int, ...], strides: tuple[int, ...], order: tuple[int, ...] | None
) -> None:
    assert axis_order_of_strides(shape, strides) == order


def test_axes_of_one_element_do_not_matter() -> None:
    assert is_row_major_in_memory((2, 1, 3), (1, 0, 2))
    assert not is_row_major_in_memory((2, 1, 3), (2, 1, 0))
    assert address_equally((2, 1, 3), (3, 8, 1), (3, 1, 1))
    assert not address_equally((2, 1, 3), (1, 3, 2), (3, 3, 1))
    assert address_equally((2, 0, 3), (1, 1, 1), (9, 9, 9))
