"""
Target description of the dialects: line and column of its keys and values in TOML.
"""

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
    key_offsets: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Offsets of keys, by path."""
    value_offsets: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Offsets of values, by path; of headers for tables."""
    _table_counts: dict[KeyPath, int] = field(default_factory=dict[KeyPath, int])
    """Number of tables so far in each array of tables."""
    _offset: int = 0

    @staticmethod
    def from_text(text: str) -> TomlLocations:
        """
        Scan a valid TOML text, and return the locations of all its keys and values.
        """
        locations = TomlLocations(text)
        locations.value_offsets[()] = 0
        locations._scan_document()
        return locations

    def locate_key(self, path: KeyPath) -> LineColumn:
        """Return the location of a key, or of the enclosing table if it is missing."""
        return (
            self._to_line_column(self.key_offsets[path])
            if path in self.key_offsets
            else self.locate_value(path)
        )

    def locate_value(self, path: KeyPath) -> LineColumn:
        """Return the location of a value, or of its nearest parent if it is missing."""
        while path not in self.value_offsets:
            path = path[:-1]
        return self._to_line_column(self.value_offsets[path])

    def _to_line_column(self, offset: int) -> LineColumn:
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def _scan_document(self) -> None:
        """Record the offsets of all keys and values of the text, from `_offset` on."""
        table: KeyPath = ()
        while self._skip_space() < len(self.text):
            if self.text[self._offset] == "[":
                table = self._scan_table_header()
            else:
                self._scan_key_value_pair(table)

    def _scan_table_header(self) -> KeyPath:
        """
        Scan `[keys]` or `[[keys]]`, record its offset, and return the table's path.
        """
        start = self._offset
        brackets = 2 if self.text.startswith("[[", start) else 1
        self._offset += brackets
        *outer, last = self._scan_dotted_key()
        self._skip_space()
        self._offset += brackets
        path = (*self._resolve_header_path(outer, start), last)
        if brackets == 2:
            self.value_offsets.setdefault(path, start)
            index = self._table_counts.get(path, 0)
            self._table_counts[path] = index + 1
            path = (*path, index)
        elif path in self._table_counts:
            path = (*path, self._table_counts[path] - 1)
        self.key_offsets[path] = self.value_offsets[path] = start
        return path

    def _resolve_header_path(self, keys: list[str], header_offset: int) -> KeyPath:
        """Return the path of keys; an array of tables denotes its last table."""
        path: KeyPath = ()
        for key in keys:
            path = (*path, key)
            self.key_offsets.setdefault(path, header_offset)
            self.value_offsets.setdefault(path, header_offset)
            if path in self._table_counts:
                path = (*path, self._table_counts[path] - 1)
        return path

    def _scan_key_value_pair(self, table_path: KeyPath) -> None:
        """
        Scan `keys = value` of a table, and record the offsets of its keys and value.
        """
        start, path = self._offset, table_path
        for key in self._scan_dotted_key():
            path = (*path, key)
            self.key_offsets.setdefault(path, start)
            self.value_offsets.setdefault(path, start)
        self._skip_space()
        self._offset += 1
        self._skip_space()
        self._scan_value(path)

    def _scan_value(self, path: KeyPath) -> None:
        """Record the offset of a value, and advance behind it; scan nested ones."""
        self.value_offsets[path] = self._offset
        if (string := _STRING.match(self.text, self._offset)) is not None:
            self._offset = string.end()
        elif self.text[self._offset] in "[{":
            self._scan_array_or_inline_table(
                path, is_array=self.text[self._offset] == "["
            )
        else:
            scalar = _SCALAR.match(self.text, self._offset)
            self._offset = len(self.text) if scalar is None else scalar.end()

    def _scan_array_or_inline_table(self, path: KeyPath, is_array: bool) -> None:
        """Advance past an array or an inline table, and record the locations in it."""
        self._offset += 1
        index = 0
        while self.text[self._skip_space()] not in "]}":
            if is_array:
                self._scan_value((*path, index))
                index += 1
            else:
                self._scan_key_value_pair(path)
            if self.text[self._skip_space()] == ",":
                self._offset += 1
        self._offset += 1

    def _scan_dotted_key(self) -> list[str]:
        """Advance past a dotted key, and return its parts, without quotes."""
        parts = [self._scan_key()]
        while self.text[self._skip_space()] == ".":
            self._offset += 1
            parts.append(self._scan_key())
        return parts

    def _scan_key(self) -> str:
        """Advance past a bare or quoted key, and return it without its quotes."""
        pattern = _STRING if self.text[self._skip_space()] in "\"'" else _BARE_KEY
        match = pattern.match(self.text, self._offset)
        assert match is not None
        self._offset = match.end()
        return match[0].strip("\"'")

    def _skip_space(self) -> int:
        """Advance past whitespace, newlines and comments, and return the new offset."""
        space = _SPACE.match(self.text, self._offset)
        assert space is not None
        self._offset = space.end()
        return self._offset
