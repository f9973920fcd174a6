"""
Analysis of subviews of a buffer, without IR: disjointness for all induction variables.

A subview selects a section of a buffer along each axis. Often the section along some
axis does not depend on loops, as for concat operands side by side in one tensor.
Offsets may have any unit, if all have the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import gcd


@dataclass(frozen=True)
class Section:
    """Slices along an axis, as an interval of strided offsets modulo a period."""

    stride: int
    period: int
    first_slice: int
    extent: int

    def is_disjoint(self, other: Section) -> bool:
        """Return `True` if these are disjoint slices along the same axis."""
        if (self.stride, self.period) != (other.stride, other.period):
            return False
        first, second = sorted((self, other), key=lambda each: each.first_slice)
        return first.first_slice + first.extent <= second.first_slice


def has_disjoint_sections(left: Sequence[Section], right: Sequence[Section]) -> bool:
    """Return `True` if no element can be in all sections of both lists."""
    return any(section.is_disjoint(other) for section, other in product(left, right))


@dataclass(frozen=True)
class BufferRegion:
    """Conservative description of the elements of a root buffer that a view covers."""

    bounds: tuple[int, ...] = ()
    """Sorted strides of the buffer, and its size. If empty, no sections are known."""
    start: int = 0
    granularity: int = 0
    """The start is known modulo this number; exactly if it is 0."""
    sections: tuple[Section, ...] = ()
    """Sections whose intersection contains the region."""

    @staticmethod
    def whole_buffer(shape: Sequence[int], strides: Sequence[int]) -> BufferRegion:
        """Return the region of a whole buffer."""
        ends = {extent * step for extent, step in zip(shape, strides, strict=True)}
        return BufferRegion(tuple(sorted({*strides, max(ends, default=0)})))

    def subview(
        self,
        shape: Sequence[int],
        strides: Sequence[int],
        offsets: Sequence[int | None],
        sizes: Sequence[int],
    ) -> BufferRegion:
        """
        Return the region of a box of this region under a shape and strides. Offsets
        that are unknown or vary are None; elements outside of the shape are excluded.
        """
        start, grain, sections = self.start, self.granularity, list(self.sections)
        for axis, offset in enumerate(offsets):
            if offset is None:
                grain = gcd(grain, strides[axis])
                continue
            start += offset * strides[axis]
            low, high = max(0, offset), min(offset + sizes[axis], shape[axis])
            if (low, high) != (0, shape[axis]):
                sections += self._make_section(shape, strides, axis, low, high - low)
        return BufferRegion(self.bounds, start, grain, tuple(sections))

    def with_unknown_start(self) -> BufferRegion:
        """Return an unknown part of this region."""
        return BufferRegion(self.bounds, self.start, 1, self.sections)

    def _make_section(
        self,
        shape: Sequence[int],
        strides: Sequence[int],
        axis: int,
        first: int,
        extent: int,
    ) -> Iterator[Section]:
        """
        Yield the section of some slices along an axis, if no element of a slice is
        outside of it.
        """
        stride = strides[axis]
        period = next((each for each in self.bounds if each > stride > 0), 0)
        if not period or self.granularity % period:
            return
        start, offset_in_slice = divmod(self.start % period, stride)
        for other, (size, step) in enumerate(zip(shape, strides, strict=True)):
            if other == axis or size == 1:
                continue
            if step < stride:
                offset_in_slice += (size - 1) * step
            elif step % period:
                return
        first += start
        if offset_in_slice < stride and (first + extent - 1) * stride < period:
            yield Section(stride, period, first, extent)
