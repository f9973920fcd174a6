"""
Buffers with live ranges, and allocations of them: the data of the allocator.

Steps and bytes are integers. Lifetimes and ranges of bytes are half-open: [start, end).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

ALIGNMENT = 256
"""Default alignment of buffers, in bytes."""


def align(offset: int, alignment: int) -> int:
    """
    Round an offset up to a multiple of `alignment`.
    """
    return -(-offset // alignment) * alignment


@dataclass(frozen=True)
class Span:
    """
    The bytes [low, high) of a buffer, counted from its start, in steps [start, end).
    """

    start: int
    end: int
    low: int
    high: int

    def has_overlap(self, other: Span) -> bool:
        """Return `True` if both are live at some step."""
        return max(self.start, other.start) < min(self.end, other.end)


@dataclass(frozen=True)
class Buffer:
    """
    Something to place: its bytes, and which of them are live when.

    A lifetime may have gaps, or be an arc: the part of a period that a loop repeats.
    """

    size: int
    """Bytes."""
    spans: tuple[Span, ...]
    """Live ranges. Spans of one buffer may overlap: they hold what either holds."""
    alignment: int = ALIGNMENT
    """Its first byte is a multiple of this."""
    within: tuple[int, int] | None = None
    """
    The number of the buffer it shares its place with, and where in that its first byte
    is, in bytes. Buffers of one place may be live together.
    """
    offset: int | None = None
    """Its first byte, if that is not to be chosen."""
    hint: int | None = None
    """Preferred offset of its first byte, as in a plan for an earlier program."""

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"expected a size of at least 0 bytes, got {self.size}")
        if self.alignment < 1:
            raise ValueError(
                f"expected an alignment of 1 or more, got {self.alignment}"
            )
        for span in self.spans:
            if not 0 <= span.low <= span.high <= self.size:
                raise ValueError(
                    f"expected bytes within the {self.size} of the buffer, got "
                    f"{span.low} to {span.high}"
                )

    @property
    def aligned_size(self) -> int:
        """Its bytes, up to where another one of its alignment may start."""
        return align(self.size, self.alignment)

    def extend_lifetime(self, start: int, end: int) -> Buffer:
        """
        Return this buffer with its lifetime extended to cover the steps [start, end).
        """
        low = min(start, *(span.start for span in self.spans))
        high = max(end, *(span.end for span in self.spans))
        return replace(self, spans=(Span(low, high, 0, self.size),))

    @staticmethod
    def live_during(
        size: int, start: int, end: int, alignment: int = ALIGNMENT
    ) -> Buffer:
        """A buffer that is live in the steps [start, end)."""
        return Buffer(size, (Span(start, end, 0, size),), alignment)

    @staticmethod
    def live_in_loop(
        size: int, start: int, end: int, period: int, alignment: int = ALIGNMENT
    ) -> Buffer:
        """
        A buffer of a loop whose iterations start every `period` steps and overlap: live
        from step `start` of its iteration to `end`, which may be one of the next.

        Raises `ValueError` if it would meet itself. See `pipelined`.
        """
        spans = (
            Span(low, high, 0, size) for low, high in wrap_lifetime(start, end, period)
        )
        return Buffer(size, tuple(spans), alignment)


def wrap_lifetime(start: int, end: int, period: int) -> Iterator[tuple[int, int]]:
    """
    Yield the parts of [0, period) that the steps [start, end) fall on, modulo `period`.
    """
    if not 0 <= end - start <= period:
        raise ValueError(
            f"expected a lifetime of at most the period of {period} steps, got "
            f"{end - start}"
        )
    first = start % period
    last = first + end - start
    if first < last:
        yield first, min(last, period)
    if last > period:
        yield 0, last - period


def expand_modulo(
    size: int,
    start: int,
    end: int,
    period: int,
    copies: int,
    alignment: int = ALIGNMENT,
) -> list[Buffer]:
    """Return the copies of one value in a pipelined loop unrolled `copies` times."""
    around = period * copies
    return [
        Buffer.live_in_loop(size, start + turn, end + turn, around, alignment)
        for turn in range(0, around, period)
    ]


@dataclass(frozen=True)
class Allocation:
    """
    An offset in bytes per buffer, and the end of the highest one.
    """

    offsets: tuple[int, ...]
    peak: int
    bound: int = 0
    """Bytes that no placement can go below: `peak`, if this one is known to be best."""
    method: str = ""
    """Name of the method that found it."""

    @property
    def is_optimal(self) -> bool:
        """True if no placement has a lower peak."""
        return self.peak == self.bound
