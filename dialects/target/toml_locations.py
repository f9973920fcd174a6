"""Line and column of the keys and values of a TOML text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys and indices from a whole text to a value."""

LineColumn: TypeAlias = tuple[int, int]
"""A line and a column, both from 1."""

_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")


@dataclass
class TomlLocations:
    """The places in a text that `tomllib` accepts."""

    text: str
    keys: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Offsets of keys, by their paths."""
    values: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Offsets of values, for tables those of their headers."""
    _counts: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Number of tables so far in each array of tables."""
    _at: int = 0

    @staticmethod
    def of(text: str) -> TomlLocations:
        """Find all places of a text."""
        found = TomlLocations(text)
        found.values[()] = 0
        found._scan_document()
        return found

    def locate_key(self, path: KeyPath) -> LineColumn:
        """Return the location of a key, or else of the table that it would be in."""
        return (
            self._to_line_column(self.keys[path])
            if path in self.keys
            else self.locate_value(path)
        )

    def locate_value(self, path: KeyPath) -> LineColumn:
        """Return the location of a value, or else of what it would be in."""
        while path not in self.values:
            path = path[:-1]
        return self._to_line_column(self.values[path])

    def _to_line_column(self, offset: int) -> LineColumn:
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def _scan_document(self) -> None:
        table: KeyPath = ()
        while self._skip_space() < len(self.text):
            if self.text[self._at] == "[":
                table = self._scan_header()
            else:
                self._scan_pair(table)

    def _scan_header(self) -> KeyPath:
        start = self._at
        brackets = 2 if self.text.startswith("[[", start) else 1
        self._at += brackets
        *outer, last = self._scan_dotted_key()
        self._skip_space()
        self._at += brackets
        path = (*self._resolve_path(outer, start), last)
        if brackets == 2:
            self.values.setdefault(path, start)
            number = self._counts.get(path, 0)
            self._counts[path] = number + 1
            path = (*path, number)
        elif path in self._counts:
            path = (*path, self._counts[path] - 1)
        self.keys[path] = self.values[path] = start
        return path

    def _resolve_path(self, keys: list[str], start: int) -> KeyPath:
        """The path of some keys, where an array of tables stands for its last one."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            self.keys.setdefault(path, start)
            self.values.setdefault(path, start)
            if path in self._counts:
                path = (*path, self._counts[path] - 1)
        return path

    def _scan_pair(self, table: KeyPath) -> None:
        start, path = self._at, table
        for key in self._scan_dotted_key():
            path = (*path, key)
            self.keys.setdefault(path, start)
            self.values.setdefault(path, start)
        self._skip_space()
        self._at += 1
        self._skip_space()
        self._scan_value(path)

    def _scan_value(self, path: KeyPath) -> None:
        self.values[path] = self._at
        if (string := _STRING.match(self.text, self._at)) is not None:
            self._at = string.end()
        elif self.text[self._at] in "[{":
            self._scan_nested(path, is_array=self.text[self._at] == "[")
        else:
            scalar = _SCALAR.match(self.text, self._at)
            self._at = len(self.text) if scalar is None else scalar.end()

    def _scan_nested(self, path: KeyPath, is_array: bool) -> None:
        """An array, or a table between braces."""
        self._at += 1
        number = 0
        while self.text[self._skip_space()] not in "]}":
            if is_array:
                self._scan_value((*path, number))
                number += 1
            else:
                self._scan_pair(path)
            if self.text[self._skip_space()] == ",":
                self._at += 1
        self._at += 1

    def _scan_dotted_key(self) -> list[str]:
        """The parts of a key."""
        parts = [self._scan_key()]
        while self.text[self._skip_space()] == ".":
            self._at += 1
            parts.append(self._scan_key())
        return parts

    def _scan_key(self) -> str:
        pattern = _STRING if self.text[self._skip_space()] in "\"'" else _BARE_KEY
        found = pattern.match(self.text, self._at)
        assert found is not None
        self._at = found.end()
        return found[0].strip("\"'")

    def _skip_space(self) -> int:
        """Go on behind spaces and comments."""
        space = _SPACE.match(self.text, self._at)
        assert space is not None
        self._at = space.end()
        return self._at
