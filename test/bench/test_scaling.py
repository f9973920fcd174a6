"""Compile time grows with the program, not with its square."""

import pytest
from scaling_programs import PROGRAMS
from scaling_steps import Clock, best_of, pipeline, time_parsers

from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.module_verifier import verify_module
from tlf.compiler.driver.source import Source

FACTOR = 2.2
"""By how much 5 times the operations may raise the time for each: 5 is quadratic."""

NOISE = 15.0
"""Microseconds per operation that are not looked at."""


@pytest.mark.one_in(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_time_per_operation_stays_the_same(name: str):
    _, small = best_of(name, 12, 2)
    _, large = best_of(name, 60, 2)

    grown = {
        step: (round(small[step]), round(value))
        for step, value in large.items()
        if value > FACTOR * small[step] + NOISE
    }
    assert grown == {}


def test_parser_is_no_slower_than_that_of_xdsl():
    clocks = [Clock() for _ in range(3)]
    for clock in clocks:
        time_parsers(clock, PROGRAMS["layers"](120))

    own = min(clock.seconds["parse, xDSL's own"] for clock in clocks)
    assert min(clock.seconds["parse"] for clock in clocks) <= own


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_operations_that_they_count(name: str):
    program = PROGRAMS[name](100)
    module = parse_module(new_context(), Source(program.text, "program.mlir"))
    verify_module(module)

    inside = sum(1 for _ in module.walk()) - 2
    assert inside == program.operations
    assert 90 <= inside <= 120
    assert "mem-plan" in [each.name for each in pipeline(name)]
