"""
Cost model of NPU tile programs, without IR: nests whose slots start again.

The number of iterations of a distributed nest depends on the core, so that its slots
start again with each execution, and those of nests in it with each of its iterations.
The compiled program does not order accesses to the slots of two executions one by one:
the whole nest, or the region of all cores around it, waits for the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    Item,
    Nest,
    instructions_in,
)


def restarting_nest_of(buffer: Buffer) -> Nest | None:
    """
    Return the nest that waits for its execution before, because the slots of a buffer
    start again with it; None if slots continue, or if there is one.
    """
    if (nest := buffer.multibuffer_nest) is None or nest.slot_count == 1:
        return None
    around, trips, slots = nest.surrounding_nest, nest.trip_count, nest.slot_count
    if nest.is_distributed:
        is_in_region = around is not None and around.is_core_region
        return around if is_in_region else nest
    while around is not None and not around.is_distributed:
        if around.is_core_region:
            return None
        nest, trips = around, trips * around.trip_count
        around = nest.surrounding_nest
    return nest if around is not None and trips % slots else None


def find_restart_conflicts(items: Sequence[Item]) -> dict[Nest, dict[int, set[int]]]:
    """
    Return the engines that each engine waits for before a nest, because slots start
    again with it.
    """
    uses: dict[Buffer, set[tuple[int, bool]]] = {}
    for step in instructions_in(items):
        for access, is_write in step.accesses:
            if access.buffer.multibuffer_nest is not None:
                uses.setdefault(access.buffer, set()).add((step.queue, is_write))
    conflicts: dict[Nest, dict[int, set[int]]] = {}
    for buffer, known in uses.items():
        if (nest := restarting_nest_of(buffer)) is None:
            continue
        for (queue, writes), (other, wrote) in permutations(known, 2):
            if queue != other and (writes or wrote):
                conflicts.setdefault(nest, {}).setdefault(queue, set()).add(other)
    return conflicts
