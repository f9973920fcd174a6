"""
Command `tlf-plan`: static allocation problems as comma-separated values, without IR.

The first line names the columns, every other line is a buffer:

- `id`: its name. `lower`, `upper`: its lifetime in steps, [lower, upper); with `end`
  instead of `upper`, the last step is included. `size`: bytes.
- `alignment`, `hint`, `offset`: bytes, may be empty.
- `gaps`: intervals of its lifetime in which it is not live, `3-5 8-9`; with `@0:64`, in
  which only this range of its bytes is live.
- `period`: number of steps after which its lifetime repeats; the lifetime may wrap
  around the end of the period.
- `within`: the buffer that contains it, as `id` or `id+bytes`.

The format is that of MiniMalloc; `period` and `within` are extensions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tlf.support.allocation import Buffer, LiveSpan, wrap_lifetime

REQUIRED = ("id", "lower", "upper", "size")
OPTIONAL = ("alignment", "gaps", "hint", "offset", "period", "within")
SYNONYMS: Mapping[str, str] = {
    "begin": "lower",
    "buffer": "id",
    "buffer_id": "id",
    "end": "upper",
    "start": "lower",
}
GAP = re.compile(r"(\d+)-(\d+)(?:@(\d+):(\d+))?")
WITHIN = re.compile(r"(?P<id>.*?)(?:\+(?P<bytes>\d+))?")


class CSVError(Exception):
    """
    Error in the CSV text of an allocation problem, with its line and column from 1.
    """

    def __init__(self, line: int, column: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@dataclass(frozen=True)
class CSVCell:
    """A value of a line, with its location. Lines and columns count from 1."""

    text: str
    line: int
    column: int

    def make_error(self, expected: str) -> CSVError:
        """Return an error that states what was expected here."""
        return CSVError(
            self.line, self.column, f"expected {expected}, got `{self.text}`"
        )

    def to_integer(self, minimum: int = 0) -> int:
        """Return the value as an integer of at least `minimum`."""
        if not re.fullmatch(r"-?\d{1,18}", self.text) or int(self.text) < minimum:
            raise self.make_error(f"an integer of at least {minimum}")
        return int(self.text)

    def to_integer_or_none(self) -> int | None:
        """Return the value as an integer, or `None` if it is empty."""
        return self.to_integer() if self.text else None


@dataclass(frozen=True)
class AllocationProblem:
    """Static allocation problem read from CSV text, with the lines of that text."""

    header: str
    lines: Sequence[str]
    names: Sequence[str]
    line_numbers: Sequence[int]
    """Line of each buffer."""
    buffers: Sequence[Buffer]
    columns: Sequence[str]

    def format_with_offsets(self, offsets: Sequence[int]) -> str:
        """
        Return the CSV text with `offsets`, in bytes, as its last column, instead of any
        column `offset` that it has.
        """
        columns = [index for index, name in enumerate(self.columns) if name != "offset"]
        rows = [
            (self.header, "offset"),
            *zip(self.lines, map(str, offsets), strict=True),
        ]
        output = [
            ",".join([*(line.split(",")[index].strip() for index in columns), last])
            for line, last in rows
        ]
        return "\n".join(output) + "\n"


@dataclass
class _CSVReader:
    """Reader of a file, line by line."""

    alignment: int
    replan: bool
    columns: list[str] = field(default_factory=list[str])
    is_end_inclusive: bool = False
    indices_by_name: dict[str, int] = field(default_factory=dict[str, int])
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    container_cells: list[CSVCell | None] = field(
        default_factory=list["CSVCell | None"]
    )
    line_numbers: list[int] = field(default_factory=list[int])

    def read_header(self, line: int, text: str) -> None:
        """
        Set `columns`, with synonyms resolved. Raises `CSVError` for a wrong column.
        """
        for cell in _split_cells(line, text):
            name = SYNONYMS.get(cell.text, cell.text)
            if name not in (*REQUIRED, *OPTIONAL):
                known = ", ".join((*REQUIRED, *OPTIONAL))
                raise cell.make_error(f"a column of {known}")
            if name in self.columns:
                raise cell.make_error("every column once")
            self.is_end_inclusive |= cell.text == "end"
            self.columns.append(name)
        for name in REQUIRED:
            if name not in self.columns:
                raise CSVError(line, 1, f"expected a column `{name}`, got `{text}`")

    def read_row(self, line: int, text: str) -> None:
        """Append the buffer of one line. Raises `CSVError` for a repeated `id`."""
        cells = list(_split_cells(line, text))
        if len(cells) != len(self.columns):
            raise CSVError(
                line, 1, f"expected {len(self.columns)} values, got {len(cells)}"
            )
        row = dict(zip(self.columns, cells, strict=True))
        if row["id"].text in self.indices_by_name:
            raise row["id"].make_error("a name of its own")
        self.indices_by_name[row["id"].text] = len(self.buffers)
        self.line_numbers.append(line)
        container = row.get("within")
        self.container_cells.append(
            container if container is not None and container.text else None
        )
        self.buffers.append(self.parse_buffer(row))

    def parse_buffer(self, row: Mapping[str, CSVCell]) -> Buffer:
        """
        Return the buffer of a row, without its container, nor its offset on `replan`.
        """
        empty = CSVCell("", row["id"].line, 1)
        size = row["size"].to_integer()
        alignment = row.get("alignment", empty)
        offset = row.get("offset", empty).to_integer_or_none()
        return Buffer(
            size,
            tuple(self.parse_live_spans(row, size)),
            alignment.to_integer(1) if alignment.text else self.alignment,
            offset=None if self.replan else offset,
            hint=row.get("hint", empty).to_integer_or_none(),
        )

    def parse_live_spans(self, row: Mapping[str, CSVCell], size: int) -> list[LiveSpan]:
        """
        Return the live byte ranges in a lifetime with gaps, wrapped by its period.
        """
        lower = row["lower"].to_integer()
        upper = row["upper"].to_integer() + self.is_end_inclusive
        if upper < lower:
            raise row["upper"].make_error(f"a step from {lower} on")
        spans: list[LiveSpan] = []
        gaps = row.get("gaps")
        for start, end, low, high in self.parse_gaps(gaps, size) if gaps else ():
            if not lower <= start <= end <= upper:
                assert gaps is not None
                raise gaps.make_error(
                    f"gaps within {lower} to {upper}, one after the other"
                )
            spans.append(LiveSpan(lower, start, 0, size))
            spans.append(LiveSpan(start, end, low, high))
            lower = end
        spans.append(LiveSpan(lower, upper, 0, size))
        live = [
            span
            for span in spans
            if span.start < span.end and span.start_byte < span.end_byte
        ]
        period = row.get("period")
        return _wrap_spans(live, period) if period and period.text else live

    def parse_gaps(self, cell: CSVCell, size: int) -> list[tuple[int, int, int, int]]:
        """
        Return start step, end step, first and end byte live in each gap of `cell`.
        """
        parsed: list[tuple[int, int, int, int]] = []
        for text in cell.text.split():
            if (match := GAP.fullmatch(text)) is None:
                raise cell.make_error("gaps such as `3-5` or `3-5@0:64`")
            start, end, low, high = (int(each or 0) for each in match.groups())
            if not low <= high <= size:
                raise cell.make_error(f"bytes within {size}")
            parsed.append((start, end + self.is_end_inclusive, low, high))
        return parsed

    def resolve_buffers(self) -> list[Buffer]:
        """Return the buffers, each with the index of its containing buffer."""
        resolved: list[Buffer] = []
        for buffer, cell in zip(self.buffers, self.container_cells, strict=True):
            within = None
            if cell is not None:
                match = WITHIN.fullmatch(cell.text)
                if match is None or match["id"] not in self.indices_by_name:
                    raise cell.make_error("the `id` of a buffer, or `id+bytes`")
                within = self.indices_by_name[match["id"]], int(match["bytes"] or 0)
            resolved.append(
                Buffer(
                    buffer.size,
                    buffer.spans,
                    buffer.alignment,
                    within,
                    buffer.offset,
                    buffer.hint,
                )
            )
        return resolved


def read_problem(
    text: str, alignment: int = 1, replan: bool = False
) -> AllocationProblem:
    """
    Read a problem. Buffers without an `alignment` get the given one, and with `replan`
    offsets are ignored. Raises `CSVError`.
    """
    reader = _CSVReader(alignment, replan)
    header = ""
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if not reader.columns:
            header = line
            reader.read_header(number, line)
        else:
            lines.append(line)
            reader.read_row(number, line)
    if not reader.columns:
        raise CSVError(1, 1, f"expected columns {', '.join(REQUIRED)}, got nothing")
    return AllocationProblem(
        header,
        lines,
        list(reader.indices_by_name),
        reader.line_numbers,
        reader.resolve_buffers(),
        reader.columns,
    )


def _split_cells(line: int, text: str) -> list[CSVCell]:
    """Split `text` at commas into stripped cells with their columns."""
    cells: list[CSVCell] = []
    column = 1
    for part in text.split(","):
        spaces = len(part) - len(part.lstrip())
        cells.append(CSVCell(part.strip(), line, column + spaces))
        column += len(part) + 1
    return cells


def _wrap_spans(spans: Sequence[LiveSpan], period: CSVCell) -> list[LiveSpan]:
    """
    Return the live spans with steps modulo `period`; a span over its end is split in
    two.
    """
    steps = period.to_integer(1)
    first, last = spans[0].start if spans else 0, spans[-1].end if spans else 0
    if last - first > steps:
        raise period.make_error(
            f"a period of at least the lifetime, {last - first} steps"
        )
    return [
        LiveSpan(start, end, span.start_byte, span.end_byte)
        for span in spans
        for start, end in wrap_lifetime(span.start, span.end, steps)
    ]
