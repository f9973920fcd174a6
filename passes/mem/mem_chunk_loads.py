"""The pass `mem-chunk-loads`: loads of which the first part is used early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.analysis.buffers.counters import Nest
from tlf.analysis.buffers.filling import Filling
from tlf.analysis.buffers.mem_liveness import users as users_of
from tlf.analysis.buffers.paces import Pace, pace_of
from tlf.analysis.buffers.shifts import shift_along
from tlf.analysis.buffers.touches import root_of
from tlf.dialects import mem
from tlf.dialects.target import Level, Target
from tlf.passes.mem.pipelining.chunks import cut_of, in_chunks, is_quiet


@dataclass(frozen=True)
class MemChunkLoadsPass(ModulePass):
    """
    Cut loads into chunks whose user need not wait for all of them.

    A buffer, or a box of one, that is loaded from the outermost level before a loop,
    and read in it by one move that gets further along an axis in its first iterations,
    is loaded in up to 8 chunks along that axis, none of which shares a burst with
    another, right before the loop. What takes no longer than the latency of the level
    stays whole.
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
        filling = Filling.of(load)

        def pace(
            axis: int,
            starts: range,
            reader: mem.DmaOp = reader,
            filling: Filling = filling,
        ) -> Pace | None:
            shift = shift_along(filling.load.destination, reader.source, axis)
            if shift is None:
                return None
            chunks = [filling.here[axis] + shift + start for start in starts]
            return pace_of(chunks, axis, reader, loop)

        cut = cut_of(load.source_type, filling.there, filling.box, far, pace)
        if cut is not None and filling.ends_with(cut.axis, cut.size):
            move = filling.move()
            in_chunks(move, _place(move, loop), cut.axis, cut.size)


def _place(load: mem.DmaOp, loop: Nest) -> Operation:
    """
    Return the operation that chunks are put before: behind other loads for a loop,
    before those for later ones.
    """
    needed = _needed(load, loop)
    op = load.next_op
    while op is not None and op is not loop:
        if isinstance(op, mem.DmaOp) and root_of(op.destination) not in needed:
            return op
        op = op.next_op
    return loop


def _needed(load: mem.DmaOp, loop: Nest) -> set[SSAValue]:
    """
    Return the buffers that a loop uses, itself or through moves between a load and the
    loop.
    """
    found = {
        root_of(value)
        for op in loop.walk()
        for value in op.operands
        if isinstance(value.type, MemRefType)
    }
    op = loop.prev_op
    while op is not None and op is not load:
        if isinstance(op, mem.DmaOp) and root_of(op.destination) in found:
            found.add(root_of(op.source))
        op = op.prev_op
    return found


def _loads(loop: Nest, far: Level) -> Iterator[mem.DmaOp]:
    """
    The loads of a fixed box before a loop, with no work between and nothing else that
    touches what they fill, last first.
    """
    between: set[SSAValue] = set()
    op = loop.prev_op
    while op is not None and (is_quiet(op) or isinstance(op, mem.DmaOp)):
        before = op.prev_op
        if isinstance(op, mem.DmaOp):
            if mem.level_of(op.destination.type) == far.name:
                return
            ends = {root_of(op.source), root_of(op.destination)}
            is_load = mem.level_of(op.source.type) == far.name
            if is_load and root_of(op.destination) not in between and _is_fixed(op):
                yield op
            between |= ends
        op = before


def _is_fixed(load: mem.DmaOp) -> bool:
    """
    Return `True` if a load fills a box of an allocated buffer at constant offsets.
    """
    offsets = (*load.mixed_source_offsets, *load.mixed_destination_offsets)
    return (
        isinstance(root_of(load.destination).owner, mem.AllocOp)
        and all(isinstance(offset, int) for offset in offsets)
        and load.source_type.has_static_shape()
    )


def _reader(load: mem.DmaOp, loop: Nest) -> mem.DmaOp | None:
    """
    Return the only user of a buffer after a load and in a loop, if it is a move out of
    the buffer; else None.
    """
    users = {
        each
        for each in users_of(root_of(load.destination))
        if each is not load and not isinstance(each, mem.WaitOp)
    }
    inside = {each for each in users if loop.is_ancestor(each)}
    if len(inside) != 1 or not all(_is_behind(each, loop) for each in users - inside):
        return None
    (reader,) = inside
    if not isinstance(reader, mem.DmaOp):
        return None
    if root_of(reader.source) is not root_of(load.destination):
        return None
    waits = [use.operation for use in load.token.uses]
    is_awaited = all(
        isinstance(each, mem.WaitOp)
        and each.parent is loop.parent
        and each.is_before_in_block(loop)
        for each in waits
    )
    return reader if is_awaited else None


def _is_behind(op: Operation, loop: Nest) -> bool:
    """
    Return `True` if an operation, or its ancestor in the block of a loop, comes after
    the loop.
    """
    around: Operation | None = op
    while around is not None and around.parent is not loop.parent:
        around = around.parent_op()
    return around is not None and loop.is_before_in_block(around)
