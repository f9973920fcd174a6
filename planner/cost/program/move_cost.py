"""
Cost model of a move, without IR: its bursts, and fills of elements outside of either
side.
"""

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

    view: BufferView
    offsets: tuple[AffineSum, ...]

    @property
    def bounds_by_axis(self) -> Iterator[tuple[int, AffineSum, int]]:
        """Index, offset and extent of each axis."""
        pairs = zip(self.offsets, self.view.shape, strict=True)
        yield from ((axis, *pair) for axis, pair in enumerate(pairs))

    def byte_address(self) -> AffineSum:
        """
        Return the byte offset from the start of the buffer, without the slices of a
        ring.
        """
        total, window = self.view.byte_offset, self.view.ring_window
        for axis, offset, _ in self.bounds_by_axis:
            if window is None or axis != window.axis:
                total += offset * self.view.strides[axis]
        return total

    @property
    def ring_offset(self) -> AffineSum:
        """Offset in elements from the start of a ring, along the axis of its slices."""
        window = self.view.ring_window
        if window is None:
            return AffineSum()
        return (
            window.first_slice * window.elements_per_slice + self.offsets[window.axis]
        )

    @property
    def ring_length(self) -> int:
        """Elements of the whole ring along its slices' axis; 1 for other buffers."""
        window = self.view.ring_window
        return self.view.buffer.slice_count * (
            1 if window is None else window.elements_per_slice
        )


@dataclass(frozen=True)
class BoxSegment:
    """Elements of a box along one axis that do not straddle the end of a ring."""

    start: int
    size: int


@dataclass(eq=False)
class MoveCost:
    """
    Cost of moving a box. Elements within the destination are written, of which those
    within the source are read; if `is_clipped`, no others are written. A box that
    straddles the end of a ring is moved in two.
    """

    costs: InstructionCosts
    engine: str
    source: MoveSide
    destination: MoveSide
    box_shape: tuple[int, ...]
    is_clipped: bool = False
    axis_ranges: tuple[AxisRange, ...] = field(init=False)
    phases: tuple[BurstPhase, ...] = field(init=False)
    _costs_by_phase: dict[tuple[int, ...], tuple[Cost, ...]] = field(
        init=False, default_factory=dict[tuple[int, ...], tuple[Cost, ...]]
    )

    def __post_init__(self) -> None:
        queue = self.costs.machine.engines[self.engine]
        assert isinstance(queue, DmaEngine)
        levels = self.costs.machine.levels
        self.axis_ranges = tuple(
            AxisRange(offset, self.box_shape[axis], bound)
            for side in self._sides
            for axis, offset, bound in side.bounds_by_axis
            if offset.terms
        )
        self._bursts = [
            levels[each].burst for each in (queue.source, queue.destination)
        ]
        self._addresses = [each.byte_address() for each in self._sides]
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
        """Return the costs, in one iteration, of the instructions of the move."""
        key = (
            *[each.offset_if_out_of_bounds(values) for each in self.axis_ranges],
            *[
                evaluate_index(each.address, values) % each.burst_bytes
                for each in self.phases
            ],
            *[evaluate_index(start, values) % length for start, length in self._laps],
        )
        if (known := self._costs_by_phase.get(key)) is None:
            known = self._costs_by_phase[key] = tuple(
                self._instruction_costs_at(values)
            )
        return known

    def _instruction_costs_at(self, values: Values) -> Iterator[Cost]:
        """
        Yield the cost of each nonempty part of the box, split at the ends of rings, for
        loop counters `values`.
        """
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
            for axis in range(len(self.box_shape))
        ]
        for segments in product(*segments_by_axis):
            if all(segment.size > 0 for segment in segments):
                yield self._segment_cost(segments, offsets, bases, laps)

    def _split_at_ring_ends(
        self, axis: int, offsets: Sequence[Sequence[int]], ring_positions: Sequence[int]
    ) -> Iterator[BoxSegment]:
        """Yield the segments to write along an axis, split at the ends of rings."""
        source_offset, destination_offset = (each[axis] for each in offsets)
        first = max(0, -destination_offset)
        end = min(
            self.box_shape[axis], self.destination.view.shape[axis] - destination_offset
        )
        if self.is_clipped:
            first = max(first, -source_offset)
            end = min(end, self.source.view.shape[axis] - source_offset)
        ends = [
            side.ring_length - lap
            for side, lap in zip(
                (self.source, self.destination), ring_positions, strict=True
            )
            if side.view.ring_window is not None and side.view.ring_window.axis == axis
        ]
        points = [first, *sorted(each for each in ends if first < each < end), end]
        for start, stop in pairwise(points):
            yield BoxSegment(start, stop - start)

    def _segment_cost(
        self,
        segments: Sequence[BoxSegment],
        offsets: Sequence[Sequence[int]],
        byte_addresses: Sequence[int],
        ring_positions: Sequence[int],
    ) -> Cost:
        """
        Return the cost of moving one part of the box, written completely and read
        within the bounds of the source.
        """
        read, begin, written, target = (
            list[int](),
            byte_addresses[0],
            list[int](),
            byte_addresses[1],
        )
        source, destination = self.source.view, self.destination.view
        for axis, cut in enumerate(segments):
            start = offsets[0][axis] + cut.start
            low = max(0, -start)
            high = min(cut.size, source.shape[axis] - start)
            read.append(max(0, high - low))
            written.append(cut.size)
            begin += self._byte_offset_along_axis(
                self.source, axis, cut.start + low, ring_positions[0]
            )
            target += self._byte_offset_along_axis(
                self.destination, axis, cut.start, ring_positions[1]
            )
        axes = self._traversal_order(written)
        ends = (
            _transfer_end_in_order(begin, read, source.strides, axes),
            _transfer_end_in_order(target, written, destination.strides, axes),
        )
        return self.costs.cost_of_move(self.engine, *ends, source.item_bytes)

    def _traversal_order(self, sizes: Sequence[int]) -> list[int]:
        """
        Return the axes in traversal order: their order in the memory with the longer
        bursts, or their own order if elements repeat there.
        """
        side = self._bursts.index(max(self._bursts))
        strides = (self.source, self.destination)[side].view.strides
        ones = [axis for axis, size in enumerate(sizes) if size == 1]
        axes = [axis for axis, size in enumerate(sizes) if size != 1]
        distinct = {abs(strides[axis]) for axis in axes}
        if 0 in distinct or len(distinct) < len(axes):
            return ones + axes
        return ones + sorted(axes, key=lambda axis: -abs(strides[axis]))

    @staticmethod
    def _byte_offset_along_axis(
        side: MoveSide, axis: int, elements: int, ring_position: int
    ) -> int:
        """
        Return the byte offset of `elements` elements along an axis; on a ring's axis,
        count from `ring_position` and wrap around.
        """
        window, stride = side.view.ring_window, side.view.strides[axis]
        if window is None or window.axis != axis:
            return elements * stride
        return (ring_position + elements) % side.ring_length * stride


def _transfer_end_in_order(
    byte_address: int,
    sizes: Sequence[int],
    strides: Sequence[int],
    axis_order: Sequence[int],
) -> TransferEnd:
    """Return one end of a move that traverses axes in the given order."""
    return TransferEnd(
        byte_address,
        tuple(sizes[axis] for axis in axis_order),
        tuple(strides[axis] for axis in axis_order),
    )
