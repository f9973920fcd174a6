"""
Pass `mem-chunk-stores`: splits stores into chunks that start as they are produced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.buffers.chunk_rates import ProduceRate, produce_rate_of
from tlf.analysis.buffers.mem_liveness import users_of_buffer as users_of
from tlf.analysis.buffers.memory_effects import root_buffer_of
from tlf.analysis.buffers.normalized_loops import Nest
from tlf.analysis.buffers.view_offsets import offset_between_views
from tlf.dialects import mem
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.pipelining.move_chunking import (
    is_wait_or_address_computation,
    replace_move_by_chunk_loop,
    select_move_chunking,
)


@dataclass(frozen=True)
class MemChunkStoresPass(ModulePass):
    """
    Split stores into chunks that start before the last chunk is produced.

    Applies to a whole buffer that is stored in the outermost level right after a loop,
    and written in the loop by a single move that advances along an axis. The store is
    replaced by up to 8 chunks along that axis, without shared bursts.
    """

    name = "mem-chunk-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        outermost = TargetSpec.read_from_module(op).outermost_level
        for nest in list(op.walk()):
            if isinstance(nest, scf.ForOp | scf.ParallelOp):
                for store in list(_whole_buffer_stores_after(nest, outermost)):
                    _chunk_store_after_loop(nest, store, outermost)


def _whole_buffer_stores_after(nest: Nest, outer_level: Level) -> Iterator[mem.DmaOp]:
    """
    Yield the stores of whole buffers after a loop, without computation in between.
    """
    op = nest.next_op
    while op is not None and (
        is_wait_or_address_computation(op) or isinstance(op, mem.DmaOp)
    ):
        if isinstance(op, mem.DmaOp):
            if mem.level_of(op.destination.type) != outer_level.name:
                return
            if _is_store_of_whole_buffer(op):
                yield op
        op = op.next_op


def _is_store_of_whole_buffer(store: mem.DmaOp) -> bool:
    """
    Return `True` if a store covers a whole buffer, and is awaited in its own block.
    """
    shape = tuple(store.source_type.get_shape())
    is_whole = store.box_sizes == shape and not any(store.mixed_source_offsets)
    waits = [use.operation for use in store.token.uses]
    return is_whole and all(
        isinstance(each, mem.WaitOp) and each.parent is store.parent for each in waits
    )


def _chunk_store_after_loop(nest: Nest, store: mem.DmaOp, outer_level: Level) -> None:
    """Split a store after a loop that produces its source into chunks."""
    buffer = root_buffer_of(store.source)
    users = (each for each in users_of(buffer) if not isinstance(each, mem.WaitOp))
    writers = set(users) - {store}
    if len(writers) != 1:
        return
    (writer,) = writers
    if (
        not isinstance(writer, mem.DmaOp)
        or root_buffer_of(writer.destination) is not buffer
    ):
        return
    if not nest.is_ancestor(writer):
        return

    def produce_rate(axis: int, starts: range) -> ProduceRate | None:
        if offset_between_views(writer.destination, store.source, axis) != 0:
            return None
        return produce_rate_of(starts, axis, writer, nest)

    offsets = store.mixed_destination_offsets
    chunking = select_move_chunking(
        store.destination_type, offsets, store.box_sizes, outer_level, produce_rate
    )
    if chunking is not None:
        replace_move_by_chunk_loop(
            store, store, chunking.axis, chunking.size, clips_partial_chunk=True
        )
