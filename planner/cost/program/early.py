"""Loads outside of loops that start while earlier work goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from tlf.dialects.target import Level
from tlf.planner.cost.program.planning import buffers_of, placement_of, planned
from tlf.planner.cost.program.program import (
    Access,
    Buffer,
    Item,
    Nest,
    Step,
    steps_of,
)
from tlf.planner.cost.program.room import Spans
from tlf.support.allocation import Buffer as Live
from tlf.support.allocation import align, apart, places, ranked
from tlf.support.allocation.limits import SHARES, VISITS


def start_early(items: list[Item], levels: Sequence[Level]) -> None:
    """
    Move loads of a schedule up as far as `mem-prefetch` does. The levels are the
    nearest first.
    """
    for near, far in pairwise(levels):
        line = Line(list(items), near, far)
        if not line.loads:
            continue
        for goals in line.goals():
            items[:] = line.ordered(goals)
            if _are_placed(items, near):
                break
        else:
            items[:] = line.items


def _are_placed(items: Sequence[Item], level: Level) -> bool:
    """Return `True` if the planner finds offsets for all buffers of a level."""
    spans = Spans.of(items)
    lives = planned(buffers_of(spans, level), level, spans)
    return placement_of(lives, level).peak <= level.capacity


@dataclass
class Line:
    """The items of a function along which loads between two levels move up."""

    items: Sequence[Item]
    near: Level
    far: Level
    loads: list[int] = field(init=False)
    """Positions of loads."""

    def __post_init__(self) -> None:
        self.spans = Spans.of(self.items)
        self.touched = [{a.buffer for a in _accesses(item)} for item in self.items]
        self.written = [
            {access for step in steps_of([item]) for access in step.writes}
            for item in self.items
        ]
        self.loads = [
            number
            for number, item in enumerate(self.items)
            if isinstance(item, Step) and self._is_load(item) and _is_free(item)
        ]
        self.fences = [
            number not in self.loads and any(map(self._is_load, steps_of([item])))
            for number, item in enumerate(self.items)
        ]
        self.buffers = buffers_of(self.spans, self.near)
        self.planned = planned(self.buffers, self.near, self.spans)

    def _is_load(self, step: Step) -> bool:
        if step.moves is None or step.indexed:
            return False
        source, destination = step.moves
        return (source.level, destination.level) == (self.far.name, self.near.name)

    def _load(self, load: int) -> Step:
        item = self.items[load]
        assert isinstance(item, Step)
        return item

    def _ends(self, load: int) -> tuple[Buffer, Buffer]:
        ends = self._load(load).moves
        assert ends is not None
        return ends

    def _stops(self, load: int, position: int) -> bool:
        """Return `True` if a load cannot move before the item at a position."""
        (read,) = self._load(load).reads
        return (
            self.fences[position]
            or self._ends(load)[1] in self.touched[position]
            or any(read.meets(each) for each in self.written[position])
        )

    def goals(self) -> Iterator[dict[int, int]]:
        """
        Yield target positions of loads: as early as there is room, then with less of it
        taken. Loads that stay are left out.
        """
        for share in SHARES:
            goals = self._goals(int(self.near.capacity * share))
            if goals and self._is_likely(goals):
                yield goals

    def _goals(self, limit: int) -> dict[int, int]:
        """
        Return the target positions of loads with no more than `limit` bytes live at
        once.
        """
        live, first = self._live(), 0
        goals: dict[int, int] = {}
        for load in self.loads:
            goal = load
            size = align(self._ends(load)[1].bytes, self.near.alignment)
            while (
                goal > first
                and live[goal - 1] + size <= limit
                and not self._stops(load, goal - 1)
            ):
                goal -= 1
                live[goal] += size
            first = goal + 1
            if goal < load:
                first, goals[load] = goal, goal
        return goals

    def _live(self) -> list[int]:
        """The most bytes that are live during each item."""
        spans = [self._span(item) for item in self.items]
        changes = [0] * (3 + max((last for _, last in spans), default=0))
        for live in self.planned:
            size = align(live.size, live.alignment)
            changes[live.spans[0].start] += size
            changes[live.spans[0].end] -= size
        totals = list(accumulate(changes))
        return [max(totals[first : last + 1]) for first, last in spans]

    def _span(self, item: Item) -> tuple[int, int]:
        if isinstance(item, Nest):
            return self.spans.nests[item]
        return self.spans.steps[item], self.spans.steps[item]

    def _is_likely(self, goals: dict[int, int]) -> bool:
        """
        Return `True` if offsets are likely to be found with loads at their target
        positions.
        """
        number = {buffer: at for at, buffer in enumerate(self.buffers)}
        moved = list(self.planned)
        for load, goal in goals.items():
            at = number[self._ends(load)[1]]
            live = moved[at]
            first = min(live.spans[0].start, self._span(self.items[goal])[0])
            moved[at] = Live.during(live.size, first, live.spans[0].end, live.alignment)
        lives = ranked(moved)
        if apart(lives).peak <= self.near.capacity:
            return True
        return places(lives, self.near.capacity, VISITS) is not None

    def ordered(self, goals: dict[int, int]) -> list[Item]:
        """The items in the order that loads make which go to other positions."""
        arriving: dict[int, list[int]] = {}
        for load, goal in goals.items():
            arriving.setdefault(goal, []).append(load)
        order: dict[int, None] = {}
        for number in range(len(self.items)):
            order.update(dict.fromkeys(arriving.get(number, ())))
            order[number] = None
        return [self.items[number] for number in order]


def _accesses(item: Item) -> Iterator[Access]:
    for step in steps_of([item]):
        yield from step.touched


def _is_free(step: Step) -> bool:
    """Return `True` if a load fills a buffer of its own, outside of loops."""
    assert step.moves is not None
    destination = step.moves[1]
    return destination.home is None and destination.turns is None
