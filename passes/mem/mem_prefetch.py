"""Pass `mem-prefetch`: hoists loads outside of loops above earlier work."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects.target import Level, TargetSpec
from tlf.passes.mem.prefetching.load_sequence import LoadSequence
from tlf.passes.mem.prefetching.prefetch_capacity import LevelBuffers


@dataclass(frozen=True)
class MemPrefetchPass(ModulePass):
    """
    Start loads ahead of the work that goes before them.

    A load that stands in no loop goes up to just behind the load before it from the
    same level, as far as its buffer has room meanwhile, over loops and waits, and what
    waits for it stays. Loads keep their order, so none is held up by another one that
    was behind it. They do not pass loops that load from the same level themselves.
    """

    name = "mem-prefetch"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        levels = list(TargetSpec.of(op).levels.values())
        for near, far in pairwise(levels):
            for function in _functions_in(op):
                _prefetch_loads(function, near, far)


def _functions_in(module: ModuleOp) -> Iterator[func.FuncOp]:
    for op in module.ops:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            yield op


def _prefetch_loads(function: func.FuncOp, near: Level, far: Level) -> None:
    """
    Hoist the loads of a function between two levels as early as capacity allows, or a
    little later if offset assignment fails then.
    """
    block = function.body.block
    line = LoadSequence.of(block, near.name, far.name)
    if not line.loads:
        return
    for goals in LevelBuffers.of(function, near).target_positions(line):
        _reorder_block(block, line.reorder_operations(goals))
        if LevelBuffers.of(function, near).has_valid_offsets:
            return
    _reorder_block(block, line.ops)


def _reorder_block(block: Block, ops: Sequence[Operation]) -> None:
    """Reorder the operations of a block."""
    for op in ops:
        op.detach()
    block.add_ops(ops)
