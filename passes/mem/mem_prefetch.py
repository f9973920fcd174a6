"""Pass `mem-prefetch`: hoists loads outside of loops above earlier work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects.target import TargetSpec
from tlf.planner.prefetching.early_load_selection import select_early_loads
from tlf.planner.prefetching.mem_load_sequence import MemLoadSequence


@dataclass(frozen=True)
class MemPrefetchPass(ModulePass):
    """
    Hoist loads in the outermost block of functions above earlier operations and loops.

    A load is hoisted across loops and waits to directly after the previous load from
    the same level, as far as its buffer fits in the meantime; its wait is not moved.
    Loads keep their order, so that no load delays an earlier one. Loads are not hoisted
    above loops that load from the same level.
    """

    name = "mem-prefetch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        levels = list(TargetSpec.read_from_module(op).levels.values())
        for inner, outer in pairwise(levels):
            for each in op.ops:
                if isinstance(each, func.FuncOp) and not each.is_declaration:
                    block = each.body.block
                    prefetch_loads(MemLoadSequence(block, inner, outer))


def prefetch_loads(sequence: MemLoadSequence) -> None:
    """Hoist the loads of a block between two levels that start early."""
    if targets := select_early_loads(sequence, sequence.inner_level.capacity):
        order = sequence.order_with_early_loads(targets)
        _reorder_operations_of_block(sequence.block, order)


def _reorder_operations_of_block(block: Block, ops: Sequence[Operation]) -> None:
    """Reorder the operations of a block."""
    for op in ops:
        op.detach()
    block.add_ops(ops)
