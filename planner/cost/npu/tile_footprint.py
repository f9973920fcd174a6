"""
Cost model of NPU memory: peak bytes of a level that the live tiles of a group occupy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.cascade_tiles import is_loop_carried
from tlf.analysis.tiling.group_tiling import (
    TEMPORARY_BYTES,
    GroupTiling,
    LoopLevel,
    TileLoop,
    count_elements_of_box,
    is_same_box,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.npu.concat_slices import ConcatSlices
from tlf.planner.cost.npu.execution_steps import ExecutionSteps
from tlf.planner.cost.npu.in_place_buffers import InPlaceBuffers
from tlf.planner.cost.npu.iterations_in_flight import IterationsInFlight
from tlf.planner.cost.npu.nest_prediction import Nests
from tlf.support.affine.index_access import Box, Interval
from tlf.support.allocation import align_offset, peak_live_bytes

BEFORE = -1
"""Step before a sliding-window loop, in which the initial windows are computed."""


class BufferRow(NamedTuple):
    """Modelled buffer of a footprint: its bytes, and its live range in steps."""

    kind: str
    """`input`, `window`, `value`, `output`, `held` or `temporary`."""
    value: SSAValue
    byte_count: int
    """Bytes, including those for further iterations."""
    start_step: int
    end_step: int
    """End of the live range `[start, end)`."""
    box: Box
    """The stored tile."""
    in_flight_bytes: int = 0
    """Bytes of the buffer for further iterations in flight."""
    is_reduce_stage: bool = False
    """True if the further iterations are stages of a reduction."""

    def with_further_iterations(self, count: int) -> BufferRow:
        """Return the buffer extended by some further iterations in flight."""
        ahead = self.in_flight_bytes * count
        return self._replace(byte_count=self.byte_count + ahead, in_flight_bytes=ahead)


@dataclass(frozen=True)
class Footprint:
    """Buffers of a group's tiles in one level, with their live ranges in steps."""

    buffer_rows: tuple[BufferRow, ...]

    @cached_property
    def peak_bytes(self) -> int:
        """Maximum number of live bytes over all steps."""
        return peak_live_bytes(
            (row.start_step, row.end_step, row.byte_count) for row in self.buffer_rows
        )

    @property
    def total_bytes(self) -> int:
        """Total bytes of all buffers, without sharing."""
        return sum(row.byte_count for row in self.buffer_rows)


class TileBuffers:
    """Buffers of a group's tiles, for any number of iterations in flight."""

    def __init__(
        self,
        tiling: GroupTiling,
        nests: Nests | None = None,
        uncounted_inputs: Collection[SSAValue] = (),
        resident_values: Collection[SSAValue] = (),
        steps: ExecutionSteps | None = None,
    ) -> None:
        """
        Inputs in `uncounted_inputs` are already in the level and are not counted;
        inputs and results in `resident_values` are resident as a whole.

        In the innermost level, where `nests` is `None`, every operation computes,
        elementwise operations in place if possible. In outer levels, only values passed
        from one nest over inner tiles to the next are stored. `steps` are those of all
        operations, if known.
        """
        if steps is None or len(steps.of) != len(tiling.tiles):
            steps = ExecutionSteps(tiling.tiles, nests)
        self.apart = uncounted_inputs
        self.held = resident_values
        self.tiling = tiling
        self.nearest = nests is None
        self.one_by_one = nests is not None and bool(tiling.inner_loops)
        """True if tiles run sequentially, because loops in them are in flight."""
        self.steps = steps
        self.step = steps.of
        self.end = steps.end
        self.results = set(tiling.results)
        self.in_place = InPlaceBuffers(tiling, steps) if self.nearest else None
        slices = (
            ConcatSlices(tiling, (*uncounted_inputs, *resident_values))
            if nests is not None
            else None
        )
        self.joined = slices
        self.rows = tuple(self._collect_rows())
        """
        Buffers of one iteration; `ahead` is the bytes that each further iteration adds.
        """

    def footprint_of(self, in_flight: IterationsInFlight) -> Footprint:
        """
        Return the footprint of `in_flight` iterations, or of all iterations if there
        are fewer.
        """
        tiles, stages = self._further_iterations(in_flight)
        return Footprint(
            tuple(
                row.with_further_iterations(stages if row.is_reduce_stage else tiles)
                if row.in_flight_bytes
                else row
                for row in self.rows
            )
        )

    def peak_bytes_of(self, in_flight: IterationsInFlight) -> int:
        """Return the peak bytes of the footprint of `in_flight` iterations."""
        tiles, stages = self._further_iterations(in_flight)
        return peak_live_bytes(
            [
                (start, end, size + ahead * (stages if is_reduce_stage else tiles))
                for _, _, size, start, end, _, ahead, is_reduce_stage in self.rows
            ]
        )

    def _further_iterations(self, in_flight: IterationsInFlight) -> tuple[int, int]:
        """Return the numbers of further tiles and reduction tiles in flight."""
        return (
            _limit_in_flight(self.tiling.loops, in_flight.tiles) - 1,
            _limit_in_flight(self.tiling.inner_loops, in_flight.reduce_stages) - 1,
        )

    def _collect_rows(self) -> Iterator[BufferRow]:
        """
        Yield the buffers of inputs, initial windows and values, live from step `BEFORE`
        on if the initial windows need them.
        """
        rows = (
            *self._input_rows(),
            *self._initial_window_rows(),
            *self._value_rows(),
        )
        if self.tiling.rolling_loop is None:
            yield from rows
            return
        for row in rows:
            yield (
                row._replace(start_step=BEFORE)
                if self._is_live_in_initial_windows(row)
                else row
            )

    def _value_rows(self) -> Iterator[BufferRow]:
        """
        Yield the buffers of computed values and, in the innermost level, of
        temporaries.
        """
        for op in self.tiling.tiles:
            for value in self._buffered_results(op):
                yield self._row_of_value(value)
            if self.nearest:
                yield from self._temporary_rows(op)

    def _input_rows(self) -> Iterator[BufferRow]:
        """
        Yield the buffers of inputs counted in this level: resident as a whole, rolling
        windows, reduction tiles and other tiles.
        """
        for (value, scope), boxes in self.tiling.reads.items():
            if value in self.apart or not self._has_own_buffer(value):
                continue
            is_staged = scope is LoopLevel.INNER
            if value in self.held:
                yield self._row_of_whole_value(value)
                continue
            for index, box in enumerate(boxes):
                window = self.tiling.windows.get((value, index))
                size = self._bytes_of_box(value, box)
                if window is not None:
                    ahead = self._bytes_of_box(value, window.new_part)
                    row = self._row_live_in_all_steps("window", value, size, box, ahead)
                    yield row._replace(is_reduce_stage=True) if is_staged else row
                elif is_staged and _is_loop_variant(box):
                    row = self._row_live_in_all_steps("input", value, size, box, size)
                    yield self._limit_to_reduction_loop(
                        row._replace(is_reduce_stage=True)
                    )
                elif self.one_by_one and self._is_sliced_each_iteration(box):
                    yield self._row_live_during_use(value, size, box)
                elif self.tiling.loops or self.nearest:
                    ahead = size if _is_loop_variant(box) else 0
                    yield self._row_live_in_all_steps("input", value, size, box, ahead)
                else:
                    yield self._row_live_during_use(value, size, box)

    def _is_live_in_initial_windows(self, row: BufferRow) -> bool:
        """
        Return `True` if a buffer is also live when the initial windows are computed.
        """
        if self.tiling.rolling_loop is None or row.start_step:
            return False
        if row.kind == "window":
            return True
        is_input = row.kind in {"input", "held"}
        return is_input and not is_box_moved_by(row.box, (self.tiling.rolling_loop,))

    def _initial_window_rows(self) -> Iterator[BufferRow]:
        """
        Yield the buffers read and computed for the initial windows. A tile loaded
        outside of a loop around the sliding loop is live throughout, as every iteration
        of that loop starts with it; other tiles are live only before the windows slide.
        """
        start, sliding = self.tiling.prologue, self.tiling.rolling_loop
        if start is None:
            return
        outer_loops = [
            loop for loop in self.tiling.loops.values() if loop is not sliding
        ]
        for (value, scope), boxes in start.reads.items():
            if scope is LoopLevel.INNER or value in self.apart or value in self.held:
                continue
            loop_boxes = self._boxes_read_in_loop(value, scope)
            for box in boxes:
                if any(is_same_box(box, each) for each in loop_boxes):
                    continue
                size = self._bytes_of_box(value, box)
                if outer_loops and not is_box_moved_by(box, outer_loops[-1:]):
                    yield self._row_live_in_all_steps("window", value, size, box)
                elif not self._is_initial_window(value, box):
                    yield BufferRow("window", value, size, BEFORE, 0, box)
        yield from self._window_producer_rows(start)

    def _window_producer_rows(self, initial_tiling: GroupTiling) -> Iterator[BufferRow]:
        """
        Yield the values that are computed for the initial windows and are not windows.
        """
        for op, tiled in initial_tiling.tiles.items():
            for value in self._buffered_results(op):
                if (value, 0) not in self.tiling.windows:
                    size = self._bytes_of_box(value, tiled.result)
                    yield BufferRow("value", value, size, BEFORE, 0, tiled.result)

    def _boxes_read_in_loop(self, value: SSAValue, loop_level: LoopLevel) -> list[Box]:
        """Return the boxes of an input that the loop reads without a sliding window."""
        windows, boxes = (
            self.tiling.windows,
            self.tiling.reads.get((value, loop_level), ()),
        )
        return [box for index, box in enumerate(boxes) if (value, index) not in windows]

    def _is_initial_window(self, value: SSAValue, box: Box) -> bool:
        """
        Return `True` if a box is the initial tile of an input's window, stored in its
        buffer.
        """
        return any(
            windowed is value and is_same_box(box, window.initial_tile)
            for (windowed, _), window in self.tiling.windows.items()
        )

    def _row_of_whole_value(self, value: SSAValue) -> BufferRow:
        """Return a new buffer row that keeps a whole value live in all steps."""
        shape = tensor_type(value).get_shape()
        box = tuple(Interval.whole(extent) for extent in shape)
        return self._row_live_in_all_steps(
            "held", value, self._bytes_of_box(value, box), box
        )

    def _is_sliced_each_iteration(self, box: Box) -> bool:
        """Return `True` if a tile changes in each iteration of the innermost loop."""
        return is_box_moved_by(box, list(self.tiling.loops.values())[-1:])

    def _row_live_during_use(self, value: SSAValue, size: int, box: Box) -> BufferRow:
        """
        Return a buffer that is live from the step before its first use to its last use.
        """
        uses = self.steps.use_steps_of(value)
        return BufferRow(
            "input", value, size, max(0, min(uses) - 1), max(uses) + 1, box
        )

    def _limit_to_reduction_loop(self, row: BufferRow) -> BufferRow:
        """Return a buffer that is live only in the loop over reduction tiles."""
        if self.nearest:
            return row
        uses = self.steps.use_steps_of(row.value)
        return row._replace(start_step=min(uses), end_step=max(uses) + 1)

    def _row_live_in_all_steps(
        self, kind: str, value: SSAValue, size: int, box: Box, in_flight_bytes: int = 0
    ) -> BufferRow:
        """Return a buffer that is live in all steps."""
        return BufferRow(kind, value, size, 0, self.end + 1, box, in_flight_bytes)

    def _row_of_value(self, value: SSAValue) -> BufferRow:
        """
        Return the buffer of a computed value, with its bytes per further iteration and
        its live range in steps.
        """
        owner = value.owner
        assert isinstance(owner, Operation)
        box = self.tiling.tiles[owner].result
        if value in self.held and self.tiling.loops:
            return self._row_of_whole_value(value)
        size = self._bytes_of_box(value, box)
        if (window := self.tiling.windows.get((value, 0))) is not None:
            ahead = self._bytes_of_box(value, window.new_part)
            return self._row_live_in_all_steps("window", value, size, box, ahead)
        if self.tiling.tiles[owner].is_moved and self.tiling.loops:
            return self._row_live_in_all_steps("input", value, size, box, size)
        first, last = self.step[owner], self._last_use_step(value)
        if any(each in self.results for each in self._values_in_buffer(value)):
            row = self._row_live_in_all_steps("output", value, size, box, size)
            is_single = self.one_by_one or not (self.nearest or self.tiling.loops)
            return (
                self._extend_over_subviews(row._replace(start_step=first))
                if is_single
                else row
            )
        tiled = self.tiling.tiles[owner]
        if self.nearest and tiled.facts.is_product:
            row = self._row_live_in_all_steps("value", value, size, box, size)
            return row._replace(is_reduce_stage=tiled.loop_level is LoopLevel.INNER)
        if self._is_carried_in_level(owner):
            return self._row_live_in_all_steps("value", value, size, box)
        return self._extend_over_subviews(
            BufferRow("value", value, size, first, last + 1, box)
        )

    def _extend_over_subviews(self, row: BufferRow) -> BufferRow:
        """Return a buffer that is live as long as the values in its subviews."""
        for subview in (
            () if self.joined is None else self.joined.slice_operands_of(row.value)
        ):
            definition = (
                self.step.get(subview.owner)
                if isinstance(subview.owner, Operation)
                else None
            )
            if definition is None:
                return self._row_live_in_all_steps(
                    row.kind, row.value, row.byte_count, row.box, row.byte_count
                )
            end = max(row.end_step, self._last_use_step(subview) + 1)
            row = row._replace(start_step=min(row.start_step, definition), end_step=end)
        return row

    def _buffered_results(self, op: Operation) -> Iterator[SSAValue]:
        """Yield the results of an operation that have their own buffers."""
        for value in op.results:
            if self._has_own_buffer(value) and self._is_stored_in_level(value, op):
                yield value

    def _has_own_buffer(self, value: SSAValue) -> bool:
        """
        Return `True` if a value has its own buffer: it is neither computed in place of
        another value nor in a slice of one.
        """
        if self.joined is not None:
            return value not in self.joined.parts
        return self.in_place is None or value not in self.in_place.shares

    def _values_in_buffer(self, owner: SSAValue) -> Iterator[SSAValue]:
        """
        Return the values stored in the buffer of `owner`; only `owner` itself at outer
        levels.
        """
        return (
            iter((owner,))
            if self.in_place is None
            else self.in_place.values_sharing_buffer(owner)
        )

    def _is_stored_in_level(self, value: SSAValue, op: Operation) -> bool:
        """Return `True` if a result of an operation has a buffer in this level."""
        if self.nearest or value in self.results:
            return True
        if (value, 0) in self.tiling.windows:
            return True
        if self.tiling.tiles[op].facts.is_unit_stride_slice:
            return False
        if self._is_carried_in_level(op):
            return True
        return self.steps.has_later_users(value)

    def _is_carried_in_level(self, op: Operation) -> bool:
        """
        Return `True` if a loop carries the result of `op` in this level: any loop of
        the group in the nearest one, else one over reduction tiles of this level.
        """
        has_loop = self.nearest or bool(self.tiling.inner_loops)
        return has_loop and is_loop_carried(self.tiling, op)

    def _last_use_step(self, value: SSAValue) -> int:
        if self.in_place is None:
            return max(self.steps.use_steps_of(value), default=self.end)
        return self.in_place.last_use_step_of_buffer(value)

    def _temporary_rows(self, op: Operation) -> Iterator[BufferRow]:
        """
        Yield the temporaries between the scalar operations of an elementwise operation.
        """
        tiled = self.tiling.tiles[op]
        if count := tiled.facts.temporary_count:
            box = tiled.result
            size = count * TEMPORARY_BYTES * count_elements_of_box(box)
            step = self.step[op]
            size = self._align_byte_count(size)
            yield BufferRow("temporary", op.results[0], size, step, step + 1, box)

    def _bytes_of_box(self, value: SSAValue, box: Box) -> int:
        """
        Return the bytes of a tile including its padding, rounded up to the level's
        alignment.
        """
        size = self._item_bytes(value)
        for interval in box:
            size *= interval.tile_extent
        return self._align_byte_count(size)

    def _item_bytes(self, value: SSAValue) -> int:
        """
        Return the bytes per element, after rounding if a product rounds the value.
        """
        if self.in_place is not None:
            for cast, product in self.in_place.rounded.items():
                if value is product.results[0]:
                    return self.steps.item_bytes_of(cast.results[0])
        return self.steps.item_bytes_of(value)

    def _align_byte_count(self, size: int) -> int:
        return align_offset(size, self.tiling.rules.alignment)


def _is_loop_variant(box: Box) -> bool:
    """Return `True` if the offsets of a tile depend on an iteration."""
    return any(interval.offset.terms for interval in box)


def _limit_in_flight(loops: Mapping[int, TileLoop], stages: int) -> int:
    """
    Return the number of iterations of some loops in flight: `stages`, or all iterations
    if there are fewer.
    """
    return min(stages, prod(loop.trips for loop in loops.values()))
