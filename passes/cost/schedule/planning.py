"""
Which buffers share bytes, as `mem-plan` places them: none where all fit side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tlf.dialects.target import Level
from tlf.passes.cost.schedule.program import Buffer, Item
from tlf.passes.cost.schedule.room import Spans
from tlf.passes.mem_plan import placed
from tlf.passes.placement import Buffer as Live
from tlf.passes.placement import Loops, Placement, align

Sharing = Mapping[Buffer, Sequence[Buffer]]
"""The buffers that lie on bytes of another one."""


def shared_bytes(items: Sequence[Item], levels: Sequence[Level]) -> Sharing:
    """Which buffers of the levels share bytes."""
    spans = Spans.of(items)
    found: dict[Buffer, list[Buffer]] = {}
    for level in levels:
        _level(buffers_of(spans, level), level, spans, found)
    return found


def buffers_of(spans: Spans, level: Level) -> list[Buffer]:
    """The buffers of a level, in the order of the program."""
    buffers = [each for each in spans.buffers if each.level == level.name]
    return sorted(buffers, key=lambda each: each.order)


def planned(buffers: Sequence[Buffer], level: Level, spans: Spans) -> list[Live]:
    """Buffers as the planner takes them."""
    return [_planned(each, level, spans) for each in buffers]


def placement_of(
    lives: Sequence[Live], level: Level, loops: Sequence[Loops] | None = None
) -> Placement:
    """Where the planner puts buffers."""
    return placed(lives, level.capacity, loops)


def _level(
    buffers: Sequence[Buffer],
    level: Level,
    spans: Spans,
    found: dict[Buffer, list[Buffer]],
) -> None:
    lives = planned(buffers, level, spans)
    loops = [_loops(each, spans) for each in buffers]
    placement = placement_of(lives, level, loops)
    ranges = [
        (buffer, offset, offset + live.size)
        for buffer, live, offset in zip(buffers, lives, placement.offsets, strict=True)
    ]
    for (one, low, high), (other, start, end) in combinations(ranges, 2):
        if low < end and start < high:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)


def _loops(buffer: Buffer, spans: Spans) -> Loops:
    """When the nests around a buffer run, the outermost first."""
    nest = buffer.home if buffer.turns is None else buffer.turns.around
    found: list[tuple[int, int]] = []
    while nest is not None:
        first, last = spans.nests[nest]
        found.append((first, last + 1))
        nest = nest.around
    return found[::-1]


def _planned(buffer: Buffer, level: Level, spans: Spans) -> Live:
    size = buffer.bytes
    if buffer.turns is not None:
        size = align(size, level.alignment) * buffer.slots
        first, last = spans.nests[buffer.turns]
    else:
        first, last = spans.buffers[buffer]
    return Live.during(size, first, last + 1, level.alignment)
