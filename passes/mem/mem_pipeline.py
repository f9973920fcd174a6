"""
Pass `mem-pipeline`: software pipelining of loops with `stages` by multi-buffering.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.analysis.buffers.memory_effects import ring_window_of, root_buffer_of
from tlf.analysis.buffers.normalized_loops import (
    STAGES,
    Nest,
    can_body_repeat,
    loop_ranges_of,
    max_iterations_in_flight,
    perfect_nest_of,
    trip_count_of_nest,
)
from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.graph.remark_attribute import add_remark
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.loop_normalization import replace_nest_by_normalized_loop
from tlf.passes.mem.pipelining.contraction_pipelining import (
    LoopContractions,
    advance_contractions,
)
from tlf.passes.mem.pipelining.multibuffer import (
    replace_by_multibuffer,
    slot_index_of_iteration,
)
from tlf.passes.mem.pipelining.multibuffer_capacity import MultibufferCapacity
from tlf.passes.mem.pipelining.outer_loop_prefetch import (
    normalize_loop_of_pipelined_loops,
    prefetch_loads_of_outer_loop,
)
from tlf.passes.mem.pipelining.prefetch_distance import LoopLoads, prefetch_moves


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
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
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
    trips = trip_count_of_nest(nest)
    if max_iterations_in_flight(op) < 2:
        is_unchanged = (
            not can_body_repeat(nest)
            or _reason_not_normalizable(nest, trips) is not None
        )
        return op if is_unchanged else normalize_loop_of_pipelined_loops(nest, levels)
    slots = (
        max_iterations_in_flight(op)
        if trips is None
        else min(max_iterations_in_flight(op), trips)
    )
    body = nest[-1].body.block
    transferred = _buffers_moved_to_outer_levels(body, levels)
    fills = any(_is_move_into_ring(each) for each in body.ops)
    if slots < 2 or not (transferred or fills):
        return op
    if (reason := _reason_not_normalizable(nest, trips)) is not None:
        add_remark(
            transferred[0] if transferred else op,
            MemPipelinePass.name,
            "missed",
            f"not overlapped: {reason}",
        )
        return op
    accumulators = _accumulators_without_moves(body, transferred)
    buffers = _select_multibuffers_that_fit(
        nest, [*transferred, *accumulators], levels, slots
    )
    if accumulators and not buffers:
        buffers = _select_multibuffers_that_fit(nest, transferred, levels, slots)
    if not (buffers or fills):
        return op
    return _replace_nest_by_pipelined_loop(nest, buffers, levels, slots)


def _replace_nest_by_pipelined_loop(
    nest: Sequence[Nest],
    buffers: Sequence[mem.AllocOp],
    levels: Sequence[Level],
    slots: int,
) -> scf.ForOp:
    """Replace a nest by a loop with slots for the buffers and loads in advance."""
    trips = trip_count_of_nest(nest)
    loop = replace_nest_by_normalized_loop(nest)
    loop.attributes[STAGES] = IntegerAttr(slots, i64)
    prefetched = LoopLoads.find_in_loop(
        loop, [level.name for level in levels]
    ).select_prefetchable_loads(buffers, slots - 1)
    products = LoopContractions(loop, prefetched).select_contractions_to_advance(
        buffers
    )
    capacity = (
        MultibufferCapacity.create_for_loop(loop, loop.body.block, buffers, slots)
        if products
        else None
    )
    if capacity is not None and not capacity.has_capacity_without_sharing(levels[0]):
        products = []
    slot = slot_index_of_iteration(loop, trips, slots)
    alignments = {level.name: level.alignment for level in levels}
    for buffer in buffers:
        replace_by_multibuffer(loop, buffer, slot, slots, alignments[buffer.level])
    prefetch_moves(prefetched, slots - 1)
    advance_contractions(products, prefetched, slots - 1)
    return loop


LOOP_MAPPING = StringAttr("loop")
"""Mapping of loops that are not distributed."""


def _is_move_into_ring(op: Operation) -> bool:
    """Return `True` if an operation moves slices into a ring buffer."""
    return isinstance(op, mem.DmaOp) and ring_window_of(op.destination) is not None


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


def _buffers_moved_to_outer_levels(
    body: Block, levels: Sequence[Level]
) -> list[mem.AllocOp]:
    """
    Return the buffers of a body that its moves load from or store to an outer level.
    """
    names = [level.name for level in levels]
    buffers: dict[mem.AllocOp, None] = {}
    for op in body.ops:
        if not isinstance(op, mem.Move):
            continue
        ends = [root_buffer_of(op.source), root_buffer_of(op.destination)]
        inner = min(ends, key=lambda end: names.index(mem.level_of(end.type)))
        owner = inner.owner
        if isinstance(owner, mem.AllocOp) and owner.parent is body:
            buffers[owner] = None
    return list(buffers)


def _accumulators_without_moves(
    body: Block, transfer_buffers: Sequence[mem.AllocOp]
) -> list[mem.AllocOp]:
    """
    Return the accumulators of a body's contractions that no move accesses. With slots,
    a contraction can start while the previous result is still read.
    """
    accumulators: dict[mem.AllocOp, None] = {}
    for op in body.walk():
        if not isinstance(op, mem.ContractOp):
            continue
        for output in op.output_operands:
            owner = root_buffer_of(output).owner
            if isinstance(owner, mem.AllocOp) and owner.parent is body:
                accumulators[owner] = None
    return [each for each in accumulators if each not in transfer_buffers]


def _select_multibuffers_that_fit(
    nest: Sequence[Nest],
    candidates: Sequence[mem.AllocOp],
    levels: Sequence[Level],
    slots: int,
) -> list[mem.AllocOp]:
    """
    Return the buffers to multi-buffer: buffers in the outermost used level, if their
    slots fit, and in each inner level if the body has no loops and all buffers of the
    level fit without sharing.
    """
    body = nest[-1].body.block
    by_level = [[op for op in candidates if op.level == level.name] for level in levels]
    used = [pair for pair in zip(levels, by_level, strict=True) if pair[1]]
    if not used:
        return []
    capacity = MultibufferCapacity.create_for_loop(nest[0], body, candidates, slots)
    *inner_levels, (outermost, outer_buffers) = used
    if not capacity.has_capacity_for_live_buffers(outermost):
        text = f"not overlapped: {slots} slots do not fit into {outermost.name}"
        add_remark(outer_buffers[0], MemPipelinePass.name, "missed", text)
        return []
    if any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in body.ops):
        return outer_buffers
    inner_buffers = [
        op
        for level, ops in inner_levels
        if capacity.has_capacity_without_sharing(level)
        for op in ops
    ]
    return [*outer_buffers, *inner_buffers]
