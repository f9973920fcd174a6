"""Locations of the keys and values of a TOML text, which its parser does not report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

Path: TypeAlias = tuple[str | int, ...]
"""The keys and indices from a whole text to a value."""

Place: TypeAlias = tuple[int, int]
"""A line and a column, both from 1."""

_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")


@dataclass
class TomlPlaces:
    """The places in a text that `tomllib` accepts."""

    text: str
    keys: dict[Path, int] = field(default_factory=dict[Path, int])
    """Offsets of keys, by their paths."""
    values: dict[Path, int] = field(default_factory=dict[Path, int])
    """Offsets of values, for tables those of their headers."""
    _counts: dict[Path, int] = field(default_factory=dict[Path, int])
    """Number of tables so far in each array of tables."""
    _at: int = 0

    @staticmethod
    def of(text: str) -> TomlPlaces:
        """Find all places of a text."""
        found = TomlPlaces(text)
        found.values[()] = 0
        found._document()
        return found

    def key(self, path: Path) -> Place:
        """Return the location of a key, or else of the table that it would be in."""
        return self._place(self.keys[path]) if path in self.keys else self.value(path)

    def value(self, path: Path) -> Place:
        """Return the location of a value, or else of what it would be in."""
        while path not in self.values:
            path = path[:-1]
        return self._place(self.values[path])

    def _place(self, offset: int) -> Place:
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def _document(self) -> None:
        table: Path = ()
        while self._skip() < len(self.text):
            if self.text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        start = self._at
        brackets = 2 if self.text.startswith("[[", start) else 1
        self._at += brackets
        *outer, last = self._dotted()
        self._skip()
        self._at += brackets
        path = (*self._resolved(outer, start), last)
        if brackets == 2:
            self.values.setdefault(path, start)
            number = self._counts.get(path, 0)
            self._counts[path] = number + 1
            path = (*path, number)
        elif path in self._counts:
            path = (*path, self._counts[path] - 1)
        self.keys[path] = self.values[path] = start
        return path

    def _resolved(self, keys: list[str], start: int) -> Path:
        """The path of some keys, where an array of tables stands for its last one."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            self.keys.setdefault(path, start)
            self.values.setdefault(path, start)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        start, path = self._at, table
        for key in self._dotted():
            path = (*path, key)
            self.keys.setdefault(path, start)
            self.values.setdefault(path, start)
        self._skip()
        self._at += 1
        self._skip()
        self._value(path)

    def _value(self, path: Path) -> None:
        self.values[path] = self._at
        if (string := _STRING.match(self.text, self._at)) is not None:
            self._at = string.end()
        elif self.text[self._at] in "[{":
            self._nested(path, is_array=self.text[self._at] == "[")
        else:
            scalar = _SCALAR.match(self.text, self._at)
            self._at = len(self.text) if scalar is None else scalar.end()

    def _nested(self, path: Path, is_array: bool) -> None:
        """An array, or a table between braces."""
        self._at += 1
        number = 0
        while self.text[self._skip()] not in "]}":
            if is_array:
                self._value((*path, number))
                number += 1
            else:
                self._pair(path)
            if self.text[self._skip()] == ",":
                self._at += 1
        self._at += 1

    def _dotted(self) -> list[str]:
        """The parts of a key."""
        parts = [self._simple()]
        while self.text[self._skip()] == ".":
            self._at += 1
            parts.append(self._simple())
        return parts

    def _simple(self) -> str:
        pattern = _STRING if self.text[self._skip()] in "\"'" else _BARE_KEY
        found = pattern.match(self.text, self._at)
        assert found is not None
        self._at = found.end()
        return found[0].strip("\"'")

    def _skip(self) -> int:
        """Go on behind spaces and comments."""
        space = _SPACE.match(self.text, self._at)
        assert space is not None
        self._at = space.end()
        return self._at
