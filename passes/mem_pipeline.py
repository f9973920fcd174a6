"""The pass `mem-pipeline`: loops whose iterations overlap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects import mem
from tlf.dialects.graph.remark import remark
from tlf.dialects.target import Level, Target
from tlf.dialects.types import byte_count
from tlf.passes.mem_split_maps import is_structure
from tlf.passes.pipelining.ahead import Loads, start_ahead
from tlf.passes.pipelining.counters import (
    STAGES,
    Nest,
    counters_of,
    linear,
    number_of,
    perfect_nest,
    stages_of,
    trips_of,
)
from tlf.passes.pipelining.slots import give_slots, slot_number
from tlf.passes.pipelining.touches import root_of
from tlf.passes.tiling.model import WIDEST


@dataclass(frozen=True)
class MemPipelinePass(ModulePass):
    """
    Let iterations of loops with `stages` overlap.

    Such a nest becomes one loop that counts from 0. Buffers of its body that moves
    fill from a farther level, or empty to one, get as many slots as there are stages:
    one buffer before the loop, of which every iteration uses the next slot. A move into
    one of them whose source nothing in the loop writes, from a place that depends on
    counters alone, goes to the start of the body and may start `stages - 1` iterations
    ahead. Tiles that a loop carries keep their one buffer, and loops of one iteration
    stay. In a body with loops, buffers nearer than the farthest of those that are moved
    keep one place, too: the loops have slots of their own.
    """

    name = "mem-pipeline"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        levels = list(Target.of(op).levels.values())
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _visit(function, levels)


def _visit(op: Operation, levels: Sequence[Level]) -> None:
    """Pipeline the loops in an operation, the outermost first."""
    for region in op.regions:
        for block in region.blocks:
            for each in list(block.ops):
                is_loop = isinstance(each, scf.ForOp | scf.ParallelOp)
                made = _pipelined(each, levels) if is_loop else each
                _visit(made, levels)


def _pipelined(op: Nest, levels: Sequence[Level]) -> Nest:
    """The loop that a nest becomes: itself, where nothing can overlap."""
    if stages_of(op) < 2 or op.attributes.get("mapping", LOOP) != LOOP:
        return op
    nest = perfect_nest(op)
    trips = trips_of(nest)
    slots = stages_of(op) if trips is None else min(stages_of(op), trips)
    body = nest[-1].body.block
    buffers = _moved(body, levels, slots)
    fills = any(_fills_ring(each) for each in body.ops)
    if slots < 2 or not (buffers or fills):
        return op
    if (reason := _reason(nest, trips)) is not None:
        remark(
            buffers[0] if buffers else op,
            MemPipelinePass.name,
            "missed",
            f"not overlapped: {reason}",
        )
        return op
    loop = linear(nest)
    loop.attributes[STAGES] = IntegerAttr(slots, i64)
    ahead = Loads.of(loop, [level.name for level in levels]).movable(buffers, slots - 1)
    number = slot_number(loop, trips, slots)
    alignments = {level.name: level.alignment for level in levels}
    for buffer in buffers:
        give_slots(loop, buffer, number, slots, alignments[buffer.level])
    start_ahead(ahead, slots - 1)
    return loop


LOOP = StringAttr("loop")
"""The mapping of loops that stay loops."""


def _fills_ring(op: Operation) -> bool:
    """Whether an operation moves slices to their place in a ring."""
    return isinstance(op, mem.DmaOp) and isinstance(op.destination.owner, mem.WindowOp)


def _reason(nest: Sequence[Nest], trips: int | None) -> str | None:
    """Why a nest cannot become one loop that counts, if it cannot."""
    if any(isinstance(loop, scf.ForOp) and loop.iter_args for loop in nest):
        return "the loop carries values"
    counters = [counter for loop in nest for counter in counters_of(loop)]
    if not all(number_of(counter.step) for counter in counters):
        return "its step is no number"
    if trips is None and len(counters) > 1:
        return "the bounds of the nest are no numbers"
    return None


def _moved(body: Block, levels: Sequence[Level], slots: int) -> list[mem.AllocOp]:
    """
    The buffers of a body that moves in it fill from or empty to a farther level.

    Those nearer than others are left out, unless the body has no loops, which have
    buffers of their own, and everything fits side by side.
    """
    names = [level.name for level in levels]
    found: dict[mem.AllocOp, None] = {}
    for op in body.ops:
        if not isinstance(op, mem.DmaOp):
            continue
        ends = [root_of(op.source), root_of(op.destination)]
        near = min(ends, key=lambda end: names.index(mem.level_of(end.type)))
        owner = near.owner
        if isinstance(owner, mem.AllocOp) and owner.parent is body:
            found[owner] = None
    farthest = max((names.index(each.level) for each in found), default=0)
    kept = [names[farthest]]
    if not any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in body.ops):
        kept += [
            level.name
            for level in levels[:farthest]
            if _room(body, level.name, found, slots) <= level.capacity
        ]
    return [each for each in found if each.level in kept]


def _room(
    body: Block, level: str, slotted: Mapping[mem.AllocOp, None], slots: int
) -> int:
    """
    The bytes of the buffers of a body in a level side by side, some of them with slots,
    and of what maps of several operations compute in between.
    """
    room = 0
    for op in body.ops:
        if isinstance(op, mem.AllocOp) and op.level == level:
            room += byte_count(op.buffer_type) * (slots if op in slotted else 1)
        elif isinstance(op, mem.MapOp):
            steps = [each for each in op.body.block.ops if not is_structure(each)]
            room += prod(op.extents) * WIDEST * max(0, len(steps) - 1)
    return room
