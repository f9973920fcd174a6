"""The pass `mem-prefetch`: loads that start while earlier work goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects.target import Level, Target
from tlf.passes.mem.prefetching.line import Line
from tlf.passes.mem.prefetching.room import Places


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
        levels = list(Target.of(op).levels.values())
        for near, far in pairwise(levels):
            for function in _functions(op):
                _prefetch(function, near, far)


def _functions(module: ModuleOp) -> Iterator[func.FuncOp]:
    for op in module.ops:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            yield op


def _prefetch(function: func.FuncOp, near: Level, far: Level) -> None:
    """
    Start the loads of a function between two levels as early as there is room, or a
    little later if no places are found for all buffers then.
    """
    block = function.body.block
    line = Line.of(block, near.name, far.name)
    if not line.loads:
        return
    for goals in Places.of(function, near).goals(line):
        _put(block, line.ordered(goals))
        if Places.of(function, near).are_found:
            return
    _put(block, line.ops)


def _put(block: Block, ops: Sequence[Operation]) -> None:
    """Put the operations of a block in an order."""
    for op in ops:
        op.detach()
    block.add_ops(ops)
