"""
Pass `mem-pipeline`: software pipelining of loops with `stages` by multi-buffering.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.analysis.buffers.normalized_loops import (
    STAGES,
    Nest,
    can_body_repeat,
    loop_ranges_of,
    max_iterations_in_flight,
    perfect_nest_of,
    trip_count_of_nest,
)
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.graph.remark_attribute import add_remark
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.loop_normalization import replace_nest_by_normalized_loop
from tlf.passes.mem.pipelining.contraction_pipelining import advance_contractions
from tlf.passes.mem.pipelining.multibuffer import replace_by_multibuffers
from tlf.passes.mem.pipelining.outer_loop_prefetch import (
    normalize_loop_of_pipelined_loops,
    prefetch_loads_of_outer_loop,
)
from tlf.passes.mem.pipelining.prefetch_distance import (
    add_remarks_on_late_loads,
    prefetch_loads,
)
from tlf.planner.overlap.ahead_selection import (
    select_loads_ahead,
    select_products_ahead,
)
from tlf.planner.overlap.mem_loop_body import MemLoopBody
from tlf.planner.overlap.slot_selection import (
    can_overlap,
    find_moved_buffers,
    select_slots,
)


@dataclass(frozen=True)
class MemPipelinePass(ModulePass):
    """
    Overlap iterations of loops with `stages` by multi-buffering.

    A nest becomes one normalized loop that counts from 0. Buffers of the body that are
    loaded from or stored to an outer level, and accumulators of contractions, get a
    slot per stage: one buffer before the loop, of which every iteration uses the next
    slot. A move into such a buffer is hoisted if the loop does not write its source,
    and the source offsets depend on induction variables only. It moves to the start of
    the body, or right after an inner loop whose own moves it would delay, with a
    prefetch distance of up to `stages - 1` iterations. Loop-carried tiles keep a single
    buffer, and loops with one iteration are not changed. In a body with loops, only the
    buffers in the outermost level of the moved ones get slots: the inner loops have
    slots of their own.

    Loops without `stages` change only if their body has a loop with `stages`, and
    other loads to the innermost level: as far as capacity allows, these loads get a
    prefetch distance of one iteration.
    """

    name = "mem-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        levels = list(TargetSpec.read_from_module(op).levels.values())
        for function in defined_functions_of(op):
            _pipeline_loops_in(function, levels)


def _pipeline_loops_in(op: Operation, levels: Sequence[Level]) -> None:
    """Pipeline the loops nested in `op` in place, outer loops before inner ones."""
    for region in op.regions:
        for block in region.blocks:
            for each in list(block.ops):
                is_loop = isinstance(each, scf.ForOp | scf.ParallelOp)
                pipelined = _pipeline_nest(each, levels) if is_loop else each
                _pipeline_loops_in(pipelined, levels)
                if isinstance(pipelined, scf.ForOp) and pipelined is not each:
                    prefetch_loads_of_outer_loop(pipelined, levels)


def _pipeline_nest(op: Nest, levels: Sequence[Level]) -> Nest:
    """Pipeline a nest, and return the new loop; the nest itself if it is unchanged."""
    if op.attributes.get("mapping", LOOP_MAPPING) != LOOP_MAPPING:
        return op
    nest = perfect_nest_of(op)
    trips, slots = trip_count_of_nest(nest), max_iterations_in_flight(op)
    reason = _reason_not_normalizable(nest, trips)
    if slots < 2:
        is_unchanged = not can_body_repeat(nest) or reason is not None
        return op if is_unchanged else normalize_loop_of_pipelined_loops(nest, levels)
    slots = slots if trips is None else min(slots, trips)
    body = MemLoopBody.of_nest(nest)
    if reason is not None:
        if can_overlap(body.operations, levels, slots):
            moved = find_moved_buffers(body.operations, levels)
            _add_remark_not_overlapped(moved[0].identity if moved else op, reason)
        return op
    selection = select_slots(body, levels, slots)
    for each in selection.missed:
        text = f"{slots} slots do not fit into {each.level}"
        _add_remark_not_overlapped(each.identity, text)
    if not selection.is_overlapped:
        return op
    return _replace_nest_by_pipelined_loop(nest, selection.multibuffers, levels, slots)


def _add_remark_not_overlapped(at: Hashable, reason: str) -> None:
    """Add a remark on a loop or on the allocation of a buffer."""
    op = at.owner if isinstance(at, SSAValue) else at
    assert isinstance(op, Operation)
    add_remark(op, MemPipelinePass.name, "missed", f"not overlapped: {reason}")


def _replace_nest_by_pipelined_loop(
    nest: Sequence[Nest],
    multibuffers: Sequence[Hashable],
    levels: Sequence[Level],
    slots: int,
) -> scf.ForOp:
    """Replace a nest by a loop with slots for the buffers and loads in advance."""
    trips, distance = trip_count_of_nest(nest), slots - 1
    loop = replace_nest_by_normalized_loop(nest)
    loop.attributes[STAGES] = IntegerAttr(slots, i64)
    body = MemLoopBody.of_nest([loop])
    loads = select_loads_ahead(body, multibuffers, distance, levels)
    add_remarks_on_late_loads(body, loads)
    products = select_products_ahead(body, loads.early, multibuffers, slots, levels[0])
    replace_by_multibuffers(loop, multibuffers, trips, slots, levels)
    prefetch_loads(body, loads.early, distance)
    advance_contractions(body, products, loads.early, distance)
    return loop


LOOP_MAPPING = StringAttr("loop")
"""Mapping of loops that are not distributed."""


def _reason_not_normalizable(
    nest: Sequence[Nest], trip_count: int | None
) -> str | None:
    """Return the reason why a nest cannot be normalized; None if it can."""
    if any(isinstance(loop, scf.ForOp) and loop.iter_args for loop in nest):
        return "the loop carries values"
    counters = [counter for loop in nest for counter in loop_ranges_of(loop)]
    if not all(constant_value_of(counter.step) for counter in counters):
        return "its step is not constant"
    if trip_count is None and len(counters) > 1:
        return "the bounds of the nest are not constant"
    return None
