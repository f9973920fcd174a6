"""Layout of the times at which buffers were last read and written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tlf.analysis.buffers.regions import Section, are_apart
from tlf.planner.cost.program.planning import Sharing
from tlf.planner.cost.program.program import (
    Access,
    Buffer,
    Chunk,
    Item,
    Nest,
    Step,
    Turn,
    Values,
    nests_of,
    steps_of,
    value_of,
)
from tlf.support.affine.access import Linear


@dataclass(frozen=True)
class Marks:
    """The times of some slices of the slot of a buffer, for one engine and one use."""

    first: int
    slices: int
    turns: Nest | None
    start: Linear
    extent: int

    def of(self, values: Values, slot: Mapping[Nest, int]) -> Sequence[int]:
        """Return the positions of the times."""
        first = self.first
        if self.turns is not None:
            first += slot[self.turns] * self.slices
        if self.extent >= self.slices:
            return range(first, first + self.slices)
        start = value_of(self.start, values) % self.slices
        if start + self.extent <= self.slices:
            return range(first + start, first + start + self.extent)
        return [first + (start + number) % self.slices for number in range(self.extent)]


@dataclass(frozen=True)
class TurnMarks:
    """The time of the box that an iteration takes, for one engine and one use."""

    first: int
    turns: Nest | None
    turn: Turn | Chunk

    def of(self, values: Values, slot: Mapping[Nest, int]) -> Sequence[int]:
        """Return the position of the time."""
        first = self.first
        if self.turns is not None:
            first += slot[self.turns] * (self.turn.boxes + 1)
        return (first + self.turn.number(values),)


Moving: TypeAlias = Marks | TurnMarks

Found: TypeAlias = int | Moving
"""A place, or one that moves."""


@dataclass(frozen=True)
class Touch:
    """
    Positions of the times that an instruction waits for, and of those that it sets.
    """

    waits: tuple[int, ...]
    """Places that are always the same."""
    moving_waits: tuple[Moving, ...]
    marks: tuple[int, ...]
    moving_marks: tuple[Moving, ...]

    @staticmethod
    def of(waits: Sequence[Found], marks: Sequence[Found]) -> Touch:
        """Split what is found into what moves and what does not."""
        return Touch(*_split(waits), *_split(marks))


def _split(found: Sequence[Found]) -> tuple[tuple[int, ...], tuple[Moving, ...]]:
    each = dict.fromkeys(found)
    return (
        tuple(place for place in each if isinstance(place, int)),
        tuple(marks for marks in each if not isinstance(marks, int)),
    )


Use: TypeAlias = tuple[int, bool, tuple[Section, ...], Turn | Chunk | None]
"""An engine, whether it writes, which part, and what it takes in turn."""

Conflicts: TypeAlias = tuple[tuple[Buffer, int], ...]
"""Buffers at the same bytes, and where the last time of a use of each is kept."""


@dataclass
class Layout:
    """The places of all times, and which ones each instruction looks at."""

    uses: dict[Buffer, dict[Use, int]]
    """For each buffer the place for each engine that reads or writes a part of it."""
    size: int
    sharing: Sharing = field(default_factory=dict[Buffer, Sequence[Buffer]])
    steps: dict[Step, Touch] = field(default_factory=dict[Step, Touch])
    entries: dict[Nest, list[tuple[int, Touch]]] = field(
        default_factory=dict[Nest, list[tuple[int, Touch]]]
    )
    """
    Waits of the engines in a nest before it, for the instructions it issues ahead.
    """
    late: dict[Nest, list[tuple[int, Touch]]] = field(
        default_factory=dict[Nest, list[tuple[int, Touch]]]
    )
    """
    Waits of the engines in a nest for the other instructions, after those of `entries`.
    """
    exits: dict[Nest, list[tuple[int, Touch]]] = field(
        default_factory=dict[Nest, list[tuple[int, Touch]]]
    )
    """Times that engines set for all that follows only when a nest is over."""
    ahead: dict[Nest, list[int]] = field(default_factory=dict[Nest, list[int]])
    """
    Prefetch distances in iterations of the instructions of a nest, if any are ahead.
    """
    _conflicts: dict[tuple[Buffer, int, bool], Conflicts] = field(
        default_factory=dict[tuple[Buffer, int, bool], Conflicts]
    )

    @staticmethod
    def of(items: Sequence[Item], sharing: Sharing) -> Layout:
        """Lay out the times of a schedule whose buffers share bytes."""
        uses: dict[Buffer, dict[Use, int]] = {}
        size = 0
        for step in steps_of(items):
            for access, writes in step.accesses:
                known = uses.setdefault(access.buffer, {})
                if (use := _use(step.queue, access, writes)) not in known:
                    known[use] = size
                    size += _room(access.buffer, access.turn) + 1
        layout = Layout(uses, size, sharing)
        for step in steps_of(items):
            layout.steps[step] = layout._touch(step)
        for nest in nests_of(items):
            first = {
                step for step in nest.body if isinstance(step, Step) and step.ahead
            }
            queues = {step.queue for step in first}
            rest = [step for step in nest.steps() if step not in first]
            first.update(step for step in rest if step.queue not in queues)
            late = [step for step in rest if step.queue in queues]
            layout.entries[nest] = list(layout._entry(nest, first))
            layout.late[nest] = list(layout._entry(nest, late))
            layout.exits[nest] = list(layout._exit(nest))
            early = {each.ahead for each in nest.body if isinstance(each, Step)}
            layout.ahead[nest] = sorted(early - {0}, reverse=True)
        return layout

    def _touch(self, step: Step) -> Touch:
        waits: list[Found] = []
        marks: list[Found] = []
        for access, writes in step.accesses:
            waits += self._waits(step.queue, access, writes, None)
            waits += (at for _, at in self._shared(step.queue, access.buffer, writes))
            marks += self._marks(step.queue, access, writes)
        return Touch.of(waits, marks)

    def _waits(
        self, queue: int, access: Access, writes: bool, nest: Nest | None
    ) -> Iterator[Found]:
        """
        Yield the positions of the conflicting accesses of other engines to the same
        buffer.
        """
        for use, first in self.uses[access.buffer].items():
            engine, wrote, sections, turn = use
            if engine == queue or not (writes or wrote):
                continue
            if are_apart(access.sections, sections):
                continue
            if turn is None:
                yield _place(access, first, nest)
            elif turn.meets(access.turn) and access.turn is not None:
                if nest is None:
                    yield TurnMarks(first, access.buffer.turns, access.turn)
                elif writes and isinstance(turn, Chunk):
                    yield _over(access.buffer, turn, first)
            else:
                boxes = turn.boxes + 1
                yield Marks(first, boxes, access.buffer.turns, Linear(), boxes)

    def _shared(self, queue: int, buffer: Buffer, writes: bool) -> Conflicts:
        """
        Return the conflicting uses by other engines of other buffers at the same bytes.
        """
        key = buffer, queue, writes
        if key not in self._conflicts:
            self._conflicts[key] = tuple(
                (other, first + _room(other, turn))
                for other in self.sharing.get(buffer, ())
                for (engine, wrote, _, turn), first in self.uses.get(other, {}).items()
                if engine != queue and (writes or wrote)
            )
        return self._conflicts[key]

    def _marks(self, queue: int, access: Access, writes: bool) -> Iterator[Found]:
        buffer = access.buffer
        first = self.uses[buffer][_use(queue, access, writes)]
        if access.turn is None:
            yield _place(access, first, None)
        else:
            yield TurnMarks(first, buffer.turns, access.turn)
        if buffer in self.sharing:
            yield first + _room(buffer, access.turn)

    def _entry(self, nest: Nest, steps: Iterable[Step]) -> Iterator[tuple[int, Touch]]:
        """By engine, what stands before a nest against some of what the nest does."""
        uses: dict[tuple[int, Buffer, bool], dict[Access, None]] = {}
        for step in steps:
            for access, writes in step.accesses:
                key = step.queue, access.buffer, writes
                uses.setdefault(key, {})[access] = None
        waits: dict[int, list[Found]] = {}
        for (queue, buffer, writes), accesses in uses.items():
            found = waits.setdefault(queue, [])
            for other, place in self._shared(queue, buffer, writes):
                if not _is_local(other, nest):
                    found.append(place)
            if not _is_local(buffer, nest):
                for access in accesses:
                    found += self._waits(queue, access, writes, nest)
        for queue, found in waits.items():
            yield queue, Touch.of(found, ())

    def _exit(self, nest: Nest) -> Iterator[tuple[int, Touch]]:
        """By engine, what is marked once a nest is over: what lies outside of it."""
        marks: dict[int, list[Found]] = {}
        for step in nest.steps():
            for access, writes in step.accesses:
                if not _is_local(access.buffer, nest):
                    use = _use(step.queue, access, writes)
                    first = self.uses[access.buffer][use]
                    found = marks.setdefault(step.queue, [])
                    found.append(_whole_place(access, first, nest))
        for queue, found in marks.items():
            yield queue, Touch.of((), found)


def _use(queue: int, access: Access, writes: bool) -> Use:
    return queue, writes, access.sections, access.turn


def _room(buffer: Buffer, turn: Turn | Chunk | None) -> int:
    """
    Return the number of times kept for a use of a buffer, not counting that for the
    bytes it shares.
    """
    boxes = buffer.slices if turn is None else turn.boxes + 1
    return buffer.slots * boxes


def _whole_place(access: Access, first: int, nest: Nest) -> Found:
    """The times of an access that are kept when a nest is over."""
    if access.turn is None:
        return _place(access, first, nest)
    return _over(access.buffer, access.turn, first)


def _over(buffer: Buffer, turn: Turn | Chunk, first: int) -> Marks:
    """Return the marks of the times at which all boxes of a buffer were done."""
    return Marks(first, turn.boxes + 1, buffer.turns, Linear(turn.boxes), 1)


def _place(access: Access, first: int, nest: Nest | None) -> Found:
    """The times of an access; of all slices if those depend on the loops of a nest."""
    buffer = access.buffer
    start, extent = access.start, access.extent
    if buffer.slices == 1:
        if buffer.turns is None:
            return first
        start, extent = Linear(), 1
    elif extent >= buffer.slices or (nest is not None and _depends(start, nest)):
        start, extent = Linear(), buffer.slices
    return Marks(first, buffer.slices, buffer.turns, start, extent)


def _depends(index: Linear, nest: Nest) -> bool:
    """Return `True` if an index depends on the loops of a nest, or of one inside."""
    inside = [*nest.variables, *(v for n in nests_of(nest.body) for v in n.variables)]
    return any(symbol in inside for symbol, _ in index.terms)


def _is_local(buffer: Buffer, nest: Nest) -> bool:
    """Return `True` if a buffer is local to the iterations of a nest."""
    return buffer.home is not None and buffer.home.is_in(nest)
