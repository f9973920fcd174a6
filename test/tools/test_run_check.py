"""Agreement of results with their reference."""

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest

from tlf.tools.run_check import (
    MAX_ELEMENT_RATIO,
    TOLERANCES,
    Comparison,
    compare_result,
)

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[Any]]

FLOATS = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def _random(shape: tuple[int, ...], dtype: type[np.generic] = np.float32) -> Array:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(dtype)


def _full(shape: tuple[int, ...], value: float, dtype: type[np.generic]) -> Array:
    return np.full(shape, value, np.float64).astype(dtype)


def _check(result: Array, reference: Array) -> Comparison:
    return compare_result("y", result, reference)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (13, 7), (0, 3)])
def test_equal_arrays_agree(dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    array = _random(shape, dtype)
    found = _check(array.copy(), array)
    assert found.is_within_tolerance
    assert (found.relative_error, found.largest_error, found.note) == (0, 0, "")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("magnitude", [1e-3, 1.0, 1e3])
def test_one_rounding_agrees(dtype: type[np.generic], magnitude: float) -> None:
    exact = _random((100, 100), np.float64) * magnitude
    reference = exact.astype(dtype)
    upwards = np.nextafter(reference, np.array(np.inf, dtype))
    assert _check(upwards, reference).is_within_tolerance


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("times", [0.8, 1.3])
def test_bound_of_the_norm(dtype: type[np.generic], times: float) -> None:
    reference = np.full(64, 0.5, dtype)
    error = times * TOLERANCES[np.dtype(dtype)]
    result = (0.5 * (1 + error) * np.ones(64)).astype(dtype)
    assert _check(result, reference).is_within_tolerance is (times < 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("times", [0.8, 1.3])
def test_bound_of_one_element(dtype: type[np.generic], times: float) -> None:
    # In 40000 elements, the norm does not notice this one.
    reference = np.full((200, 200), 0.5, dtype)
    result = reference.copy()
    result[17, 3] = 0.5 * (1 + times * MAX_ELEMENT_RATIO * TOLERANCES[np.dtype(dtype)])
    found = _check(result, reference)
    assert found.relative_error < found.tolerance
    assert found.is_within_tolerance is (times < 1)


def test_one_element_beside_a_much_larger_one() -> None:
    reference = np.ones((1000, 1000), np.float32)
    reference[0, 0] = 1e4
    result = reference.copy()
    result[5, 5] = 1.01
    found = _check(result, reference)
    assert found.relative_error < found.tolerance
    assert found.largest_error == pytest.approx(0.01 / np.sqrt(101), rel=1e-3)
    assert not found.is_within_tolerance


def test_small_elements_may_be_off_as_large_ones_may() -> None:
    reference = _random((100, 100))
    reference[3, 4] = 1e-9
    result = reference.copy()
    result[3, 4] = -1e-6
    assert _check(result, reference).is_within_tolerance


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_must_be_zero(dtype: type[np.generic]) -> None:
    reference = _full((5, 3), 0, dtype)
    assert _check(-reference, reference).is_within_tolerance
    result = reference.copy()
    result[2, 1] = 1e-3
    found = _check(result, reference)
    assert found.relative_error == found.largest_error == np.inf
    assert not found.is_within_tolerance


@pytest.mark.parametrize("dtype", FLOATS)
def test_smallest_numbers_may_be_off_by_one(dtype: type[np.generic]) -> None:
    step = float(np.nextafter(np.array(0, dtype), np.array(1, dtype)))
    reference = _full((9,), 3 * step, dtype)
    assert _check(_full((9,), 4 * step, dtype), reference).is_within_tolerance
    assert not _check(_full((9,), 5 * step, dtype), reference).is_within_tolerance


@pytest.mark.parametrize("magnitude", [1e-300, 1e300, 1.7e308])
def test_squares_that_do_not_fit(magnitude: float) -> None:
    reference = np.array([magnitude, -magnitude])
    found = _check(reference * (1 - 1e-6), reference)
    assert found.relative_error == pytest.approx(1e-6, rel=1e-6)
    assert not found.is_within_tolerance
    assert not _check(-reference, reference).is_within_tolerance
    assert _check(reference.copy(), reference).is_within_tolerance


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(dtype: type[np.generic], special: float) -> None:
    plain = _random((4, 5), dtype)
    one = plain.copy()
    one[2, 3] = special
    found = _check(one.copy(), one)
    assert found.is_within_tolerance
    assert found.note == "1 of 20 NaN or infinite on both sides"
    for result, reference in ((one, plain), (plain, one)):
        found = _check(result, reference)
        assert not found.is_within_tolerance
        assert found.note == "1 of 20 NaN or infinite on one side only"


def test_infinities_of_unlike_kind() -> None:
    values = np.array([np.inf, -np.inf, np.nan, 1], np.float32)
    for result in (values[[1, 0, 2, 3]], values[[0, 2, 1, 3]]):
        found = _check(result, values)
        assert not found.is_within_tolerance
        assert found.note == "2 of 4 NaN or infinite on one side only"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_errors_beside_what_is_not_finite(value: float) -> None:
    reference = np.array([value, 1, 2], np.float32)
    assert not _check(
        np.array([value, 1, 2.1], np.float32), reference
    ).is_within_tolerance


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.bool_])
def test_others_must_be_equal(dtype: type[np.generic]) -> None:
    reference = np.arange(12).reshape(3, 4).astype(dtype)
    assert _check(reference.copy(), reference).is_within_tolerance
    result = reference.copy()
    result[2, 1] = not result[2, 1]
    found = _check(result, reference)
    assert not found.is_within_tolerance
    assert found.note == "1 of 12 elements differ"


def test_large_integers_that_are_equal_as_floats() -> None:
    reference = np.array([2**53], np.int64)
    assert not _check(reference + 1, reference).is_within_tolerance


@pytest.mark.parametrize(
    ("result", "note"),
    [
        (np.ones((3, 2), np.float32), "got float32 of shape 3x2"),
        (np.ones((1, 3), np.float32), "got float32 of shape 1x3"),
        (np.ones((2, 3), np.float16), "got float16 of shape 2x3"),
        (np.ones((2, 3), np.int32), "got int32 of shape 2x3"),
    ],
)
def test_unlike_arrays(result: Array, note: str) -> None:
    found = _check(result, np.ones((2, 3), np.float32))
    assert not found.is_within_tolerance
    assert found.note == f"expected float32 of shape 2x3, {note}"


def test_rows() -> None:
    ones = np.ones(4, np.float32)
    assert _check(ones, ones).to_row() == (
        "error of y",
        "0.0e+00 relative (at most 1e-05), 0.0e+00 at most in one element: ok",
    )
    numbers = np.arange(4)
    assert _check(numbers[::-1], numbers).to_row() == (
        "error of y",
        "1.0e+00 relative (at most 0), 1.0e+00 at most in one element, "
        "4 of 4 elements differ: WRONG",
    )
