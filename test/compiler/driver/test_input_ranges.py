"""`tlf.range`: what it says of random inputs, and what is said of mistakes."""

import pytest

from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import new_context, parse_module
from tlf.compiler.driver.source import Source
from tlf.dialects.entry_point import find_entry_point
from tlf.tools.run_inputs import make_inputs


def values(element: str, declared: str) -> set[float]:
    """The values of a random input with a range."""
    program = f"""
func.func @f(%x: tensor<64x{element}> {{tlf.range = {declared}}}) {{
  func.return
}}
"""
    module = parse_module(new_context(), Source(program, "f.mlir"))
    return set(make_inputs(find_entry_point(module), (), 0)["x"].tolist())


@pytest.mark.parametrize(
    ("element", "declared", "expected"),
    [
        ("i8", "[-128, -127]", {-128, -127}),
        ("i8", "[126 : i8, 127 : i8]", {126, 127}),
        ("i64", "[9223372036854775806, 9223372036854775807]", {2**63 - 2, 2**63 - 1}),
        ("i1", "[1, 1]", {True}),
        ("i1", "[0, 1]", {False, True}),
        ("i1", "[true, true]", {True}),
        ("f32", "[0.5, 0.5]", {0.5}),
    ],
)
def test_ranges(element: str, declared: str, expected: set[float]):
    assert values(element, declared) == expected


def test_upper_bound_of_floats_is_left_out():
    found = values("f64", "[2.0, 3.0]")

    assert len(found) == 64
    assert 2 <= min(found) < max(found) < 3


FLOATS = "two floats of {} in order, as [0.5, 1.5], got {}"
INTEGERS = "two integers from {} to {} in order, got {}"


@pytest.mark.parametrize(
    ("element", "declared", "message"),
    [
        ("f32", "[1.0]", FLOATS.format("f32", "[1.0]")),
        ("f32", "[2.0, 1.0]", FLOATS.format("f32", "[2.0, 1.0]")),
        ("f32", "[0, 1]", FLOATS.format("f32", "[0, 1]")),
        ("f32", "0.5", FLOATS.format("f32", "0.5")),
        ("f16", "[0.0, 1.0e5]", FLOATS.format("f16", "[0.0, 100000.0]")),
        ("f64", "[0.0, 1.0e308]", FLOATS.format("f64", "[0.0, 1e+308]")),
        ("f32", "[0.0, 0x7FF8000000000000 : f64]", FLOATS.format("f32", "[0.0, nan]")),
        ("i8", "[-128, 128]", INTEGERS.format(-128, 127, "[-128, 128]")),
        ("i32", "[2, 1]", INTEGERS.format(-(2**31), 2**31 - 1, "[2, 1]")),
        ("i64", "[0.0, 1.0]", INTEGERS.format(-(2**63), 2**63 - 1, "[0.0, 1.0]")),
        ("i1", "[0, 2]", INTEGERS.format(0, 1, "[0, 2]")),
    ],
)
def test_wrong_ranges(element: str, declared: str, message: str):
    with pytest.raises(CompileError) as caught:
        values(element, declared)

    what = "f.mlir:2:1: error: expected `tlf.range` of argument `x` to be"
    assert str(caught.value) == f"{what} {message}"
