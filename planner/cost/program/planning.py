"""
Buffers that share bytes, as `mem-plan` places them: none where all fit side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from tlf.dialects.target import Level, Target
from tlf.planner.cost.program.program import Buffer, Item, Step
from tlf.planner.cost.program.room import Spans
from tlf.support.allocation import Buffer as Live
from tlf.support.allocation import Loops, Placement, Use, align, engine_stage, placed

Sharing = Mapping[Buffer, Sequence[Buffer]]
"""The buffers that lie on bytes of another one."""


def shared_bytes(items: Sequence[Item], target: Target) -> Sharing:
    """
    Return the buffers of a target's levels that share bytes; the outermost has room.
    """
    spans = Spans.of(items)
    found: dict[Buffer, list[Buffer]] = {}
    for level in target.levels.values():
        if level is not target.outermost:
            _level(buffers_of(spans, level), level, spans, list(target.levels), found)
    return found


def buffers_of(spans: Spans, level: Level) -> list[Buffer]:
    """The buffers of a level, in the order of the program."""
    buffers = [each for each in spans.buffers if each.level == level.name]
    return sorted(buffers, key=lambda each: each.order)


def planned(buffers: Sequence[Buffer], level: Level, spans: Spans) -> list[Live]:
    """Buffers as the planner takes them."""
    return [_planned(each, level, spans) for each in buffers]


def placement_of(
    lives: Sequence[Live], level: Level, uses: Sequence[Use] | None = None
) -> Placement:
    """Return the planner's placement of buffers."""
    return placed(lives, level.capacity, uses)


def _level(
    buffers: Sequence[Buffer],
    level: Level,
    spans: Spans,
    levels: Sequence[str],
    found: dict[Buffer, list[Buffer]],
) -> None:
    lives = planned(buffers, level, spans)
    uses = [_use(each, spans, levels) for each in buffers]
    placement = placement_of(lives, level, uses)
    ranges = [
        (buffer, offset, offset + live.size)
        for buffer, live, offset in zip(buffers, lives, placement.offsets, strict=True)
    ]
    for (one, low, high), (other, start, end) in combinations(ranges, 2):
        if low < end and start < high:
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)


def _use(buffer: Buffer, spans: Spans, levels: Sequence[str]) -> Use:
    """By which instructions a buffer is used."""
    first, last = spans.uses[buffer]
    return Use(
        spans.steps[first],
        spans.steps[last],
        _engine_stage(first, levels),
        _engine_stage(last, levels),
        _loops(buffer, spans),
    )


def _engine_stage(step: Step, levels: Sequence[str]) -> int:
    move = None
    if step.moves is not None:
        source, destination = (levels.index(each.level) for each in step.moves)
        move = source, destination
    return engine_stage(len(levels), move, product=step.product)


def _loops(buffer: Buffer, spans: Spans) -> Loops:
    """Return the live ranges of the nests around a buffer, the outermost first."""
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
