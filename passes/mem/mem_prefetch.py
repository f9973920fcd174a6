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
            for function in _defined_functions_of(op):
                _prefetch_loads(function, inner, outer)


def _defined_functions_of(module: ModuleOp) -> Iterator[func.FuncOp]:
    for op in module.ops:
        if isinstance(op, func.FuncOp) and not op.is_declaration:
            yield op


def _prefetch_loads(
    function: func.FuncOp, inner_level: Level, outer_level: Level
) -> None:
    """
    Hoist the loads of a function between two levels as early as capacity allows, or
    less far if offset assignment fails.
    """
    block = function.body.block
    sequence = LoadSequence.collect_from_block(
        block, inner_level.name, outer_level.name
    )
    if not sequence.loads:
        return
    for positions in LevelBuffers.collect_from_function(
        function, inner_level
    ).target_positions_of_loads(sequence):
        _reorder_operations_of_block(block, sequence.order_with_moved_loads(positions))
        if LevelBuffers.collect_from_function(function, inner_level).has_valid_offsets:
            return
    _reorder_operations_of_block(block, sequence.ops)


def _reorder_operations_of_block(block: Block, ops: Sequence[Operation]) -> None:
    """Reorder the operations of a block."""
    for op in ops:
        op.detach()
    block.add_ops(ops)
