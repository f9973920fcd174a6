"""Reading the comments that announce errors."""

import pytest

from tlf.compiler.driver.diagnostics import Diagnostic, Position
from tlf.compiler.driver.expected_diagnostics import (
    ExpectationError,
    find_expectations,
    match_diagnostics,
)
from tlf.compiler.driver.source import Source


def expected_lines(text: str) -> list[int | None]:
    return [each.line for each in find_expectations(Source(text, "a.mlir"))]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("op // expected-error {{x}}", [1]),
        ("// expected-error@+2 {{x}}\n\nop", [3]),
        ("op\n// expected-error@-1 {{x}}", [1]),
        ("op\n// expected-error@above {{x}}\n//expected-error@above{{y}}", [1, 1]),
        ("// expected-error@below {{x}}\n// expected-error@below {{y}}\nop", [3, 3]),
        ("// expected-error@unknown {{x}}", [None]),
        ("// the words expected-error {{x}} inside a sentence", []),
        ("op", []),
    ],
)
def test_lines(text: str, lines: list[int | None]):
    assert expected_lines(text) == lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n  // expected-error", "a.mlir:2:3: error: expected `{{text}}` after"),
        ("// expected-error-re {{(}}", "a.mlir:1:1: error: cannot read the regular"),
    ],
)
def test_unreadable(text: str, message: str):
    with pytest.raises(ExpectationError) as error:
        find_expectations(Source(text, "a.mlir"))

    assert str(error.value).startswith(message)


def test_each_expectation_stands_for_one_error():
    expectations = find_expectations(Source("op // expected-error {{x}}", "a.mlir"))
    error = Diagnostic(Position("a.mlir", 1, 5), "x y")

    assert match_diagnostics(expectations, [error]) == []
    assert [str(each) for each in match_diagnostics(expectations, [error, error])] == [
        "a.mlir:1:5: error: unexpected error: x y"
    ]
    assert [str(each) for each in match_diagnostics(expectations, [])] == [
        "a.mlir:1:1: error: expected error `x` on line 1, got none"
    ]


def test_errors_without_a_place():
    expectations = find_expectations(
        Source("// expected-error@unknown {{x}}", "a.mlir")
    )

    assert match_diagnostics(expectations, [Diagnostic(None, "x")]) == []
    assert (
        len(match_diagnostics(expectations, [Diagnostic(Position("a", 1, 1), "x")]))
        == 2
    )
