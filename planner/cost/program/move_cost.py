"""Cost model of a move: its bursts, and fills of elements outside of either side."""

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
    """One side of a move: a view, and the offsets of the box in it."""

    place: BufferView
    offsets: tuple[AffineSum, ...]

    @property
    def bounds_by_axis(self) -> Iterator[tuple[int, AffineSum, int]]:
        """Index, offset and extent of each axis."""
        pairs = zip(self.offsets, self.place.shape, strict=True)
        yield from ((axis, *pair) for axis, pair in enumerate(pairs))

    def address(self) -> AffineSum:
        """
        Return the byte offset from the start of the buffer, without the slices of a
        ring.
        """
        total, window = self.place.base, self.place.window
        for axis, offset, _ in self.bounds_by_axis:
            if window is None or axis != window.axis:
                total += offset * self.place.strides[axis]
        return total

    @property
    def ring_offset(self) -> AffineSum:
        """Offset in elements from the start of a ring, along the axis of its slices."""
        window = self.place.window
        if window is None:
            return AffineSum()
        return window.start * window.unit + self.offsets[window.axis]

    @property
    def ring_length(self) -> int:
        """Length of a ring in elements, along the axis of its slices."""
        window = self.place.window
        return self.place.buffer.slices * (1 if window is None else window.unit)


@dataclass(frozen=True)
class BoxSegment:
    """Elements of a box along one axis that do not straddle the end of a ring."""

    first: int
    size: int


@dataclass(eq=False)
class MoveCost:
    """
    Cost of moving a box. Elements within the destination are written, of which those
    within the source are read; if `clipped`, no others are written. A box that
    straddles the end of a ring is moved in two.
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
        starts = zip(self._addresses, self._bursts, strict=True)
        self.phases = tuple(
            BurstPhase(*each) for each in starts if each[1] > 1 and each[0].terms
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
        """Return the costs of the instructions that move elements."""
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
        segments_by_axis = [
            list(self._split_at_ring_ends(axis, offsets, laps))
            for axis in range(len(self.box))
        ]
        for segments in product(*segments_by_axis):
            if all(segment.size > 0 for segment in segments):
                yield self._segment_cost(segments, offsets, bases, laps)

    def _split_at_ring_ends(
        self, axis: int, offsets: Sequence[Sequence[int]], laps: Sequence[int]
    ) -> Iterator[BoxSegment]:
        """Yield the segments to write along an axis, split at the ends of rings."""
        source_offset, destination_offset = (each[axis] for each in offsets)
        first = max(0, -destination_offset)
        end = min(
            self.box[axis], self.destination.place.shape[axis] - destination_offset
        )
        if self.clipped:
            first = max(first, -source_offset)
            end = min(end, self.source.place.shape[axis] - source_offset)
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
        read, begin, written, target = list[int](), bases[0], list[int](), bases[1]
        source, destination = self.source.place, self.destination.place
        for axis, cut in enumerate(cuts):
            start = offsets[0][axis] + cut.first
            low = max(0, -start)
            high = min(cut.size, source.shape[axis] - start)
            read.append(max(0, high - low))
            written.append(cut.size)
            begin += self._byte_shift(self.source, axis, cut.first + low, laps[0])
            target += self._byte_shift(self.destination, axis, cut.first, laps[1])
        axes = self._traversal_order(written)
        ends = (
            _end_in_order(begin, read, source.strides, axes),
            _end_in_order(target, written, destination.strides, axes),
        )
        return self.costs.cost_of_move(self.engine, *ends, source.item)

    def _traversal_order(self, sizes: Sequence[int]) -> list[int]:
        """
        Return the axes in traversal order: their order in the memory with the longer
        bursts, or their own order if elements repeat there.
        """
        side = self._bursts.index(max(self._bursts))
        strides = (self.source, self.destination)[side].place.strides
        ones = [axis for axis, size in enumerate(sizes) if size == 1]
        axes = [axis for axis, size in enumerate(sizes) if size != 1]
        distinct = {abs(strides[axis]) for axis in axes}
        if 0 in distinct or len(distinct) < len(axes):
            return ones + axes
        return ones + sorted(axes, key=lambda axis: -abs(strides[axis]))

    @staticmethod
    def _byte_shift(side: MoveSide, axis: int, elements: int, lap: int) -> int:
        """Return the byte offset of `elements` elements along an axis."""
        window, stride = side.place.window, side.place.strides[axis]
        if window is None or window.axis != axis:
            return elements * stride
        return (lap + elements) % side.ring_length * stride


def _end_in_order(
    first: int, sizes: Sequence[int], strides: Sequence[int], axes: Sequence[int]
) -> TransferEnd:
    """Return one end of a move that traverses axes in the given order."""
    return TransferEnd(
        first,
        tuple(sizes[axis] for axis in axes),
        tuple(strides[axis] for axis in axes),
    )
