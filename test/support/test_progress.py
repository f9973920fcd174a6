"""Reported steps, as who collects them sees them."""

from collections.abc import Sequence

import pytest

from tlf.support.progress import (
    ProgressStep,
    are_steps_collected,
    collect_steps,
    fraction_reporter,
    report_iterations,
    report_step,
)


def current(
    steps: Sequence[ProgressStep],
) -> list[tuple[str, int | None, float | None]]:
    return [(each.name, each.number, each.fraction) for each in steps]


def test_steps_are_nested():
    with collect_steps() as steps:
        assert current(steps) == []
        with report_step("outer", 2, 3), report_step("inner"):
            assert current(steps) == [("outer", 2, None), ("inner", None, None)]
        assert current(steps) == []


def test_steps_end_with_an_error():
    with collect_steps() as steps:
        with pytest.raises(ValueError, match="own"), report_step("step"):
            raise ValueError("own")
        assert current(steps) == []


def test_outermost_loop_counts():
    with collect_steps() as steps, report_step("step"):
        fractions = [
            (item, inner, steps[-1].fraction)
            for item in report_iterations("ab")
            for inner in report_iterations("cd")
        ]
        assert steps[-1].fraction is None
    assert fractions == [
        ("a", "c", 0.0),
        ("a", "d", 0.0),
        ("b", "c", 0.5),
        ("b", "d", 0.5),
    ]


def test_abandoned_loops_end():
    with collect_steps() as steps, report_step("step"):
        for _ in report_iterations("ab"):
            break
        assert steps[-1].fraction is None


def test_nobody_collects():
    items = [1, 2]
    assert not are_steps_collected()
    with report_step("step"):
        assert report_iterations(items) is items
        assert fraction_reporter() is None
    with collect_steps():
        assert are_steps_collected()
        assert report_iterations(items) is items  # outside of a step
    assert not are_steps_collected()
