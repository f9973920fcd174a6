"""Room on the stack of frames: nested calls of a function that reserves it."""

import sys
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

import pytest

from tlf.support.call_stack import FRAME_SLOTS, reserve_stack

T = TypeVar("T")


def call_at_depth(depth: int, function: Callable[[], T]) -> T:
    return call_at_depth(depth - 1, function) if depth else function()


def count_down(number: int) -> int:
    return count_down(number - 1) if number else 0


def test_arguments_results_and_names_are_kept():
    @reserve_stack
    def divide(number: int, *, by: int) -> float:
        """Divide."""
        return number / by

    assert divide(1, by=4) == 0.25
    assert (divide.__name__, divide.__doc__) == ("divide", "Divide.")


def test_errors_are_passed_on():
    @reserve_stack
    def fail() -> None:
        raise KeyError("missing")

    with pytest.raises(KeyError, match="missing"):
        fail()


def test_calls_may_be_nested_and_recursive():
    @reserve_stack
    def nest(number: int) -> int:
        return nest(number - 1) + 1 if number else 0

    assert nest(50) == 50
    assert reserve_stack(count_down)(sys.getrecursionlimit() // 2) == 0


def test_reserved_room_holds_the_default_limit_of_recursion():
    # 1 MiB is the chunk; a frame of a small function has about 20 pointers.
    assert (2**17 - FRAME_SLOTS) > 20 * 1000


def _seconds_of_calls() -> float:
    """Return the shortest of a few times of many calls that are a few frames deep."""

    def measure() -> float:
        started = perf_counter()
        for _ in range(300):
            count_down(8)
        return perf_counter() - started

    return min(measure() for _ in range(5))


def test_no_depth_makes_calls_slow():
    measure = reserve_stack(_seconds_of_calls)
    times = [call_at_depth(depth, measure) for depth in range(0, 180, 4)]

    assert max(times) < 8 * min(times)
