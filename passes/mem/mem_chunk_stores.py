"""
Pass `mem-chunk-stores`: splits stores into chunks that start as they are produced.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.target import TargetSpec
from tlf.passes.mem.pipelining.move_chunking import replace_moves_by_chunk_loops
from tlf.planner.chunking.mem_block import MemBlock
from tlf.planner.chunking.store_chunking import select_chunked_stores


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
        blocks = [
            block
            for each in op.walk()
            for region in each.regions
            for block in region.blocks
        ]
        for block in map(MemBlock.of, blocks):
            chunked = select_chunked_stores(block, outermost)
            replace_moves_by_chunk_loops(block, chunked)
