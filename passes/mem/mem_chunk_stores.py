"""The pass `mem-chunk-stores`: stores of which the first part is made early."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.analysis.buffers.counters import Nest
from tlf.analysis.buffers.mem_liveness import users as users_of
from tlf.analysis.buffers.paces import Delay, delay_of
from tlf.analysis.buffers.shifts import shift_along
from tlf.analysis.buffers.touches import root_of
from tlf.dialects import mem
from tlf.dialects.target import Level, Target
from tlf.passes.mem.pipelining.chunks import cut_of, in_chunks, is_quiet


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
        far = Target.of(op).outermost
        for nest in list(op.walk()):
            if isinstance(nest, scf.ForOp | scf.ParallelOp):
                for store in list(_stores(nest, far)):
                    _behind(nest, store, far)


def _stores(nest: Nest, far: Level) -> Iterator[mem.DmaOp]:
    """The stores of whole buffers behind a loop, with no work between."""
    op = nest.next_op
    while op is not None and (is_quiet(op) or isinstance(op, mem.DmaOp)):
        if isinstance(op, mem.DmaOp):
            if mem.level_of(op.destination.type) != far.name:
                return
            if _is_whole(op):
                yield op
        op = op.next_op


def _is_whole(store: mem.DmaOp) -> bool:
    """
    Return `True` if a store covers a whole buffer, and is waited for in its own block.
    """
    shape = tuple(store.source_type.get_shape())
    is_all = store.box == shape and not any(store.mixed_source_offsets)
    waits = [use.operation for use in store.token.uses]
    return is_all and all(
        isinstance(each, mem.WaitOp) and each.parent is store.parent for each in waits
    )


def _behind(nest: Nest, store: mem.DmaOp, far: Level) -> None:
    """Cut a store behind a loop that makes what it stores."""
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

    def delay(axis: int, starts: range) -> Delay | None:
        if shift_along(maker.destination, store.source, axis) != 0:
            return None
        return delay_of(starts, axis, maker, nest)

    offsets = store.mixed_destination_offsets
    cut = cut_of(store.destination_type, offsets, store.box, far, delay)
    if cut is not None:
        in_chunks(store, store, cut.axis, cut.size, clipped=True)
