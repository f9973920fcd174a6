"""Decision on multi-buffers: the buffers of a loop's body that get several slots."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from tlf.dialects.target import Level
from tlf.planner.overlap.body_facts import BodyBuffer, BodyOperation, LoopBody
from tlf.planner.overlap.loop_memory import LoopMemory

OUTER_LOOP_SLOTS = 2
"""Slots of a buffer that inner loops use: one is used while the next is loaded."""


@dataclass(frozen=True)
class SlotSelection:
    """Decision on the slots of the buffers of a loop."""

    is_overlapped: bool = False
    """True if iterations overlap: buffers get slots, or loads fill rings."""
    multibuffers: Sequence[Hashable] = ()
    missed: Sequence[BodyBuffer] = ()
    """A buffer in each level that had no room for slots, of the attempts in order."""


def find_moved_buffers(
    operations: Sequence[BodyOperation], levels: Sequence[Level]
) -> list[BodyBuffer]:
    """Return the buffers of a body that are the inner side of its moves."""
    names = [level.name for level in levels]
    inner_ends = (
        min(ends, key=lambda end: names.index(end.level))
        for operation in operations
        if (move := operation.move) is not None
        for ends in [(move.source, move.destination)]
    )
    return list(dict.fromkeys(each for each in inner_ends if each.is_local))


def can_overlap(
    operations: Sequence[BodyOperation], levels: Sequence[Level], slot_count: int
) -> bool:
    """
    Return `True` if moves of a body fill or drain its buffers, or fill rings, so that
    iterations overlap if there is room for several slots.
    """
    fills = _has_ring_fill(operations)
    return slot_count > 1 and (fills or bool(find_moved_buffers(operations, levels)))


def _has_ring_fill(operations: Sequence[BodyOperation]) -> bool:
    """Return `True` if a body fills slices of a ring."""
    return any(each.move is not None and each.move.is_into_ring for each in operations)


def select_slots(
    body: LoopBody, levels: Sequence[Level], slot_count: int
) -> SlotSelection:
    """
    Return the buffers of a loop that get `slot_count` slots: those that moves fill or
    drain and, if there is room, accumulators of products without moves. With slots, a
    product can start while the previous result is still read.
    """
    operations = body.operations
    if not can_overlap(operations, levels, slot_count):
        return SlotSelection()
    moved = find_moved_buffers(operations, levels)
    accumulators = [
        each
        for operation in operations
        for each in operation.accumulators
        if each.is_local and each not in moved
    ]
    attempts = [[*moved, *dict.fromkeys(accumulators)], moved]
    missed: list[BodyBuffer] = []
    memory = body.measure_memory()
    has_loops = any(each.is_loop for each in operations)
    for candidates in attempts if accumulators else attempts[1:]:
        buffers = _select_buffers_with_room(
            candidates, memory, levels, slot_count, has_loops, missed
        )
        if buffers:
            return SlotSelection(True, [each.identity for each in buffers], missed)
    return SlotSelection(_has_ring_fill(operations), (), missed)


def _select_buffers_with_room(
    candidates: Sequence[BodyBuffer],
    memory: LoopMemory,
    levels: Sequence[Level],
    slot_count: int,
    has_loops: bool,
    missed: list[BodyBuffer],
) -> list[BodyBuffer]:
    """
    Return the candidates in the outermost used level, if their slots fit, and in each
    inner level if the body has no loops and all buffers of the level fit without
    sharing. Empty, with an entry in `missed`, if there is no room.
    """
    pairs = [(e, [b for b in candidates if b.level == e.name]) for e in levels]
    used = [pair for pair in pairs if pair[1]]
    if not used:
        return []
    multibuffers = {each.identity for each in candidates}
    *inner_levels, (outermost, outer_buffers) = used
    if not memory.has_room_with_sharing(outermost, multibuffers, slot_count):
        missed.append(outer_buffers[0])
        return []
    if has_loops:
        return outer_buffers
    return outer_buffers + [
        buffer
        for level, buffers in inner_levels
        if memory.has_room_without_sharing(level, multibuffers, slot_count)
        for buffer in buffers
    ]


def find_buffers_loaded_for_inner_loops(
    operations: Sequence[BodyOperation], innermost_level: Level
) -> list[Hashable]:
    """
    Return the buffers of the innermost level that moves of a body fill, if the body has
    loops with several iterations in flight.
    """
    if not any(each.stages > 1 for each in operations):
        return []
    moves = (each.move for each in operations if each.move is not None)
    ends = (move.destination for move in moves if move.index_buffer is None)
    found = [e.identity for e in ends if e.is_local and e.level == innermost_level.name]
    return list(dict.fromkeys(found))


def select_slots_for_inner_loops(
    body: LoopBody, innermost_level: Level
) -> list[Hashable]:
    """
    Return the buffers loaded for inner loops for which there is room for
    `OUTER_LOOP_SLOTS` slots.
    """
    candidates = find_buffers_loaded_for_inner_loops(body.operations, innermost_level)
    selected: list[Hashable] = []
    memory = body.measure_memory() if candidates else None
    for each in candidates:
        buffers = [*selected, each]
        if memory and memory.has_room_without_sharing(
            innermost_level, buffers, OUTER_LOOP_SLOTS
        ):
            selected = buffers
    return selected
