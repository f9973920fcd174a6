"""
Pass `mem-chunk-stores`: splits stores into chunks that start while others are produced.
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
from tlf.analysis.buffers.memory_effects import root_of
from tlf.analysis.buffers.normalized_loops import Nest
from tlf.analysis.buffers.view_offsets import offset_along
from tlf.dialects import mem
from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.pipelining.move_chunking import (
    chunk_move,
    is_wait_or_address,
    select_move_chunking,
)


@dataclass(frozen=True)
class MemChunkStoresPass(ModulePass):
    """
    Cut stores into chunks of which the first ones are made before the last ones.

    A whole buffer that is stored in the outermost level right behind a loop, and
    written in it by one move that gets further along an axis, is stored in up to 8
    chunks along that axis, none of which shares a burst with another.
    """

    name = "mem-chunk-stores"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        far = TargetSpec.of(op).outermost
        for nest in list(op.walk()):
            if isinstance(nest, scf.ForOp | scf.ParallelOp):
                for store in list(_stores_after(nest, far)):
                    _chunk_store(nest, store, far)


def _stores_after(nest: Nest, far: Level) -> Iterator[mem.DmaOp]:
    """Yield the stores of whole buffers behind a loop, with no computation between."""
    op = nest.next_op
    while op is not None and (is_wait_or_address(op) or isinstance(op, mem.DmaOp)):
        if isinstance(op, mem.DmaOp):
            if mem.level_of(op.destination.type) != far.name:
                return
            if _is_whole_buffer(op):
                yield op
        op = op.next_op


def _is_whole_buffer(store: mem.DmaOp) -> bool:
    """
    Return `True` if a store covers a whole buffer, and is waited for in its own block.
    """
    shape = tuple(store.source_type.get_shape())
    is_all = store.box == shape and not any(store.mixed_source_offsets)
    waits = [use.operation for use in store.token.uses]
    return is_all and all(
        isinstance(each, mem.WaitOp) and each.parent is store.parent for each in waits
    )


def _chunk_store(nest: Nest, store: mem.DmaOp, far: Level) -> None:
    """Chunk a store behind a loop that produces its source."""
    buffer = root_of(store.source)
    users = (each for each in users_of(buffer) if not isinstance(each, mem.WaitOp))
    makers = set(users) - {store}
    if len(makers) != 1:
        return
    (maker,) = makers
    if not isinstance(maker, mem.DmaOp) or root_of(maker.destination) is not buffer:
        return
    if not nest.is_ancestor(maker):
        return

    def produce_rate(axis: int, starts: range) -> ProduceRate | None:
        if offset_along(maker.destination, store.source, axis) != 0:
            return None
        return produce_rate_of(starts, axis, maker, nest)

    offsets = store.mixed_destination_offsets
    cut = select_move_chunking(
        store.destination_type, offsets, store.box, far, produce_rate
    )
    if cut is not None:
        chunk_move(store, store, cut.axis, cut.size, clipped=True)
