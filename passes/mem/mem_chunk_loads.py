"""
Pass `mem-chunk-loads`: splits loads into chunks, so that readers can start early.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.target import TargetSpec
from tlf.passes.mem.pipelining.move_chunking import replace_moves_by_chunk_loops
from tlf.planner.chunking.load_chunking import select_chunked_loads
from tlf.planner.chunking.mem_block import MemBlock


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
        for function in defined_functions_of(op):
            block = MemBlock.of(function.body.block)
            chunked = select_chunked_loads(block, outermost)
            replace_moves_by_chunk_loops(block, chunked)
