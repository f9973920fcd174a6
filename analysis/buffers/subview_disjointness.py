"""
Disjointness of subviews of a buffer for all values of the loops.

A part is cut out of a buffer along one axis after the other. Where an axis is cut does
often not depend on loops: so it is for tensors that lie side by side in one that they
are joined in. Places are in any unit, as long as all of them are in the same.
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
    first: int
    extent: int

    def is_disjoint(self, other: Section) -> bool:
        """Return `True` if these are disjoint slices along the same axis."""
        if (self.stride, self.period) != (other.stride, other.period):
            return False
        first, second = sorted((self, other), key=lambda each: each.first)
        return first.first + first.extent <= second.first


def has_disjoint_sections(left: Sequence[Section], right: Sequence[Section]) -> bool:
    """
    Return `True` if no element is in all sections of the one and in all of the other
    list.
    """
    return any(mine.is_disjoint(theirs) for mine, theirs in product(left, right))


@dataclass(frozen=True)
class BufferRegion:
    """A subview of a buffer, or all of it."""

    bounds: tuple[int, ...] = ()
    """The strides of the buffer and its size. Of one without, no sections are known."""
    start: int = 0
    grain: int = 0
    """The start is known but for multiples of this; exactly, if it is 0."""
    sections: tuple[Section, ...] = ()
    """All of them hold the part."""

    @staticmethod
    def whole_buffer(shape: Sequence[int], strides: Sequence[int]) -> BufferRegion:
        """All of a buffer."""
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
        A box of this part, seen under a shape. Offsets that are not known, or not the
        same all the time, are None; what lies outside of the shape is left out.
        """
        start, grain, found = self.start, self.grain, list(self.sections)
        for axis, offset in enumerate(offsets):
            if offset is None:
                grain = gcd(grain, strides[axis])
                continue
            start += offset * strides[axis]
            low, high = max(0, offset), min(offset + sizes[axis], shape[axis])
            if (low, high) != (0, shape[axis]):
                found += self._make_section(shape, strides, axis, low, high - low)
        return BufferRegion(self.bounds, start, grain, tuple(found))

    def with_unknown_start(self) -> BufferRegion:
        """A part of this, nobody knows which."""
        return BufferRegion(self.bounds, self.start, 1, self.sections)

    def _make_section(
        self,
        shape: Sequence[int],
        strides: Sequence[int],
        axis: int,
        first: int,
        extent: int,
    ) -> Iterator[Section]:
        """Some slices along an axis, if nothing inside reaches out of its slice."""
        stride = strides[axis]
        period = next((each for each in self.bounds if each > stride > 0), 0)
        if not period or self.grain % period:
            return
        start, inside = divmod(self.start % period, stride)
        for other, (size, step) in enumerate(zip(shape, strides, strict=True)):
            if other == axis or size == 1:
                continue
            if step < stride:
                inside += (size - 1) * step
            elif step % period:
                return
        first += start
        if inside < stride and (first + extent - 1) * stride < period:
            yield Section(stride, period, first, extent)
