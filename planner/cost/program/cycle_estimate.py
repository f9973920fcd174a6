"""Cost model of a tile function on an NPU: cycles and traffic estimated from the IR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeAlias

from xdsl.dialects import func

from tlf.dialects.target import TargetSpec
from tlf.machine.instruction_costs import Key
from tlf.machine.machine_spec import DmaEngine
from tlf.planner.cost.program.buffer_sharing import (
    KnownAllocations,
    find_shared_buffers,
)
from tlf.planner.cost.program.chunked_moves import (
    split_loads_into_chunks,
    split_stores_into_chunks,
)
from tlf.planner.cost.program.distributed_nests import distribute_nests
from tlf.planner.cost.program.early_loads import hoist_loads
from tlf.planner.cost.program.fill_cast_folding import (
    drop_overwritten_fills,
    fold_rounding_casts,
)
from tlf.planner.cost.program.instruction_nests import Item
from tlf.planner.cost.program.iteration_overlap import overlap_nests
from tlf.planner.cost.program.operation_reader import read_operation
from tlf.planner.cost.program.schedule_execution import run_schedule
from tlf.planner.cost.program.schedule_reader import ScheduleReader


@dataclass(frozen=True)
class CycleEstimate:
    """Estimated time and traffic of a program."""

    cycles: int
    tally_totals: dict[Key, int]
    """
    Sums of the instructions' tallies, as counted by `tlf.machine.instruction_costs`.
    """
    outer_bytes: int
    """Payload from and to the outermost memory."""
    executed_instructions: int
    """Number of instructions executed for the estimate."""


ScheduleRewrite: TypeAlias = Callable[[list[Item], TargetSpec], None]
"""Rewrites a schedule in place as a pass rewrites the program."""

REWRITES_BY_PASS: Mapping[str, ScheduleRewrite] = {
    "mem-fold-fills": drop_overwritten_fills,
    "mem-fold-casts": fold_rounding_casts,
    "mem-distribute-to-cores": distribute_nests,
    "mem-pipeline": overlap_nests,
    "mem-prefetch": hoist_loads,
    "mem-chunk-loads": split_loads_into_chunks,
    "mem-chunk-stores": split_stores_into_chunks,
}
"""Rewrites of a schedule in the order of the passes."""


def read_schedule(
    function: func.FuncOp, target: TargetSpec, until: str | None = None
) -> tuple[list[Item], ScheduleReader]:
    """
    Return the schedule of a tile function, nests, moves and computation, as after the
    passes of `REWRITES_BY_PASS`, or before the pass `until`.
    """
    reader = ScheduleReader(function, target, read_operation)
    items = reader.read_function()
    for name in takewhile(lambda name: name != until, REWRITES_BY_PASS):
        REWRITES_BY_PASS[name](items, target)
    return items, reader


def estimate_function_cycles(
    function: func.FuncOp,
    target: TargetSpec,
    max_instructions: int | None = None,
    known_allocations: KnownAllocations | None = None,
) -> CycleEstimate:
    """
    Return the estimate of a tile function on the event model of the target's machine.
    Buffers are allocated as in `known_allocations`, which is extended. Raises
    `TooManyInstructionsError` if more than `max_instructions` instructions are
    executed.
    """
    items, reader = read_schedule(function, target)
    sharing = find_shared_buffers(items, target, known_allocations)
    clock = run_schedule(items, reader.costs, sharing, max_instructions)
    totals = clock.totals_by_key()
    outermost = target.outermost_level.name
    payload = 0
    for name, engine in reader.costs.machine.engines.items():
        if isinstance(engine, DmaEngine):
            payload += totals.get(("read", name), 0) * (engine.source == outermost)
            payload += totals.get(("wrote", name), 0) * (
                engine.destination == outermost
            )
    return CycleEstimate(clock.model.end_time, totals, payload, clock.executed_count)
