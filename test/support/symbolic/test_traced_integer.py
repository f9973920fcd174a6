"""Traces compute what the traced function does, wherever their constraints hold."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.random import Generator

from tlf.support.symbolic.traced_integer import (
    Trace,
    TracedInteger,
    UntraceableError,
    decide,
    value_of,
)

Function = Callable[[int, int], int]

BINARY: Sequence[Function] = (
    lambda left, right: left + right,
    lambda left, right: left - right,
    lambda left, right: left * right,
    min,
    max,
)
DIVISIONS: Sequence[Function] = (
    lambda left, right: left // right,
    lambda left, right: left % right,
)


def random_function(rng: Generator, numbers: Sequence[int]) -> list[int]:
    """Return the results of random arithmetic with branches, as drawn by `rng`."""
    results = list(numbers)
    for _ in range(12):
        left, right = (results[int(rng.integers(len(results)))] for _ in range(2))
        constant = int(rng.integers(1, 9))
        match int(rng.integers(6)):
            case 0:
                results.append(BINARY[int(rng.integers(5))](left, right))
            case 1:
                results.append(DIVISIONS[int(rng.integers(2))](left, constant))
            case 2:
                results.append(constant - left if left > constant else -abs(right))
            case 3:
                results.append(1 << (abs(left) % 16).bit_length())
            case 4:
                results.append(divmod(left, constant)[1] or constant * right)
            case _:
                results.append(constant // (right if right != 0 else constant))
    return results


def test_extensions_do_not_constrain_the_function():
    trace = Trace(1)
    (size,) = trace.make_inputs([4])
    doubled = trace.slot_of(2 * size)
    trace.start_extension()
    assert size < 8
    tripled = trace.slot_of(3 * size)

    inside, outside = trace.evaluate([5]), trace.evaluate([9])
    assert inside is not None
    assert outside is not None
    assert outside[doubled] == 18
    assert trace.evaluate_extension(inside)
    assert (inside[doubled], inside[tripled]) == (10, 15)
    assert not trace.evaluate_extension(outside)


@pytest.mark.one_in(1 / 2)
@pytest.mark.parametrize("seed", range(40))
def test_closed_forms_equal_the_function(seed: int):
    draw = np.random.default_rng(seed)
    inputs = [int(each) for each in draw.integers(1, 40, 3)]
    trace = Trace(len(inputs))
    traced = random_function(np.random.default_rng(seed), trace.make_inputs(inputs))
    slots = [trace.slot_of(each) for each in traced]
    admitted = 0
    for _ in range(50):
        values = trace.evaluate(inputs)
        if values is not None:
            admitted += 1
            expected = random_function(np.random.default_rng(seed), inputs)
            assert [values[slot] for slot in slots] == expected
        inputs = [int(each) for each in draw.integers(1, 40, 3)]
    assert admitted


def test_values_are_those_of_the_inputs():
    trace = Trace(2)
    left, right = trace.make_inputs([5, 7])
    assert value_of(left * 2 + right) == 17
    assert value_of(3) == 3
    assert f"{left:>3}" == "  5"
    assert trace.evaluate([6, 7]) is None


def test_constraints_are_outcomes_of_comparisons():
    trace = Trace(1)
    (size,) = trace.make_inputs([8])
    assert size > 4
    assert not size > 16
    assert trace.evaluate([16]) is not None
    assert trace.evaluate([4]) is None
    assert trace.evaluate([17]) is None


def test_decisions_are_constraints():
    trace = Trace(2)
    left, right = trace.make_inputs([4, 6])
    assert decide(sorted, [right, left, 5]) == [4, 5, 6]
    assert decide(lambda numbers: sum(numbers) > 5, [left, right])
    assert trace.evaluate([4, 6]) is not None
    assert trace.evaluate([3, 6]) is None
    assert decide(sorted, [2, 1]) == [1, 2]


def element_at(index: int) -> int:
    return [0, 1][index]


def set_of(number: int) -> set[int]:
    return {number}


@pytest.mark.parametrize("use", [hash, range, set_of, element_at])
def test_what_has_no_closed_form_is_an_error(use: Callable[[int], object]):
    (number,) = Trace(1).make_inputs([1])
    assert isinstance(number, TracedInteger)
    with pytest.raises(UntraceableError):
        use(number)
