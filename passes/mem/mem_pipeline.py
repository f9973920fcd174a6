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

from tlf.analysis.buffers.memory_effects import ring_window_of, root_of
from tlf.analysis.buffers.normalized_loops import (
    STAGES,
    Nest,
    can_repeat,
    constant_value_of,
    loop_ranges_of,
    normalize_nest,
    perfect_nest_of,
    stages_of,
    trips_of,
)
from tlf.dialects import mem
from tlf.dialects.graph.remark import add_remark
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.pipelining.contraction_pipelining import (
    LoopContractions,
    advance_contractions,
)
from tlf.passes.mem.pipelining.multibuffer import (
    multibuffer_allocation,
    multibuffer_index,
)
from tlf.passes.mem.pipelining.multibuffer_capacity import MultibufferCapacity
from tlf.passes.mem.pipelining.outer_loop_prefetch import (
    normalize_outer_loop,
    prefetch_outer_loads,
)
from tlf.passes.mem.pipelining.prefetch_distance import LoopLoads, prefetch_moves


@dataclass(frozen=True)
class MemPipelinePass(ModulePass):
    """
    Let iterations of loops with `stages` overlap.

    Such a nest becomes one loop that counts from 0. Buffers of its body that moves fill
    from a farther level, or empty to one, and those that products are summed up in, get
    as many slots as there are stages: one buffer before the loop, of which every
    iteration uses the next slot. A move into one of them whose source nothing in the
    loop writes, from a place that depends on counters alone, goes to the start of the
    body, or right behind a loop whose own moves it would hold up, and may start `stages
    - 1` iterations ahead. Tiles that a loop carries keep their one buffer, and loops of
    one iteration stay. In a body with loops, buffers nearer than the farthest of those
    that are moved keep one place, too: the loops have slots of their own.

    Of loops without `stages` only those change that have one with `stages` in their
    body, and bring something to the nearest level beside it: as far as there is room,
    these loads start an iteration ahead.
    """

    name = "mem-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        levels = list(TargetSpec.of(op).levels.values())
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _pipeline_loops_in(function, levels)


def _pipeline_loops_in(op: Operation, levels: Sequence[Level]) -> None:
    """Pipeline the loops in an operation, the outermost first."""
    for region in op.regions:
        for block in region.blocks:
            for each in list(block.ops):
                is_loop = isinstance(each, scf.ForOp | scf.ParallelOp)
                made = _pipeline_nest(each, levels) if is_loop else each
                _pipeline_loops_in(made, levels)
                if isinstance(made, scf.ForOp) and made is not each:
                    prefetch_outer_loads(made, levels)


def _pipeline_nest(op: Nest, levels: Sequence[Level]) -> Nest:
    """Return the loop that a nest becomes: itself, where nothing can overlap."""
    if op.attributes.get("mapping", LOOP_MAPPING) != LOOP_MAPPING:
        return op
    nest = perfect_nest_of(op)
    trips = trips_of(nest)
    if stages_of(op) < 2:
        stays = not can_repeat(nest) or _find_objection(nest, trips) is not None
        return op if stays else normalize_outer_loop(nest, levels)
    slots = stages_of(op) if trips is None else min(stages_of(op), trips)
    body = nest[-1].body.block
    moved = _transfer_buffers_of(body, levels)
    fills = any(_is_ring_fill(each) for each in body.ops)
    if slots < 2 or not (moved or fills):
        return op
    if (reason := _find_objection(nest, trips)) is not None:
        add_remark(
            moved[0] if moved else op,
            MemPipelinePass.name,
            "missed",
            f"not overlapped: {reason}",
        )
        return op
    summed = _accumulators_of(body, moved)
    buffers = _select_buffers_that_fit(nest, [*moved, *summed], levels, slots)
    if summed and not buffers:
        buffers = _select_buffers_that_fit(nest, moved, levels, slots)
    if not (buffers or fills):
        return op
    loop = normalize_nest(nest)
    loop.attributes[STAGES] = IntegerAttr(slots, i64)
    ahead = LoopLoads.of(loop, [level.name for level in levels]).select_prefetchable(
        buffers, slots - 1
    )
    products = LoopContractions(loop, ahead).select_advanceable(buffers)
    room = (
        MultibufferCapacity.of(loop, loop.body.block, buffers, slots)
        if products
        else None
    )
    if room is not None and not room.has_room_without_sharing(levels[0]):
        products = []
    number = multibuffer_index(loop, trips, slots)
    alignments = {level.name: level.alignment for level in levels}
    for buffer in buffers:
        multibuffer_allocation(loop, buffer, number, slots, alignments[buffer.level])
    prefetch_moves(ahead, slots - 1)
    advance_contractions(products, ahead, slots - 1)
    return loop


LOOP_MAPPING = StringAttr("loop")
"""The mapping of loops that stay loops."""


def _is_ring_fill(op: Operation) -> bool:
    """Return `True` if an operation moves slices to their place in a ring."""
    return isinstance(op, mem.DmaOp) and ring_window_of(op.destination) is not None


def _find_objection(nest: Sequence[Nest], trips: int | None) -> str | None:
    """Return why a nest cannot become one counting loop, or None if it can."""
    if any(isinstance(loop, scf.ForOp) and loop.iter_args for loop in nest):
        return "the loop carries values"
    counters = [counter for loop in nest for counter in loop_ranges_of(loop)]
    if not all(constant_value_of(counter.step) for counter in counters):
        return "its step is no number"
    if trips is None and len(counters) > 1:
        return "the bounds of the nest are no numbers"
    return None


def _transfer_buffers_of(body: Block, levels: Sequence[Level]) -> list[mem.AllocOp]:
    """
    Return the buffers of a body that its moves fill from, or empty to, an outer level.
    """
    names = [level.name for level in levels]
    found: dict[mem.AllocOp, None] = {}
    for op in body.ops:
        if not isinstance(op, mem.Move):
            continue
        ends = [root_of(op.source), root_of(op.destination)]
        near = min(ends, key=lambda end: names.index(mem.level_of(end.type)))
        owner = near.owner
        if isinstance(owner, mem.AllocOp) and owner.parent is body:
            found[owner] = None
    return list(found)


def _accumulators_of(body: Block, moved: Sequence[mem.AllocOp]) -> list[mem.AllocOp]:
    """
    Return the accumulators of a body's contractions that no move accesses: the next sum
    can begin while the last one is still read.
    """
    found: dict[mem.AllocOp, None] = {}
    for op in body.walk():
        if not isinstance(op, mem.ContractOp):
            continue
        for output in op.output_operands:
            owner = root_of(output).owner
            if isinstance(owner, mem.AllocOp) and owner.parent is body:
                found[owner] = None
    return [each for each in found if each not in moved]


def _select_buffers_that_fit(
    nest: Sequence[Nest],
    moved: Sequence[mem.AllocOp],
    levels: Sequence[Level],
    slots: int,
) -> list[mem.AllocOp]:
    """
    Return the buffers to multi-buffer: those in the outermost level, if they fit, and
    inner ones if the body has no loops and everything fits without sharing.
    """
    body = nest[-1].body.block
    by_level = [[op for op in moved if op.level == level.name] for level in levels]
    used = [pair for pair in zip(levels, by_level, strict=True) if pair[1]]
    if not used:
        return []
    room = MultibufferCapacity.of(nest[0], body, moved, slots)
    *nearer, (farthest, kept) = used
    if not room.has_room_with_sharing(farthest):
        text = f"not overlapped: {slots} slots do not fit into {farthest.name}"
        add_remark(kept[0], MemPipelinePass.name, "missed", text)
        return []
    if any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in body.ops):
        return kept
    near = [
        op
        for level, ops in nearer
        if room.has_room_without_sharing(level)
        for op in ops
    ]
    return [*kept, *near]
