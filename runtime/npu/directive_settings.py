"""
Simulator: parser of the settings of a directive in an NPU program, as `key=value`
words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tlf.runtime.npu.npu_errors import NPUParseError

_Number = TypeVar("_Number", int, float)
_Word = TypeVar("_Word", bound=str)


@dataclass
class DirectiveSettings:
    """Settings `key=value` of one directive line, each of which is taken once."""

    line: int
    words: list[str]

    def __post_init__(self) -> None:
        self._values: dict[str, str] = {}
        for word in self.words:
            key, equals, value = word.partition("=")
            if not equals or not value or key in self._values:
                raise NPUParseError(
                    self.line, f"expected key=value with a new key, got `{word}`"
                )
            self._values[key] = value

    def take_word(self, key: str, default: str | None = None) -> str:
        """Take a word; it is required if there is no default."""
        if (value := self._values.pop(key, default)) is None:
            raise NPUParseError(self.line, f"expected `{key}=`")
        return value

    def take_count(
        self, key: str, default: int | None = None, *, minimum: int = 0
    ) -> int:
        """
        Remove setting `key` and return it as an integer of at least `minimum`; it is
        required if there is no default.
        """
        text = self.take_word(key, None if default is None else str(default))
        expected = f"an integer of at least {minimum} for `{key}`"
        return _require_minimum(
            self.line, text, _try_parse_number(text, int), minimum, expected
        )

    def take_optional_count(self, key: str) -> int | None:
        """Take an integer of at least 0; `None` if it is absent."""
        return self.take_count(key) if key in self._values else None

    def take_axes(self, key: str, rank: int) -> tuple[int, ...]:
        """Take a permutation of the axes of an array; empty if it is absent."""
        if (text := self._values.pop(key, None)) is None:
            return ()
        axes = tuple(_try_parse_number(word, int) for word in text.split(","))
        if set(axes) != set(range(rank)) or len(axes) != rank:
            raise NPUParseError(
                self.line, f"expected {rank} axes for `{key}`, each once, got `{text}`"
            )
        return tuple(axis for axis in axes if axis is not None)

    def take_positive_number(self, key: str, default: float | None = None) -> float:
        """
        Remove setting `key` and return it as a finite number over 0; it is required if
        there is no default.
        """
        text = self.take_word(key, None if default is None else str(default))
        value = _try_parse_number(text, float)
        if value is None or not 0 < value < float("inf"):
            raise NPUParseError(
                self.line, f"expected a number over 0 for `{key}`, got `{text}`"
            )
        return value

    def take_flag(self, key: str, default: bool) -> bool:
        """Take `true` or `false`."""
        return self.take_choice(key, ("true", "false"), str(default).lower()) == "true"

    def take_choice(
        self, key: str, choices: Sequence[_Word], default: _Word | None = None
    ) -> _Word:
        """Take one of `choices`; the first one is the default if there is no other."""
        text = self.take_word(key, default or choices[0])
        for choice in choices:
            if choice == text:
                return choice
        raise NPUParseError(
            self.line, f"expected {' or '.join(choices)} for `{key}`, got `{text}`"
        )

    def take_numbers_with_prefix(self, prefix: str) -> dict[str, float]:
        """Take the numbers of all keys `prefix.name`, by name."""
        keys = [key for key in self._values if key.startswith(f"{prefix}.")]
        return {key.partition(".")[2]: self.take_positive_number(key) for key in keys}

    def expect_no_more_keys(self) -> None:
        """Raise `NPUParseError` if a setting has not been taken."""
        if self._values:
            raise NPUParseError(
                self.line, f"expected no key `{next(iter(self._values))}`"
            )


def _try_parse_number(
    text: str, number_type: Callable[[str], _Number]
) -> _Number | None:
    """Return `number_type(text)`, or `None` if it raises `ValueError`."""
    try:
        return number_type(text)
    except ValueError:
        return None


def parse_integer(line: int, text: str, expected: str) -> int:
    """Parse a non-negative integer."""
    return _require_minimum(line, text, _try_parse_number(text, int), 0, expected)


def _require_minimum(
    line: int, text: str, value: int | None, minimum: int, expected: str
) -> int:
    if value is None or value < minimum:
        raise NPUParseError(line, f"expected {expected}, got `{text}`")
    return value
