"""
Buffers with live ranges and their allocations, without IR: the data model of the
allocator.

Steps and bytes are integers. Lifetimes and byte ranges are half-open: [start, end).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

ALIGNMENT = 256
"""Default alignment of buffers, in bytes."""


def align_offset(offset: int, alignment: int) -> int:
    """Round an offset up to a multiple of `alignment`."""
    return -(-offset // alignment) * alignment


@dataclass(frozen=True)
class LiveSpan:
    """
    Bytes [low, high) of a buffer, relative to its start, that are live in steps [start,
    end).
    """

    start: int
    end: int
    start_byte: int
    end_byte: int

    def has_overlap(self, other: LiveSpan) -> bool:
        """Return `True` if both spans are live at a common step."""
        return max(self.start, other.start) < min(self.end, other.end)


@dataclass(frozen=True)
class Buffer:
    """
    Buffer to allocate: its size and the live ranges of its bytes.

    A lifetime may have gaps, or be an arc: a part of the period of a loop.
    """

    size: int
    """Size in bytes."""
    spans: tuple[LiveSpan, ...]
    """Live ranges. Spans of one buffer may overlap: the live bytes are their union."""
    alignment: int = ALIGNMENT
    """Alignment of the offset, in bytes."""
    enclosing: tuple[int, int] | None = None
    """
    Index of the enclosing buffer, and the offset in it in bytes. Buffers within one
    enclosing buffer may be live together.
    """
    offset: int | None = None
    """Fixed offset in bytes, if any."""
    hint: int | None = None
    """Preferred offset in bytes, for example from a plan for an earlier program."""

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"expected a size of at least 0 bytes, got {self.size}")
        if self.alignment < 1:
            raise ValueError(
                f"expected an alignment of 1 or more, got {self.alignment}"
            )
        for span in self.spans:
            if not 0 <= span.start_byte <= span.end_byte <= self.size:
                raise ValueError(
                    f"expected bytes within the {self.size} of the buffer, got "
                    f"{span.start_byte} to {span.end_byte}"
                )

    @property
    def aligned_size(self) -> int:
        """Size in bytes, rounded up to the alignment."""
        return align_offset(self.size, self.alignment)

    def extend_lifetime(self, start: int, end: int) -> Buffer:
        """
        Return this buffer with its lifetime extended to cover the steps [start, end).
        """
        low = min(start, *(span.start for span in self.spans))
        high = max(end, *(span.end for span in self.spans))
        return replace(self, spans=(LiveSpan(low, high, 0, self.size),))

    @staticmethod
    def live_during(
        size: int, start: int, end: int, alignment: int = ALIGNMENT
    ) -> Buffer:
        """Return a buffer that is live in the steps [start, end)."""
        return Buffer(size, (LiveSpan(start, end, 0, size),), alignment)

    @staticmethod
    def live_in_loop(
        size: int, start: int, end: int, period: int, alignment: int = ALIGNMENT
    ) -> Buffer:
        """
        Return a buffer of a loop whose iterations start every `period` steps and
        overlap: live from step `start` of its iteration to `end`, which may be in the
        next one.

        Raises `ValueError` if the lifetime is longer than the period. See
        `copies_for_unrolled_loop`.
        """
        spans = (
            LiveSpan(low, high, 0, size)
            for low, high in wrap_lifetime(start, end, period)
        )
        return Buffer(size, tuple(spans), alignment)


def wrap_lifetime(start: int, end: int, period: int) -> Iterator[tuple[int, int]]:
    """
    Yield the intervals of [0, period) that the steps [start, end) cover modulo
    `period`.

    Raises `ValueError` if there are more steps than the period has.
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


def copies_for_unrolled_loop(
    size: int,
    start: int,
    end: int,
    period: int,
    copies: int,
    alignment: int = ALIGNMENT,
) -> list[Buffer]:
    """
    Return a buffer per copy of one value in a pipelined loop unrolled `copies` times,
    with lifetimes that start one `period` apart.
    """
    unrolled_period = period * copies
    return [
        Buffer.live_in_loop(
            size, start + shift, end + shift, unrolled_period, alignment
        )
        for shift in range(0, unrolled_period, period)
    ]


@dataclass(frozen=True)
class Allocation:
    """Offset in bytes of each buffer, and the end of the highest buffer."""

    offsets: tuple[int, ...]
    peak: int
    bound: int = 0
    """
    Lower bound on the peak in bytes; equal to `peak` if the allocation is optimal.
    """
    method: str = ""
    """Name of the method that found it."""

    @property
    def is_optimal(self) -> bool:
        """True if no placement has a lower peak."""
        return self.peak == self.bound
