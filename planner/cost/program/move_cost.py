"""Cost of a move: its bursts, and fills of what lies outside of either side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from tlf.machine.instruction_costs import Cost, InstructionCosts, TransferEnd
from tlf.machine.machine_spec import DmaEngine
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import (
    AxisRange,
    BurstPhase,
    Values,
    evaluate_index,
)
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class MoveSide:
    """One side of a move: a place, and where in it the box starts."""

    place: BufferView
    offsets: tuple[AffineSum, ...]

    @property
    def bounds_by_axis(self) -> Iterator[tuple[int, AffineSum, int]]:
        """For each axis its number, the offset, and the extent."""
        pairs = zip(self.offsets, self.place.shape, strict=True)
        yield from ((axis, *pair) for axis, pair in enumerate(pairs))

    def address(self) -> AffineSum:
        """Bytes from the start of the buffer, but for the slices of a ring."""
        total, window = self.place.base, self.place.window
        for axis, offset, _ in self.bounds_by_axis:
            if window is None or axis != window.axis:
                total += offset * self.place.strides[axis]
        return total

    @property
    def ring_offset(self) -> AffineSum:
        """Elements from the start of a ring along the axis of its slices."""
        window = self.place.window
        if window is None:
            return AffineSum()
        return window.start * window.unit + self.offsets[window.axis]

    @property
    def ring_length(self) -> int:
        """The elements of a ring along the axis of its slices."""
        window = self.place.window
        return self.place.buffer.slices * (1 if window is None else window.unit)


@dataclass(frozen=True)
class BoxSegment:
    """Elements of a box along one axis, all before or all after the ends of rings."""

    first: int
    size: int


@dataclass(eq=False)
class MoveCost:
    """
    A move of a box: of what the destination has, as much is read as the source has. If
    it is clipped, no more is written. What straddles the end of a ring is moved in two.
    """

    costs: InstructionCosts
    engine: str
    source: MoveSide
    destination: MoveSide
    box: tuple[int, ...]
    clipped: bool = False
    axis_ranges: tuple[AxisRange, ...] = field(init=False)
    phases: tuple[BurstPhase, ...] = field(init=False)
    _known: dict[tuple[int, ...], tuple[Cost, ...]] = field(
        init=False, default_factory=dict[tuple[int, ...], tuple[Cost, ...]]
    )

    def __post_init__(self) -> None:
        queue = self.costs.machine.engines[self.engine]
        assert isinstance(queue, DmaEngine)
        levels = self.costs.machine.levels
        self.axis_ranges = tuple(
            AxisRange(offset, self.box[axis], bound)
            for side in self._sides
            for axis, offset, bound in side.bounds_by_axis
            if offset.terms
        )
        self._bursts = [
            levels[each].burst for each in (queue.source, queue.destination)
        ]
        self._addresses = [each.address() for each in self._sides]
        places = zip(self._addresses, self._bursts, strict=True)
        self.phases = tuple(
            BurstPhase(*each) for each in places if each[1] > 1 and each[0].terms
        )
        self._laps = [
            (each.ring_offset, each.ring_length)
            for each in self._sides
            if each.ring_offset.terms
        ]

    @property
    def _sides(self) -> tuple[MoveSide, MoveSide]:
        return self.source, self.destination

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """The instructions that do something."""
        key = (
            *[each.offset_if_outside(values) for each in self.axis_ranges],
            *[evaluate_index(each.place, values) % each.burst for each in self.phases],
            *[evaluate_index(start, values) % length for start, length in self._laps],
        )
        if (known := self._known.get(key)) is None:
            known = self._known[key] = tuple(self._instructions_at(values))
        return known

    def _instructions_at(self, values: Values) -> Iterator[Cost]:
        offsets = [
            [evaluate_index(offset, values) for offset in side.offsets]
            for side in self._sides
        ]
        bases = [evaluate_index(address, values) for address in self._addresses]
        laps = [
            evaluate_index(side.ring_offset, values) % side.ring_length
            for side in self._sides
        ]
        cuts = [
            list(self._split_at_ring_ends(axis, offsets, laps))
            for axis in range(len(self.box))
        ]
        for chosen in product(*cuts):
            if all(cut.size > 0 for cut in chosen):
                yield self._segment_cost(chosen, offsets, bases, laps)

    def _split_at_ring_ends(
        self, axis: int, offsets: Sequence[Sequence[int]], laps: Sequence[int]
    ) -> Iterator[BoxSegment]:
        """The elements to write along an axis, cut at ends of rings."""
        here, there = (each[axis] for each in offsets)
        first = max(0, -there)
        end = min(self.box[axis], self.destination.place.shape[axis] - there)
        if self.clipped:
            first = max(first, -here)
            end = min(end, self.source.place.shape[axis] - here)
        ends = [
            side.ring_length - lap
            for side, lap in zip((self.source, self.destination), laps, strict=True)
            if side.place.window is not None and side.place.window.axis == axis
        ]
        points = [first, *sorted(each for each in ends if first < each < end), end]
        for start, stop in pairwise(points):
            yield BoxSegment(start, stop - start)

    def _segment_cost(
        self,
        cuts: Sequence[BoxSegment],
        offsets: Sequence[Sequence[int]],
        bases: Sequence[int],
        laps: Sequence[int],
    ) -> Cost:
        read, begin, written, into = list[int](), bases[0], list[int](), bases[1]
        source, destination = self.source.place, self.destination.place
        for axis, cut in enumerate(cuts):
            start = offsets[0][axis] + cut.first
            low = max(0, -start)
            high = min(cut.size, source.shape[axis] - start)
            read.append(max(0, high - low))
            written.append(cut.size)
            begin += self._byte_shift(self.source, axis, cut.first + low, laps[0])
            into += self._byte_shift(self.destination, axis, cut.first, laps[1])
        axes = self._traversal_order(written)
        ends = (
            _end_in_order(begin, read, source.strides, axes),
            _end_in_order(into, written, destination.strides, axes),
        )
        return self.costs.cost_of_move(self.engine, *ends, source.item)

    def _traversal_order(self, sizes: Sequence[int]) -> list[int]:
        """
        The axes as a move walks them, in the order in which they lie in the memory with
        the longer bursts; in their own where elements repeat there.
        """
        at = self._bursts.index(max(self._bursts))
        strides = (self.source, self.destination)[at].place.strides
        ones = [axis for axis, size in enumerate(sizes) if size == 1]
        axes = [axis for axis, size in enumerate(sizes) if size != 1]
        seen = {abs(strides[axis]) for axis in axes}
        if 0 in seen or len(seen) < len(axes):
            return ones + axes
        return ones + sorted(axes, key=lambda axis: -abs(strides[axis]))

    @staticmethod
    def _byte_shift(side: MoveSide, axis: int, elements: int, lap: int) -> int:
        """The bytes that some elements along an axis are further on."""
        window, stride = side.place.window, side.place.strides[axis]
        if window is None or window.axis != axis:
            return elements * stride
        return (lap + elements) % side.ring_length * stride


def _end_in_order(
    first: int, sizes: Sequence[int], strides: Sequence[int], axes: Sequence[int]
) -> TransferEnd:
    """One end of a move that walks axes in an order."""
    return TransferEnd(
        first,
        tuple(sizes[axis] for axis in axes),
        tuple(strides[axis] for axis in axes),
    )
