"""Scalar bodies on numpy arrays."""

import numpy as np
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import i8

from tlf.dialects.interpreters.scalar_functions import evaluate_scalar_operation


def test_quotients_of_the_least_integer():
    lhs, rhs = test.TestOp(result_types=[i8, i8]).results
    numbers = np.array([-128, -128, -128, 127, -7, 7], np.int8)
    divisors = np.array([3, 1, -128, -128, 2, -2], np.int8)

    quotients = evaluate_scalar_operation(arith.DivSIOp(lhs, rhs), [numbers, divisors])

    np.testing.assert_array_equal(quotients, [-42, -128, 1, 0, -3, -3])
    assert quotients.dtype == np.int8
