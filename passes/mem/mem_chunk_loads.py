"""
Pass `mem-chunk-loads`: splits loads into chunks, so that readers can start early.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tlf.analysis.buffers.chunk_rates import ConsumeRate, consume_rate_of
from tlf.analysis.buffers.mem_liveness import users_of_buffer as users_of
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.analysis.buffers.normalized_loops import Nest
from tlf.analysis.buffers.view_offsets import offset_between_views
from tlf.dialects import mem
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.pipelining.move_chunking import (
    is_wait_or_address_computation,
    replace_move_by_chunk_loop,
    select_move_chunking,
)


@dataclass(frozen=True)
class MemChunkLoadsPass(ModulePass):
    """
    Split loads into chunks, so that the reader of a buffer need not wait for all of it.

    Applies to a buffer, or a box of a buffer, that is loaded from the outermost level
    before a loop, and read in the loop by a single move that advances along an axis in
    the first iterations. The load is replaced by up to 8 chunks along that axis right
    before the loop, without shared bursts. Loads that take no longer than the latency
    of the level are not split.
    """

    name = "mem-chunk-loads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outermost = TargetSpec.read_from_module(op).outermost_level
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for loop in list(function.body.block.ops):
                    if isinstance(loop, scf.ForOp | scf.ParallelOp):
                        _chunk_loads_before(loop, outermost)


def _chunk_loads_before(loop: Nest, outer_level: Level) -> None:
    """
    Replace loads right before a loop by loops over chunks of them, if it is profitable.
    """
    for load in [*_chunkable_loads_before(loop, outer_level)][::-1]:
        if (reader := _single_reader_of(load, loop)) is None:
            continue
        filling = LoadedBox.of(load)

        def consume_rate(
            axis: int,
            starts: range,
            reader: mem.DmaOp = reader,
            filling: LoadedBox = filling,
        ) -> ConsumeRate | None:
            shift = offset_between_views(filling.load.destination, reader.source, axis)
            if shift is None:
                return None
            chunks = [
                filling.destination_offsets[axis] + shift + start for start in starts
            ]
            return consume_rate_of(chunks, axis, reader, loop)

        chunking = select_move_chunking(
            load.source_type,
            filling.source_offsets,
            filling.box,
            outer_level,
            consume_rate,
        )
        if chunking is not None and filling.is_chunk_aligned(
            chunking.axis, chunking.size
        ):
            move = filling.narrow_load()
            replace_move_by_chunk_loop(
                move, _chunk_insertion_point(move, loop), chunking.axis, chunking.size
            )


def _chunk_insertion_point(load: mem.DmaOp, loop: Nest) -> Operation:
    """
    Return the operation to insert chunks before: after other loads that the loop needs,
    before loads for later operations.
    """
    needed = _required_buffers(load, loop)
    op = load.next_op
    while op is not None and op is not loop:
        if isinstance(op, mem.DmaOp) and root_buffer_of(op.destination) not in needed:
            return op
        op = op.next_op
    return loop


def _required_buffers(load: mem.DmaOp, loop: Nest) -> set[SSAValue]:
    """
    Return the buffers that a loop accesses, directly or through moves between a load
    and the loop.
    """
    buffers = {
        root_buffer_of(value)
        for op in loop.walk()
        for value in op.operands
        if isinstance(value.type, MemRefType)
    }
    op = loop.prev_op
    while op is not None and op is not load:
        if isinstance(op, mem.DmaOp) and root_buffer_of(op.destination) in buffers:
            buffers.add(root_buffer_of(op.source))
        op = op.prev_op
    return buffers


def _chunkable_loads_before(loop: Nest, outer_level: Level) -> Iterator[mem.DmaOp]:
    """
    Yield the loads of constant boxes before a loop, last first, without computation in
    between and without other moves that access their destinations.
    """
    accessed: set[SSAValue] = set()
    op = loop.prev_op
    while op is not None and (
        is_wait_or_address_computation(op) or isinstance(op, mem.DmaOp)
    ):
        before = op.prev_op
        if isinstance(op, mem.DmaOp):
            if mem.level_of(op.destination.type) == outer_level.name:
                return
            ends = {root_buffer_of(op.source), root_buffer_of(op.destination)}
            is_load = mem.level_of(op.source.type) == outer_level.name
            if (
                is_load
                and root_buffer_of(op.destination) not in accessed
                and _is_load_at_constant_offsets(op)
            ):
                yield op
            accessed |= ends
        op = before


def _is_load_at_constant_offsets(load: mem.DmaOp) -> bool:
    """
    Return `True` if a load fills a box of an allocated buffer at constant offsets.
    """
    offsets = (*load.mixed_source_offsets, *load.mixed_destination_offsets)
    return (
        isinstance(root_buffer_of(load.destination).owner, mem.AllocOp)
        and all(isinstance(offset, int) for offset in offsets)
        and load.source_type.has_static_shape()
    )


def _single_reader_of(load: mem.DmaOp, loop: Nest) -> mem.DmaOp | None:
    """
    Return the move that reads a loaded buffer in a loop, if all other users come after
    the loop and the load is awaited before the loop; else None.
    """
    users = {
        each
        for each in users_of(root_buffer_of(load.destination))
        if each is not load and not isinstance(each, mem.WaitOp)
    }
    users_in_loop = {each for each in users if loop.is_ancestor(each)}
    if len(users_in_loop) != 1 or not all(
        _is_after_loop(each, loop) for each in users - users_in_loop
    ):
        return None
    (reader,) = users_in_loop
    if not isinstance(reader, mem.DmaOp):
        return None
    if root_buffer_of(reader.source) is not root_buffer_of(load.destination):
        return None
    waits = [use.operation for use in load.token.uses]
    is_awaited = all(
        isinstance(each, mem.WaitOp)
        and each.parent is loop.parent
        and each.is_before_in_block(loop)
        for each in waits
    )
    return reader if is_awaited else None


def _is_after_loop(op: Operation, loop: Nest) -> bool:
    """
    Return `True` if an operation, or its ancestor in the block of a loop, is after the
    loop.
    """
    ancestor: Operation | None = op
    while ancestor is not None and ancestor.parent is not loop.parent:
        ancestor = ancestor.parent_op()
    return ancestor is not None and loop.is_before_in_block(ancestor)


@dataclass(frozen=True)
class LoadedBox:
    """Load at constant offsets, clipped to the bounds of its source."""

    load: mem.DmaOp
    source_offsets: tuple[int, ...]
    """Offsets of the box in the source."""
    destination_offsets: tuple[int, ...]
    """Offsets of the box in the destination."""
    box: tuple[int, ...]

    @staticmethod
    def of(load: mem.DmaOp) -> LoadedBox:
        """
        Return the clipped box of a load with constant offsets. With a `fill`, nothing
        is clipped.
        """
        source_offsets, destination_offsets = (
            load.mixed_source_offsets,
            load.mixed_destination_offsets,
        )
        first = [each for each in source_offsets if isinstance(each, int)]
        second = [each for each in destination_offsets if isinstance(each, int)]
        clipped = [max(0, -each) if load.fill is None else 0 for each in first]
        return LoadedBox(
            load,
            tuple(map(sum, zip(first, clipped, strict=True))),
            tuple(map(sum, zip(second, clipped, strict=True))),
            tuple(
                size - clip for size, clip in zip(load.box_sizes, clipped, strict=True)
            ),
        )

    def is_chunk_aligned(self, axis: int, size: int) -> bool:
        """
        Return `True` if chunks of a size along an axis fill no more elements than the
        load.
        """
        end = self.destination_offsets[axis] + self.box[axis]
        bound = self.load.destination_type.get_shape()[axis]
        return self.box[axis] % size == 0 or end >= bound

    def narrow_load(self) -> mem.DmaOp:
        """Return the load, replaced by a load of the clipped box if they differ."""
        load = self.load
        if self.box == load.box_sizes:
            return load
        narrowed = mem.DmaOp(
            load.source,
            self.source_offsets,
            load.destination,
            self.destination_offsets,
            self.box,
            load.fill_value,
            load.clipped is not None,
        )
        narrowed.location = load.location
        replace_op(load, narrowed)
        return narrowed
