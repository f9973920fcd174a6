"""
Cost model of NPU programs: layout of the timestamps of the last reads and writes of
buffers.
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
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class SliceTimestamps:
    """Timestamps of some slices of a buffer's slot, for one engine and one use."""

    first: int
    slices: int
    turns: Nest | None
    start: AffineSum
    extent: int

    def positions_at(self, values: Values, slot: Mapping[Nest, int]) -> Sequence[int]:
        """Return the positions of the timestamps."""
        first = self.first
        if self.turns is not None:
            first += slot[self.turns] * self.slices
        if self.extent >= self.slices:
            return range(first, first + self.slices)
        start = evaluate_index(self.start, values) % self.slices
        if start + self.extent <= self.slices:
            return range(first + start, first + start + self.extent)
        return [first + (start + index) % self.slices for index in range(self.extent)]


@dataclass(frozen=True)
class DisjointTimestamps:
    """Timestamp of the disjoint box that an iteration accesses."""

    first: int
    turns: Nest | None
    turn: DisjointBox | ChunkBox

    def positions_at(self, values: Values, slot: Mapping[Nest, int]) -> Sequence[int]:
        """Return the position of the timestamp."""
        first = self.first
        if self.turns is not None:
            first += slot[self.turns] * (self.turn.box_count + 1)
        return (first + self.turn.box_index(values),)


Moving: TypeAlias = SliceTimestamps | DisjointTimestamps

Found: TypeAlias = int | Moving
"""Constant position, or one that depends on the iteration."""


@dataclass(frozen=True)
class TimestampAccess:
    """Timestamps that an instruction waits for, and those that it sets."""

    waits: tuple[int, ...]
    """Constant positions."""
    moving_waits: tuple[Moving, ...]
    marks: tuple[int, ...]
    moving_marks: tuple[Moving, ...]

    @staticmethod
    def split_moving(waits: Sequence[Found], marks: Sequence[Found]) -> TimestampAccess:
        """Split positions into constant ones and those that depend on the iteration."""
        return TimestampAccess(*_split_moving(waits), *_split_moving(marks))


def _split_moving(found: Sequence[Found]) -> tuple[tuple[int, ...], tuple[Moving, ...]]:
    positions = dict.fromkeys(found)
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

    uses: dict[Buffer, dict[Use, int]]
    """Positions of the timestamps of each buffer, by use."""
    size: int
    sharing: Sharing = field(default_factory=dict[Buffer, Sequence[Buffer]])
    steps: dict[Instruction, TimestampAccess] = field(
        default_factory=dict[Instruction, TimestampAccess]
    )
    entries: dict[Nest, list[tuple[int, TimestampAccess]]] = field(
        default_factory=dict[Nest, list[tuple[int, TimestampAccess]]]
    )
    """
    Waits of a nest's engines before it, for the instructions that it issues early.
    """
    late: dict[Nest, list[tuple[int, TimestampAccess]]] = field(
        default_factory=dict[Nest, list[tuple[int, TimestampAccess]]]
    )
    """
    Waits of a nest's engines for its other instructions, after those of `entries`.
    """
    exits: dict[Nest, list[tuple[int, TimestampAccess]]] = field(
        default_factory=dict[Nest, list[tuple[int, TimestampAccess]]]
    )
    """Timestamps that engines set at the end of a nest for subsequent instructions."""
    ahead: dict[Nest, list[int]] = field(default_factory=dict[Nest, list[int]])
    """
    Prefetch distances of the instructions of a nest in iterations; empty without
    prefetch.
    """
    _conflicts: dict[tuple[Buffer, int, bool], Conflicts] = field(
        default_factory=dict[tuple[Buffer, int, bool], Conflicts]
    )

    @staticmethod
    def of(items: Sequence[Item], sharing: Sharing) -> TimestampLayout:
        """Return the timestamp layout of a schedule whose buffers share bytes."""
        uses: dict[Buffer, dict[Use, int]] = {}
        size = 0
        for step in instructions_in(items):
            for access, writes in step.accesses:
                known = uses.setdefault(access.buffer, {})
                if (use := _use_of(step.queue, access, writes)) not in known:
                    known[use] = size
                    size += _timestamp_count(access.buffer, access.disjoint_box) + 1
        layout = TimestampLayout(uses, size, sharing)
        for step in instructions_in(items):
            layout.steps[step] = layout._make_access(step)
        for nest in nests_in(items):
            early_steps = {
                step
                for step in nest.body
                if isinstance(step, Instruction) and step.ahead
            }
            queues = {step.queue for step in early_steps}
            others = [step for step in nest.instructions() if step not in early_steps]
            early_steps.update(step for step in others if step.queue not in queues)
            late = [step for step in others if step.queue in queues]
            layout.entries[nest] = list(layout._entry_waits(nest, early_steps))
            layout.late[nest] = list(layout._entry_waits(nest, late))
            layout.exits[nest] = list(layout._exit_marks(nest))
            early = {each.ahead for each in nest.body if isinstance(each, Instruction)}
            layout.ahead[nest] = sorted(early - {0}, reverse=True)
        return layout

    def _make_access(self, step: Instruction) -> TimestampAccess:
        waits: list[Found] = []
        marks: list[Found] = []
        for access, writes in step.accesses:
            waits += self._conflicting_positions(step.queue, access, writes, None)
            waits += (
                position
                for _, position in self._conflicting_uses(
                    step.queue, access.buffer, writes
                )
            )
            marks += self._own_positions(step.queue, access, writes)
        return TimestampAccess.split_moving(waits, marks)

    def _conflicting_positions(
        self, queue: int, access: BufferAccess, writes: bool, nest: Nest | None
    ) -> Iterator[Found]:
        """
        Yield the positions of the conflicting accesses of other engines to the same
        buffer.
        """
        for use, first in self.uses[access.buffer].items():
            engine, wrote, sections, box = use
            if engine == queue or not (writes or wrote):
                continue
            if has_disjoint_sections(access.sections, sections):
                continue
            if box is None:
                yield _access_position(access, first, nest)
            elif (
                box.is_same_box(access.disjoint_box) and access.disjoint_box is not None
            ):
                if nest is None:
                    yield DisjointTimestamps(
                        first, access.buffer.multibuffer_nest, access.disjoint_box
                    )
                elif writes and isinstance(box, ChunkBox):
                    yield _completion_marks(access.buffer, box, first)
            else:
                boxes = box.box_count + 1
                yield SliceTimestamps(
                    first, boxes, access.buffer.multibuffer_nest, AffineSum(), boxes
                )

    def _conflicting_uses(self, queue: int, buffer: Buffer, writes: bool) -> Conflicts:
        """
        Return the conflicting uses, by other engines, of other buffers at the same
        bytes.
        """
        key = buffer, queue, writes
        if key not in self._conflicts:
            self._conflicts[key] = tuple(
                (other, first + _timestamp_count(other, box))
                for other in self.sharing.get(buffer, ())
                for (engine, wrote, _, box), first in self.uses.get(other, {}).items()
                if engine != queue and (writes or wrote)
            )
        return self._conflicts[key]

    def _own_positions(
        self, queue: int, access: BufferAccess, writes: bool
    ) -> Iterator[Found]:
        buffer = access.buffer
        first = self.uses[buffer][_use_of(queue, access, writes)]
        if access.disjoint_box is None:
            yield _access_position(access, first, None)
        else:
            yield DisjointTimestamps(
                first, buffer.multibuffer_nest, access.disjoint_box
            )
        if buffer in self.sharing:
            yield first + _timestamp_count(buffer, access.disjoint_box)

    def _entry_waits(
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
        waits: dict[int, list[Found]] = {}
        for (queue, buffer, writes), accesses in uses.items():
            positions = waits.setdefault(queue, [])
            for other, position in self._conflicting_uses(queue, buffer, writes):
                if not _is_local(other, nest):
                    positions.append(position)
            if not _is_local(buffer, nest):
                for access in accesses:
                    positions += self._conflicting_positions(
                        queue, access, writes, nest
                    )
        for queue, positions in waits.items():
            yield queue, TimestampAccess.split_moving(positions, ())

    def _exit_marks(self, nest: Nest) -> Iterator[tuple[int, TimestampAccess]]:
        """
        Yield, by engine, the timestamps of outer buffers that are set at the end of a
        nest.
        """
        marks: dict[int, list[Found]] = {}
        for step in nest.instructions():
            for access, writes in step.accesses:
                if not _is_local(access.buffer, nest):
                    use = _use_of(step.queue, access, writes)
                    first = self.uses[access.buffer][use]
                    positions = marks.setdefault(step.queue, [])
                    positions.append(_exit_position(access, first, nest))
        for queue, positions in marks.items():
            yield queue, TimestampAccess.split_moving((), positions)


def _use_of(queue: int, access: BufferAccess, writes: bool) -> Use:
    return queue, writes, access.sections, access.disjoint_box


def _timestamp_count(buffer: Buffer, turn: DisjointBox | ChunkBox | None) -> int:
    """
    Return the number of timestamps of a use of a buffer, without that for shared bytes.
    """
    boxes = buffer.slices if turn is None else turn.box_count + 1
    return buffer.multibuffer_count * boxes


def _exit_position(access: BufferAccess, first: int, nest: Nest) -> Found:
    """Return the timestamps of an access that remain after the end of a nest."""
    if access.disjoint_box is None:
        return _access_position(access, first, nest)
    return _completion_marks(access.buffer, access.disjoint_box, first)


def _completion_marks(
    buffer: Buffer, turn: DisjointBox | ChunkBox, first: int
) -> SliceTimestamps:
    """Return the timestamps at which all boxes of a buffer were complete."""
    return SliceTimestamps(
        first, turn.box_count + 1, buffer.multibuffer_nest, AffineSum(turn.box_count), 1
    )


def _access_position(access: BufferAccess, first: int, nest: Nest | None) -> Found:
    """
    Return the timestamps of an access; of all slices if the access depends on the loops
    of a nest.
    """
    buffer = access.buffer
    start, extent = access.start, access.extent
    if buffer.slices == 1:
        if buffer.multibuffer_nest is None:
            return first
        start, extent = AffineSum(), 1
    elif extent >= buffer.slices or (
        nest is not None and _has_inner_symbol(start, nest)
    ):
        start, extent = AffineSum(), buffer.slices
    return SliceTimestamps(first, buffer.slices, buffer.multibuffer_nest, start, extent)


def _has_inner_symbol(index: AffineSum, nest: Nest) -> bool:
    """Return `True` if an index depends on the loops of a nest, or of one inside."""
    inside = [*nest.variables, *(v for n in nests_in(nest.body) for v in n.variables)]
    return any(symbol in inside for symbol, _ in index.terms)


def _is_local(buffer: Buffer, nest: Nest) -> bool:
    """Return `True` if a buffer is local to the iterations of a nest."""
    return buffer.home is not None and buffer.home.is_within(nest)
