"""Simulator: lexer of NPU programs, with tokens of a line and a cursor over them."""

import re
from collections.abc import Sequence
from typing import NoReturn

from tlf.runtime.npu.npu_errors import NPUParseError

_TOKEN = re.compile(
    r"""
    \s*(?:
      (?P<register> %[A-Za-z0-9_.$]+)
    | (?P<number>   [-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|inf\b|nan\b))
    | (?P<word>     [A-Za-z_][A-Za-z0-9_.]*)
    | (?P<mark>     [=()\[\]{},:\#])
    )""",
    re.VERBOSE,
)

_ORIGIN = re.compile(r";\s*([^;]*\S:\d+:\d+)\s*$")


def strip_comment(line: str) -> str:
    """Return `line` without its comment and without surrounding blanks."""
    if '"' not in line:
        return line.partition(";")[0].strip()
    quoted = False
    for index, character in enumerate(line):
        if character == '"':
            quoted = not quoted
        elif character == ";" and not quoted:
            return line[:index].strip()
    return line.strip()


def source_location_of_line(line: str) -> str | None:
    """Return the source location in the comment at the end of `line`, if any."""
    match = _ORIGIN.search(line)
    return None if match is None else match[1]


class TokenCursor:
    """
    Cursor over the tokens of one line, from left to right.

    Methods that take a token raise `NPUParseError` if the next one differs.
    """

    line: int
    _kinds: list[str]
    _texts: list[str]
    _index: int

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self._kinds = []
        self._texts = []
        self._index = 0
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise NPUParseError(
                    line, f"expected a token, got `{text[position:].strip()}`"
                )
            self._kinds.append(match.lastgroup)
            self._texts.append(match[match.lastgroup])
            position = match.end()

    @property
    def token_description(self) -> str:
        """Description of the next token, for messages."""
        if self._index == len(self._texts):
            return "the end of the line"
        return f"`{self._texts[self._index]}`"

    def raise_unexpected_token(self, expected: str) -> NoReturn:
        """Raise an error: the next token is not the expected one."""
        raise NPUParseError(
            self.line, f"expected {expected}, got {self.token_description}"
        )

    def peek_token_kind(self) -> str:
        """Return the kind of the next token: register, number, word, mark, or end."""
        if self._index == len(self._kinds):
            return "end"
        return self._kinds[self._index]

    def peek_token_text(self) -> str:
        """Return the text of the next token, empty at the end."""
        if self._index == len(self._texts):
            return ""
        return self._texts[self._index]

    def accept_token(self, text: str) -> bool:
        """
        Take the next token and return `True` if it is `text`, otherwise return `False`.
        """
        if self._index < len(self._texts) and self._texts[self._index] == text:
            self._index += 1
            return True
        return False

    def expect_token(self, text: str) -> None:
        """Take the next token, which must be `text`."""
        if not self.accept_token(text):
            self.raise_unexpected_token(f"`{text}`")

    def take_token(self, kind: str, expected: str) -> str:
        """Take the next token, which must be of `kind`, and return its text."""
        if self.peek_token_kind() != kind:
            self.raise_unexpected_token(expected)
        self._index += 1
        return self._texts[self._index - 1]

    def take_word_choice(self, names: Sequence[str], expected: str) -> str:
        """Take a word that is one of `names`."""
        if self.peek_token_kind() != "word" or self.peek_token_text() not in names:
            self.raise_unexpected_token(f"{expected} ({', '.join(names)})")
        return self.take_token("word", expected)

    def take_integer(self, expected: str = "an integer") -> int:
        """
        Take the next token, which must be a decimal integer, and return its value.
        """
        if self.peek_token_kind() != "number" or not re.fullmatch(
            r"[-+]?\d+", self.peek_token_text()
        ):
            self.raise_unexpected_token(expected)
        return int(self.take_token("number", expected))

    def expect_end_of_line(self) -> None:
        """Check that no tokens remain."""
        if self.peek_token_kind() != "end":
            self.raise_unexpected_token("the end of the line")
