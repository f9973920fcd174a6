"""Experiment: tables of results, as text and as data, without IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tlf.runtime.npu.report_format import align_text_columns

Cell = str | int | float | None
"""A value of a table; `None` if there is none."""


@dataclass
class Table:
    """
    Table of results under construction: formats of columns, rows of cells, and notes.
    """

    formats: Mapping[str, str]
    """Format of each column, by its title."""
    rows: list[Sequence[Cell]] = field(default_factory=list[Sequence[Cell]])
    notes: list[str] = field(default_factory=list[str])

    def to_text(self) -> str:
        """Return the table with one line per row, followed by the notes."""
        titles = [_align_text(name, shape) for name, shape in self.formats.items()]
        lines = [
            [
                _format_cell(cell, shape)
                for cell, shape in zip(row, self.column_formats, strict=True)
            ]
            for row in self.rows
        ]
        return "\n".join([*align_text_columns(titles, lines), *self.notes])

    def to_data(self) -> Mapping[str, object]:
        """
        Return rows keyed by column title (`note` for an empty title), and the notes.
        """
        names = [name or "note" for name in self.formats]
        rows = [dict(zip(names, row, strict=True)) for row in self.rows]
        return {"rows": rows, "notes": self.notes}

    @property
    def column_formats(self) -> tuple[str, ...]:
        """Formats of the columns, in order."""
        return tuple(self.formats.values())


def _format_cell(cell: Cell, column_format: str) -> str:
    """
    Return a cell as text: `-` for `None`, numbers by `column_format`, ratios with `x`.
    """
    if cell is None:
        return _align_text("-", column_format)
    if isinstance(cell, str):
        return _align_text(cell, column_format)
    figure = f"{cell:{column_format.removesuffix('x')}}"
    return f"{figure}x" if column_format.endswith("x") else figure


def _align_text(text: str, column_format: str) -> str:
    """
    Align a text to the left by a leading blank, which `align_text_columns` recognizes.
    """
    return f" {text}" if column_format == TEXT else text


MEGABYTES, CYCLES, RATIO, SHARE, TEXT = ",.2f", ",", ".2fx", "+.1%", "s"
"""Formats of columns."""
