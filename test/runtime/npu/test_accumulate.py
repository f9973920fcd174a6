"""Sums that start in the first iteration of a loop."""

from collections.abc import Callable

import numpy as np
import pytest

from tlf.runtime.npu import NPUParseError, NPUTrap, Report, parse, run

Simulate = Callable[..., Report]

LOOP = """loop %i = 0 to 3 {{
  loop %k = {lower} to {upper} step 2 {{
    {each} {accumulate}
  }}
}}
"""
MATMUL = "matmul c=$c():f32 a=$a(4):f32 b=$b(4):f32 batch=() m=() n=() k=(5)"
REDUCE = "reduce sum dst=$c(0):f32 a=$a(4):f32 shape=(5) axes=(0)"


@pytest.mark.parametrize("text", [MATMUL, REDUCE])
@pytest.mark.parametrize(
    ("accumulate", "lower", "upper"),
    [("accumulate=%k", 0, 7), ("accumulate=%k-3", 3, 10), ("accumulate=%k+2", -2, 5)],
)
def test_the_first_iteration_overwrites(
    simulate: Simulate, text: str, accumulate: str, lower: int, upper: int
):
    """Unwritten elements are not read, and every run of the loop starts anew."""
    a, b = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    code = LOOP.format(lower=lower, upper=upper, each=text, accumulate=accumulate)
    report = simulate(code, {"a": a, "b": b}, {"c": np.zeros((), np.float32)})
    assert report.outputs["c"].item() == 4 * 10


@pytest.mark.parametrize("text", [MATMUL, REDUCE])
@pytest.mark.parametrize("accumulate", ["accumulate", "accumulate=1", "accumulate=%i"])
def test_what_accumulates_reads(simulate: Simulate, text: str, accumulate: str):
    a, b = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    with pytest.raises(NPUTrap, match="was never written"):
        simulate(
            f"%i = mov -1\n{text} {accumulate}",
            {"a": a, "b": b},
            {"c": np.zeros((), np.float32)},
        )


@pytest.mark.parametrize("number", [0, 1])
def test_a_sum_of_nothing(simulate: Simulate, number: int):
    """It is 0 where it overwrites, and takes the same time where it does not."""
    code = f"%n = mov 0\n%i = mov {number}\nvector fill dst=$c():f32 a=#7.0 shape=()\n"
    code += REDUCE.replace("(5)", "(%n)").replace("$a", "$c") + " accumulate=%i\n"
    report = simulate(code, {}, {"c": np.zeros((), np.float32)})
    assert report.outputs["c"].item() == 7 * number
    other = code.replace(f"%i = mov {number}", f"%i = mov {1 - number}")
    assert simulate(other, {}, {"c": np.zeros((), np.float32)}).cycles == report.cycles


def test_a_condition_needs_a_value(machine: str):
    code = "reduce sum dst=L1[0](0):f32 a=L1[64](4):f32 shape=(5) axes=(0) accumulate="
    with pytest.raises(NPUParseError, match="a register or an integer"):
        run(parse(f"{machine}.code\n{code}\nhalt\n"), {})
    with pytest.raises(NPUParseError, match="a register that an earlier line defines"):
        run(parse(f"{machine}.code\n{code}%i\nhalt\n"), {})


def test_time_does_not_depend_on_the_condition(machine: str):
    """However large the loop, it is timed without going through it."""
    code = "loop %i = 0 to 1000000000 {\n"
    code += "matmul c=L1[0](4):f32 a=L1[64](4,4):f32 b=L1[128](4):f32 "
    code += "batch=() m=(4) n=() k=(5) accumulate=%i\n}\n"
    report = run(parse(f"{machine}.code\n{code}halt\n"), {}, functional=False)
    plain = code.replace("=%i\n", "\n")
    same = run(parse(f"{machine}.code\n{plain}halt\n"), {}, functional=False)
    assert report == same
