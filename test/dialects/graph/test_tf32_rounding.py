"""`graph.round_tf32` rounds to the nearest number of 11 bits, ties to even."""

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.dialects.test import TestOp

from tlf.dialects import graph
from tlf.dialects.interfaces import Array


def rounded(values: Array) -> Array:
    operand = TestOp(result_types=[TensorType(f32, values.shape)]).results[0]
    return graph.RoundTf32Op(operand).compute_in_numpy(values)


def rounded_bits(values: Array) -> Array:
    """Round by integer arithmetic."""
    bits = values.view(np.uint32)
    return (bits + 0xFFF + ((bits >> 13) & 1) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("exponent", [-100, -1, 0, 1, 60])
def test_every_number_of_a_binade(exponent: int):
    steps = np.arange(1 << 23, dtype=np.uint32)[:: 127 if exponent else 1]
    values = (steps | np.uint32((127 + exponent) << 23)).view(np.float32)
    for each in (values, -values):
        np.testing.assert_array_equal(rounded(each), rounded_bits(each))


def test_special_values():
    kept = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38], np.float32)
    np.testing.assert_array_equal(rounded(kept), kept)
    assert list(np.signbit(rounded(kept)[:2])) == [False, True]
