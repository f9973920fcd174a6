"""The pass `mem-pipeline`: loops whose iterations overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.analysis.buffers.counters import (
    STAGES,
    Nest,
    counters_of,
    linear,
    number_of,
    perfect_nest,
    repeats,
    stages_of,
    trips_of,
)
from tlf.analysis.buffers.touches import root_of, window_of
from tlf.dialects import mem
from tlf.dialects.graph.remark import remark
from tlf.dialects.target import Level, Target
from tlf.passes.mem.pipelining.ahead import Loads, start_ahead
from tlf.passes.mem.pipelining.around import counted, load_around
from tlf.passes.mem.pipelining.products import Products, start_products
from tlf.passes.mem.pipelining.room import Room
from tlf.passes.mem.pipelining.slots import give_slots, slot_number


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
                if isinstance(made, scf.ForOp) and made is not each:
                    load_around(made, levels)


def _pipelined(op: Nest, levels: Sequence[Level]) -> Nest:
    """The loop that a nest becomes: itself, where nothing can overlap."""
    if op.attributes.get("mapping", LOOP) != LOOP:
        return op
    nest = perfect_nest(op)
    trips = trips_of(nest)
    if stages_of(op) < 2:
        stays = not repeats(nest) or _reason(nest, trips) is not None
        return op if stays else counted(nest, levels)
    slots = stages_of(op) if trips is None else min(stages_of(op), trips)
    body = nest[-1].body.block
    moved = _moved(body, levels)
    fills = any(_fills_ring(each) for each in body.ops)
    if slots < 2 or not (moved or fills):
        return op
    if (reason := _reason(nest, trips)) is not None:
        remark(
            moved[0] if moved else op,
            MemPipelinePass.name,
            "missed",
            f"not overlapped: {reason}",
        )
        return op
    summed = _summed(body, moved)
    buffers = _with_room(nest, [*moved, *summed], levels, slots)
    if summed and not buffers:
        buffers = _with_room(nest, moved, levels, slots)
    if not (buffers or fills):
        return op
    loop = linear(nest)
    loop.attributes[STAGES] = IntegerAttr(slots, i64)
    ahead = Loads.of(loop, [level.name for level in levels]).movable(buffers, slots - 1)
    products = Products(loop, ahead).movable(buffers)
    room = Room.of(loop, loop.body.block, buffers, slots) if products else None
    if room is not None and not room.side_by_side(levels[0]):
        products = []
    number = slot_number(loop, trips, slots)
    alignments = {level.name: level.alignment for level in levels}
    for buffer in buffers:
        give_slots(loop, buffer, number, slots, alignments[buffer.level])
    start_ahead(ahead, slots - 1)
    start_products(products, ahead, slots - 1)
    return loop


LOOP = StringAttr("loop")
"""The mapping of loops that stay loops."""


def _fills_ring(op: Operation) -> bool:
    """Return `True` if an operation moves slices to their place in a ring."""
    return isinstance(op, mem.DmaOp) and window_of(op.destination) is not None


def _reason(nest: Sequence[Nest], trips: int | None) -> str | None:
    """Return why a nest cannot become one counting loop, or None if it can."""
    if any(isinstance(loop, scf.ForOp) and loop.iter_args for loop in nest):
        return "the loop carries values"
    counters = [counter for loop in nest for counter in counters_of(loop)]
    if not all(number_of(counter.step) for counter in counters):
        return "its step is no number"
    if trips is None and len(counters) > 1:
        return "the bounds of the nest are no numbers"
    return None


def _moved(body: Block, levels: Sequence[Level]) -> list[mem.AllocOp]:
    """The buffers of a body that moves in it fill from or empty to a farther level."""
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


def _summed(body: Block, moved: Sequence[mem.AllocOp]) -> list[mem.AllocOp]:
    """
    The buffers of a body that products are summed up in, for other engines: the next
    sum can begin while the last one is still read.
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


def _with_room(
    nest: Sequence[Nest],
    moved: Sequence[mem.AllocOp],
    levels: Sequence[Level],
    slots: int,
) -> list[mem.AllocOp]:
    """
    The buffers that get slots: those in the farthest level, if they have room, and
    nearer ones if the body has no loops, which have buffers of their own, and
    everything fits side by side.
    """
    body = nest[-1].body.block
    by_level = [[op for op in moved if op.level == level.name] for level in levels]
    used = [pair for pair in zip(levels, by_level, strict=True) if pair[1]]
    if not used:
        return []
    room = Room.of(nest[0], body, moved, slots)
    *nearer, (farthest, kept) = used
    if not room.at_once(farthest):
        text = f"not overlapped: {slots} slots do not fit into {farthest.name}"
        remark(kept[0], MemPipelinePass.name, "missed", text)
        return []
    if any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in body.ops):
        return kept
    near = [op for level, ops in nearer if room.side_by_side(level) for op in ops]
    return [*kept, *near]
