"""
Cost model of NPU tile programs, on its schedule instead of IR: layout of the timestamps
of the last reads and writes of buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.analysis.buffers.subview_disjointness import Section, has_disjoint_sections
from tlf.planner.cost.program.buffer_sharing import Sharing
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    ChunkBox,
    DisjointBox,
    Instruction,
    Item,
    Nest,
    Values,
    evaluate_index,
    instructions_in,
    nests_in,
)
from tlf.planner.cost.program.slot_restarts import find_restart_conflicts
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class SliceTimestamps:
    """Timestamps of some slices of a buffer's slot, for one engine and one use."""

    first_position: int
    slice_count: int
    slot_nest: Nest | None
    first_slice: AffineSum
    accessed_slices: int

    def positions_at(
        self, values: Values, current_slots: Mapping[Nest, int]
    ) -> Sequence[int]:
        """Return the indices of the timestamps of slices accessed in one iteration."""
        first = self.first_position
        if self.slot_nest is not None:
            first += current_slots[self.slot_nest] * self.slice_count
        if self.accessed_slices >= self.slice_count:
            return range(first, first + self.slice_count)
        start = evaluate_index(self.first_slice, values) % self.slice_count
        if start + self.accessed_slices <= self.slice_count:
            return range(first + start, first + start + self.accessed_slices)
        return [
            first + (start + index) % self.slice_count
            for index in range(self.accessed_slices)
        ]


@dataclass(frozen=True)
class DisjointTimestamps:
    """Timestamp of the disjoint box that an iteration accesses."""

    first_position: int
    slot_nest: Nest | None
    disjoint_box: DisjointBox | ChunkBox

    def positions_at(
        self, values: Values, current_slots: Mapping[Nest, int]
    ) -> Sequence[int]:
        """Return the index of the timestamp in one iteration, in a tuple of one."""
        first = self.first_position
        if self.slot_nest is not None:
            first += current_slots[self.slot_nest] * (self.disjoint_box.box_count + 1)
        return (first + self.disjoint_box.box_index(values),)


IterationTimestamps: TypeAlias = SliceTimestamps | DisjointTimestamps

TimestampPosition: TypeAlias = int | IterationTimestamps
"""Constant position, or one that depends on the iteration."""


@dataclass(frozen=True)
class TimestampAccess:
    """Timestamps that an instruction waits for, and those that it sets."""

    fixed_waits: tuple[int, ...]
    """Constant positions."""
    moving_waits: tuple[IterationTimestamps, ...]
    fixed_marks: tuple[int, ...]
    moving_marks: tuple[IterationTimestamps, ...]

    @staticmethod
    def split_by_iteration_dependence(
        waits: Sequence[TimestampPosition], marks: Sequence[TimestampPosition]
    ) -> TimestampAccess:
        """Split positions into constant ones and those that depend on the iteration."""
        return TimestampAccess(
            *_split_by_iteration_dependence(waits),
            *_split_by_iteration_dependence(marks),
        )


def _split_by_iteration_dependence(
    all_positions: Sequence[TimestampPosition],
) -> tuple[tuple[int, ...], tuple[IterationTimestamps, ...]]:
    """
    Return the constant positions, and those that depend on the iteration, both without
    duplicates.
    """
    positions = dict.fromkeys(all_positions)
    return (
        tuple(position for position in positions if isinstance(position, int)),
        tuple(marks for marks in positions if not isinstance(marks, int)),
    )


Use: TypeAlias = tuple[int, bool, tuple[Section, ...], DisjointBox | ChunkBox | None]
"""Engine, `True` for a write, sections, and the disjoint box or chunk."""

Conflicts: TypeAlias = tuple[tuple[Buffer, int], ...]
"""Buffers that share bytes, each with the position of the last timestamp of a use."""


@dataclass
class TimestampLayout:
    """
    Positions of all timestamps, and the timestamps that each instruction accesses.
    """

    first_position_by_use: dict[Buffer, dict[Use, int]]
    """Positions of the timestamps of each buffer, by use."""
    timestamp_count: int
    sharing: Sharing = field(default_factory=dict[Buffer, Sequence[Buffer]])
    access_by_instruction: dict[Instruction, TimestampAccess] = field(
        default_factory=dict[Instruction, TimestampAccess]
    )
    entry_waits_by_nest: dict[Nest, list[tuple[int, TimestampAccess]]] = field(
        default_factory=dict[Nest, list[tuple[int, TimestampAccess]]]
    )
    """
    Waits of a nest's engines before it, for the instructions that it issues early.
    """
    late_waits_by_nest: dict[Nest, list[tuple[int, TimestampAccess]]] = field(
        default_factory=dict[Nest, list[tuple[int, TimestampAccess]]]
    )
    """
    Waits of a nest's engines for its other instructions, after those of `entries`.
    """
    exit_marks_by_nest: dict[Nest, list[tuple[int, TimestampAccess]]] = field(
        default_factory=dict[Nest, list[tuple[int, TimestampAccess]]]
    )
    """Timestamps that engines set at the end of a nest for subsequent instructions."""
    prefetch_distances_by_nest: dict[Nest, list[int]] = field(
        default_factory=dict[Nest, list[int]]
    )
    """
    Prefetch distances of the instructions of a nest in iterations; empty without
    prefetch.
    """
    _conflicts: dict[tuple[Buffer, int, bool], Conflicts] = field(
        default_factory=dict[tuple[Buffer, int, bool], Conflicts]
    )

    @staticmethod
    def from_schedule(items: Sequence[Item], sharing: Sharing) -> TimestampLayout:
        """Return the timestamp layout of a schedule whose buffers share bytes."""
        uses: dict[Buffer, dict[Use, int]] = {}
        size = 0
        for step in instructions_in(items):
            for access, writes in step.accesses:
                known = uses.setdefault(access.buffer, {})
                if (use := _use_of_access(step.queue, access, writes)) not in known:
                    known[use] = size
                    size += _timestamp_count(access.buffer, access.disjoint_box) + 1
        layout = TimestampLayout(uses, size, sharing)
        for step in instructions_in(items):
            layout.access_by_instruction[step] = layout._make_timestamp_access(step)
        for nest in nests_in(items):
            early_steps = {
                step
                for step in nest.body
                if isinstance(step, Instruction) and step.prefetch_distance
            }
            queues = {step.queue for step in early_steps}
            others = [step for step in nest.instructions() if step not in early_steps]
            early_steps.update(step for step in others if step.queue not in queues)
            late = [step for step in others if step.queue in queues]
            layout.entry_waits_by_nest[nest] = list(
                layout._waits_before_nest(nest, early_steps)
            )
            layout.late_waits_by_nest[nest] = list(
                layout._waits_before_nest(nest, late)
            )
            layout.exit_marks_by_nest[nest] = list(layout._marks_after_nest(nest))
            early = {
                each.prefetch_distance
                for each in nest.body
                if isinstance(each, Instruction)
            }
            layout.prefetch_distances_by_nest[nest] = sorted(early - {0}, reverse=True)
        for nest, others in find_restart_conflicts(items).items():
            layout._order_executions_of_nest(nest, others)
        return layout

    def _order_executions_of_nest(
        self, nest: Nest, others_by_engine: Mapping[int, Iterable[int]]
    ) -> None:
        """Let engines wait before a nest for others in its execution before."""
        others = {each for group in others_by_engine.values() for each in group}
        marks = {
            each: self.timestamp_count + index
            for index, each in enumerate(sorted(others))
        }
        self.timestamp_count += len(marks)
        self.exit_marks_by_nest[nest] += [
            (engine, TimestampAccess((), (), (position,), ()))
            for engine, position in marks.items()
        ]
        self.entry_waits_by_nest[nest] += [
            (engine, TimestampAccess(tuple(marks[each] for each in group), (), (), ()))
            for engine, group in others_by_engine.items()
        ]

    def _make_timestamp_access(self, instruction: Instruction) -> TimestampAccess:
        """
        Return the timestamps of conflicting accesses and shared bytes to wait for, and
        those that an instruction sets.
        """
        waits: list[TimestampPosition] = []
        marks: list[TimestampPosition] = []
        for access, writes in instruction.accesses:
            waits += self._positions_of_conflicting_accesses(
                instruction.queue, access, writes, None
            )
            waits += (
                position
                for _, position in self._conflicting_uses_of_shared_bytes(
                    instruction.queue, access.buffer, writes
                )
            )
            marks += self._positions_to_mark(instruction.queue, access, writes)
        return TimestampAccess.split_by_iteration_dependence(waits, marks)

    def _positions_of_conflicting_accesses(
        self, queue: int, access: BufferAccess, is_write: bool, nest: Nest | None
    ) -> Iterator[TimestampPosition]:
        """
        Yield the positions of the conflicting accesses of other engines to the same
        buffer.
        """
        for use, first in self.first_position_by_use[access.buffer].items():
            engine, wrote, sections, box = use
            if engine == queue or not (is_write or wrote):
                continue
            if has_disjoint_sections(access.sections, sections):
                continue
            if box is None:
                yield _timestamps_of_access(access, first, nest)
            elif (
                box.is_same_box(access.disjoint_box) and access.disjoint_box is not None
            ):
                if nest is None:
                    yield DisjointTimestamps(
                        first, access.buffer.multibuffer_nest, access.disjoint_box
                    )
                elif is_write and isinstance(box, ChunkBox):
                    yield _completion_timestamps(access.buffer, box, first)
            else:
                boxes = box.box_count + 1
                yield SliceTimestamps(
                    first, boxes, access.buffer.multibuffer_nest, AffineSum(), boxes
                )

    def _conflicting_uses_of_shared_bytes(
        self, queue: int, buffer: Buffer, is_write: bool
    ) -> Conflicts:
        """
        Return the conflicting uses, by other engines, of other buffers at the same
        bytes.
        """
        key = buffer, queue, is_write
        if key not in self._conflicts:
            self._conflicts[key] = tuple(
                (other, first + _timestamp_count(other, box))
                for other in self.sharing.get(buffer, ())
                for (engine, wrote, _, box), first in self.first_position_by_use.get(
                    other, {}
                ).items()
                if engine != queue and (is_write or wrote)
            )
        return self._conflicts[key]

    def _positions_to_mark(
        self, queue: int, access: BufferAccess, is_write: bool
    ) -> Iterator[TimestampPosition]:
        """
        Yield the timestamps that an access sets: of its slices or box, and of the whole
        use if the buffer shares bytes.
        """
        buffer = access.buffer
        first = self.first_position_by_use[buffer][
            _use_of_access(queue, access, is_write)
        ]
        if access.disjoint_box is None:
            yield _timestamps_of_access(access, first, None)
        else:
            yield DisjointTimestamps(
                first, buffer.multibuffer_nest, access.disjoint_box
            )
        if buffer in self.sharing:
            yield first + _timestamp_count(buffer, access.disjoint_box)

    def _waits_before_nest(
        self, nest: Nest, steps: Iterable[Instruction]
    ) -> Iterator[tuple[int, TimestampAccess]]:
        """
        Yield, by engine, the waits for accesses before a nest that conflict with
        `steps`.
        """
        uses: dict[tuple[int, Buffer, bool], dict[BufferAccess, None]] = {}
        for step in steps:
            for access, writes in step.accesses:
                key = step.queue, access.buffer, writes
                uses.setdefault(key, {})[access] = None
        waits: dict[int, list[TimestampPosition]] = {}
        for (queue, buffer, writes), accesses in uses.items():
            positions = waits.setdefault(queue, [])
            for other, position in self._conflicting_uses_of_shared_bytes(
                queue, buffer, writes
            ):
                if not _is_local_to_nest(other, nest):
                    positions.append(position)
            if not _is_local_to_nest(buffer, nest):
                for access in accesses:
                    positions += self._positions_of_conflicting_accesses(
                        queue, access, writes, nest
                    )
        for queue, positions in waits.items():
            yield queue, TimestampAccess.split_by_iteration_dependence(positions, ())

    def _marks_after_nest(self, nest: Nest) -> Iterator[tuple[int, TimestampAccess]]:
        """
        Yield, by engine, the timestamps of outer buffers that are set at the end of a
        nest.
        """
        marks: dict[int, list[TimestampPosition]] = {}
        for step in nest.instructions():
            for access, writes in step.accesses:
                if not _is_local_to_nest(access.buffer, nest):
                    use = _use_of_access(step.queue, access, writes)
                    first = self.first_position_by_use[access.buffer][use]
                    positions = marks.setdefault(step.queue, [])
                    positions.append(_timestamps_after_nest(access, first, nest))
        for queue, positions in marks.items():
            yield queue, TimestampAccess.split_by_iteration_dependence((), positions)


def _use_of_access(queue: int, access: BufferAccess, is_write: bool) -> Use:
    return queue, is_write, access.sections, access.disjoint_box


def _timestamp_count(
    buffer: Buffer, disjoint_box: DisjointBox | ChunkBox | None
) -> int:
    """
    Return the number of timestamps of a use of a buffer, without that for shared bytes.
    """
    boxes = buffer.slice_count if disjoint_box is None else disjoint_box.box_count + 1
    return buffer.multibuffer_count * boxes


def _timestamps_after_nest(
    access: BufferAccess, first_position: int, nest: Nest
) -> TimestampPosition:
    """Return the timestamps of an access that remain after the end of a nest."""
    if access.disjoint_box is None:
        return _timestamps_of_access(access, first_position, nest)
    return _completion_timestamps(access.buffer, access.disjoint_box, first_position)


def _completion_timestamps(
    buffer: Buffer, disjoint_box: DisjointBox | ChunkBox, first_position: int
) -> SliceTimestamps:
    """Return the timestamps at which all boxes of a buffer were complete."""
    return SliceTimestamps(
        first_position,
        disjoint_box.box_count + 1,
        buffer.multibuffer_nest,
        AffineSum(disjoint_box.box_count),
        1,
    )


def _timestamps_of_access(
    access: BufferAccess, first_position: int, nest: Nest | None
) -> TimestampPosition:
    """
    Return the timestamps of an access; of all slices if the access depends on the loops
    of a nest.
    """
    buffer = access.buffer
    start, extent = access.first_slice, access.slice_count
    if buffer.slice_count == 1:
        if buffer.multibuffer_nest is None:
            return first_position
        start, extent = AffineSum(), 1
    elif extent >= buffer.slice_count or (
        nest is not None and _has_inner_symbol(start, nest)
    ):
        start, extent = AffineSum(), buffer.slice_count
    return SliceTimestamps(
        first_position, buffer.slice_count, buffer.multibuffer_nest, start, extent
    )


def _has_inner_symbol(index: AffineSum, nest: Nest) -> bool:
    """Return `True` if an index depends on the loops of a nest, or of one inside."""
    inside = [*nest.counters, *(v for n in nests_in(nest.body) for v in n.counters)]
    return any(symbol in inside for symbol, _ in index.terms)


def _is_local_to_nest(buffer: Buffer, nest: Nest) -> bool:
    """Return `True` if a buffer is local to the iterations of a nest."""
    return buffer.allocation_nest is not None and buffer.allocation_nest.is_within(nest)
