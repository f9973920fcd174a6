"""Line and column of the keys and values of a target description in TOML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of a document to a value."""

LineColumn: TypeAlias = tuple[int, int]
"""Line and column, both from 1."""

_SPACE = re.compile(r"(?:\s|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'{3}.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'',
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")


@dataclass
class TomlLocations:
    """Locations of the keys and values of a text that `tomllib` accepts."""

    text: str
    keys: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Offsets of keys, by path."""
    values: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Offsets of values, by path; of headers for tables."""
    _counts: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Number of tables so far in each array of tables."""
    _at: int = 0

    @staticmethod
    def of(text: str) -> TomlLocations:
        """Locate all keys and values of a text."""
        locations = TomlLocations(text)
        locations.values[()] = 0
        locations._scan_document()
        return locations

    def locate_key(self, path: KeyPath) -> LineColumn:
        """Return the location of a key, or of the enclosing table if it is missing."""
        return (
            self._to_line_column(self.keys[path])
            if path in self.keys
            else self.locate_value(path)
        )

    def locate_value(self, path: KeyPath) -> LineColumn:
        """Return the location of a value, or of its nearest parent if it is missing."""
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
            index = self._counts.get(path, 0)
            self._counts[path] = index + 1
            path = (*path, index)
        elif path in self._counts:
            path = (*path, self._counts[path] - 1)
        self.keys[path] = self.values[path] = start
        return path

    def _resolve_path(self, keys: list[str], start: int) -> KeyPath:
        """Return the path of keys; an array of tables denotes its last table."""
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
        """Scan an array or an inline table."""
        self._at += 1
        index = 0
        while self.text[self._skip_space()] not in "]}":
            if is_array:
                self._scan_value((*path, index))
                index += 1
            else:
                self._scan_pair(path)
            if self.text[self._skip_space()] == ",":
                self._at += 1
        self._at += 1

    def _scan_dotted_key(self) -> list[str]:
        """Scan a dotted key, and return its parts."""
        parts = [self._scan_key()]
        while self.text[self._skip_space()] == ".":
            self._at += 1
            parts.append(self._scan_key())
        return parts

    def _scan_key(self) -> str:
        pattern = _STRING if self.text[self._skip_space()] in "\"'" else _BARE_KEY
        match = pattern.match(self.text, self._at)
        assert match is not None
        self._at = match.end()
        return match[0].strip("\"'")

    def _skip_space(self) -> int:
        """Skip spaces and comments, and return the new offset."""
        space = _SPACE.match(self.text, self._at)
        assert space is not None
        self._at = space.end()
        return self._at
