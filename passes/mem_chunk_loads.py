"""The pass `mem-chunk-loads`: loads of which the first part is used early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tlf.dialects import mem
from tlf.dialects.target import Level, Target
from tlf.passes.pipelining.chunks import cut_of, in_chunks, is_quiet
from tlf.passes.pipelining.counters import Nest
from tlf.passes.pipelining.paces import Pace, pace_of
from tlf.passes.pipelining.touches import root_of, touches


@dataclass(frozen=True)
class MemChunkLoadsPass(ModulePass):
    """
    Cut loads into chunks whose user need not wait for all of them.

    A whole buffer that is loaded from the outermost level right before a loop, and read
    in it by one move that gets further along an axis in its first iterations, is loaded
    in up to 8 chunks along that axis, none of which shares a burst with another. What
    takes no longer than the latency of the level stays whole.
    """

    name = "mem-chunk-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        far = Target.of(op).outermost
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for loop in list(function.body.block.ops):
                    if isinstance(loop, scf.ForOp | scf.ParallelOp):
                        _before(loop, far)


def _before(loop: Nest, far: Level) -> None:
    """Cut the loads right before a loop."""
    for load in [*_loads(loop, far)][::-1]:
        if (reader := _reader(load, loop)) is None:
            continue

        def pace(axis: int, starts: range, reader: mem.DmaOp = reader) -> Pace | None:
            return pace_of(starts, axis, reader, loop)

        offsets = load.mixed_source_offsets
        cut = cut_of(load.source_type, offsets, load.box, far, pace)
        if cut is not None:
            in_chunks(load, _place(load, loop), cut.axis, cut.size)


def _place(load: mem.DmaOp, loop: Nest) -> Operation:
    """Where chunks go: behind other loads for a loop, before those for later ones."""
    op = load.next_op
    while op is not None and op is not loop:
        if isinstance(op, mem.DmaOp) and not touches(loop, root_of(op.destination)):
            return op
        op = op.next_op
    return loop


def _loads(loop: Nest, far: Level) -> Iterator[mem.DmaOp]:
    """The loads of whole buffers before a loop, with no work between, last first."""
    op = loop.prev_op
    while op is not None and (is_quiet(op) or isinstance(op, mem.DmaOp)):
        before = op.prev_op
        if isinstance(op, mem.DmaOp):
            if mem.level_of(op.source.type) != far.name:
                return
            if _is_whole(op):
                yield op
        op = before


def _is_whole(load: mem.DmaOp) -> bool:
    """Whether a load fills all of a buffer, from where another one begins."""
    offsets = (*load.mixed_source_offsets, *load.mixed_destination_offsets)
    shape = load.destination_type.get_shape()
    return (
        isinstance(load.destination.owner, mem.AllocOp)
        and all(offset == 0 for offset in offsets)
        and load.box == tuple(shape) == tuple(load.source_type.get_shape())
    )


def _reader(load: mem.DmaOp, loop: Nest) -> mem.DmaOp | None:
    """What alone uses a buffer after a load: a move in a loop."""
    users = {use.operation for use in load.destination.uses} - {load}
    if len(users) != 1:
        return None
    (reader,) = users
    if not isinstance(reader, mem.DmaOp) or reader.source is not load.destination:
        return None
    waits = [use.operation for use in load.token.uses]
    is_awaited = all(
        isinstance(each, mem.WaitOp)
        and each.parent is loop.parent
        and each.is_before_in_block(loop)
        for each in waits
    )
    return reader if is_awaited and loop.is_ancestor(reader) else None
