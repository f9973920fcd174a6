"""
Driver: expected diagnostics in comments of test files, matched with actual ones.

    // expected-error {{part of the message}}    on this line
    // expected-error@+1 {{...}}                 on the line below, also @-2
    // expected-error@above {{...}}              on the next line above, or @below,
                                                 without such a comment
    // expected-error@unknown {{...}}            without a location

The text in double braces is a part of the message; for `expected-error-re` it is a
regular expression to search for.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tlf.compiler.driver.diagnostics import Diagnostic, Position
from tlf.compiler.driver.source import Source

_COMMENT = re.compile(
    r"//\s*expected-error(?P<re>-re)?"
    r"(?:@(?P<at>[+-]\d+|above|below|unknown))?\s*(?:\{\{(?P<text>.*)\}\})?"
)


@dataclass(frozen=True)
class Expectation:
    """
    An error expected by a comment on line `comment_line` of `file`. The error is on
    `line`, or without a location if that is `None`.
    """

    file: str
    comment_line: int
    line: int | None
    text: str
    is_pattern: bool

    def matches_diagnostic(self, diagnostic: Diagnostic) -> bool:
        """Return `True` if `diagnostic` is on the line and has the text."""
        at = diagnostic.position
        if (None if at is None else at.line) != self.line:
            return False
        if self.is_pattern:
            return re.search(self.text, diagnostic.message) is not None
        return self.text in diagnostic.message

    def to_missing_diagnostic(self) -> Diagnostic:
        """Return the diagnostic for an expectation that no diagnostic matches."""
        where = "" if self.line is None else f" on line {self.line}"
        return Diagnostic(
            Position(self.file, self.comment_line, 1),
            f"expected error `{self.text}`{where}, got none",
        )


class ExpectationError(Exception):
    """An expectation that cannot be parsed; the message is a complete diagnostic."""


def find_expectations(source: Source) -> list[Expectation]:
    """Return the expectations in `source`. Raises `ExpectationError`."""
    return list(_parse_expectations(source.text.split("\n"), source.name))


def _parse_expectations(lines: Sequence[str], file: str) -> Iterator[Expectation]:
    """Yield the first `expected-error` of each line. Raises `ExpectationError`."""
    for number, line in enumerate(lines, start=1):
        if (match := _COMMENT.search(line)) is None:
            continue
        here = Position(file, number, match.start() + 1)
        if (message := match["text"]) is None:
            raise _make_expectation_error(
                here, "expected `{{text}}` after `expected-error`"
            )
        if is_pattern := match["re"] is not None:
            _check_regular_expression(message, here)
        target = _resolve_expected_line(match["at"], number, lines)
        yield Expectation(file, number, target, message, is_pattern)


def _check_regular_expression(pattern: str, position: Position) -> None:
    """Raise `ExpectationError` at `position` if `pattern` is no regular expression."""
    try:
        re.compile(pattern)
    except re.error as error:
        reason = f"cannot read the regular expression `{pattern}`: {error}"
        raise _make_expectation_error(position, reason) from error


def _make_expectation_error(position: Position, message: str) -> ExpectationError:
    return ExpectationError(str(Diagnostic(position, message)))


def _resolve_expected_line(
    line_reference: str | None, line_number: int, lines: Sequence[str]
) -> int | None:
    """Return the line that `@at`, written on line `line_number`, refers to."""
    match line_reference:
        case None:
            return line_number
        case "unknown":
            return None
        case "above" | "below":
            step = -1 if line_reference == "above" else 1
            line_number += step
            while 1 <= line_number <= len(lines) and _COMMENT.search(
                lines[line_number - 1]
            ):
                line_number += step
            return line_number
        case offset:
            return line_number + int(offset)


def match_diagnostics(
    expectations: Sequence[Expectation], diagnostics: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """
    Return the mismatches: a diagnostic for each unexpected one, and for each expected
    one that is missing. Every expectation matches one diagnostic.
    """
    unmet = list(expectations)
    wrong: list[Diagnostic] = []
    for diagnostic in diagnostics:
        if expectation := next(
            (each for each in unmet if each.matches_diagnostic(diagnostic)), None
        ):
            unmet.remove(expectation)
            continue
        wrong.append(
            Diagnostic(diagnostic.position, f"unexpected error: {diagnostic.message}")
        )
    return wrong + [each.to_missing_diagnostic() for each in unmet]
