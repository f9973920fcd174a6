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


def origin_of(line: str) -> str | None:
    """Return the source location in the comment at the end of `line`, if any."""
    match = _ORIGIN.search(line)
    return None if match is None else match[1]


class Cursor:
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

    def fail(self, expected: str) -> NoReturn:
        """Raise an error: the next token is not the expected one."""
        raise NPUParseError(
            self.line, f"expected {expected}, got {self.token_description}"
        )

    def kind(self) -> str:
        """Return the kind of the next token: register, number, word, mark, or end."""
        if self._index == len(self._kinds):
            return "end"
        return self._kinds[self._index]

    def peek(self) -> str:
        """Return the text of the next token, empty at the end."""
        if self._index == len(self._texts):
            return ""
        return self._texts[self._index]

    def accept(self, text: str) -> bool:
        """Take the next token if it is `text`."""
        if self._index < len(self._texts) and self._texts[self._index] == text:
            self._index += 1
            return True
        return False

    def expect(self, text: str) -> None:
        """Take the next token, which must be `text`."""
        if not self.accept(text):
            self.fail(f"`{text}`")

    def take(self, kind: str, expected: str) -> str:
        """Take a token of a kind."""
        if self.kind() != kind:
            self.fail(expected)
        self._index += 1
        return self._texts[self._index - 1]

    def take_choice(self, names: Sequence[str], what: str) -> str:
        """Take a word that is one of `names`."""
        if self.kind() != "word" or self.peek() not in names:
            self.fail(f"{what} ({', '.join(names)})")
        return self.take("word", what)

    def take_integer(self, expected: str = "an integer") -> int:
        """Take an integer."""
        if self.kind() != "number" or not re.fullmatch(r"[-+]?\d+", self.peek()):
            self.fail(expected)
        return int(self.take("number", expected))

    def expect_end(self) -> None:
        """Check that no tokens remain."""
        if self.kind() != "end":
            self.fail("the end of the line")
