"""Buffers of a loop in the capacity of a level."""

from __future__ import annotations

import pytest

from tlf.dialects.target import load_target_spec
from tlf.planner.overlap.loop_memory import LiveBuffer, LoopMemory

LEVEL = load_target_spec("npu").levels["L1"]
HALF = LEVEL.capacity // 2


@pytest.mark.parametrize(("slots", "is_room"), [(2, True), (3, False)])
def test_slots_take_room_in_their_level_only(slots: int, is_room: bool):
    buffers = {"L1": [LiveBuffer("a", HALF, (1, 2))], "L2": [LiveBuffer("b", 1, None)]}
    collected: list[str] = []

    def collect_buffers(level: str) -> list[LiveBuffer]:
        collected.append(level)
        return buffers[level]

    memory = LoopMemory(collect_buffers, (0, 3), temporary_bytes=0)
    assert memory.has_room_with_sharing(LEVEL, ["a", "b"], slots) == is_room
    assert memory.has_room_without_sharing(LEVEL, ["a", "b"], slots) == is_room
    assert collected == ["L1"]
