"""
Pass `mem-fold-fills`: folds fills with neutral elements into reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import mem
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.function_calls import defined_functions_of
from tlf.planner.folding.fill_folding import select_overwritten_fills
from tlf.planner.folding.mem_fold_operations import collect_fold_operations


@dataclass(frozen=True)
class MemFoldFillsPass(ModulePass):
    """
    Fold fills into contractions and reductions, which overwrite the buffer instead.

    A fill with the neutral element is erased if the next access to the buffer is by a
    contraction or reduction into all of it. If loops around the reduction do not
    contain the fill, the reduction overwrites in their first iteration only: where the
    sum of their induction variables, minus their lower bounds, is 0. These loops must
    have constant bounds and at least one iteration. A fill is kept if another
    operation, such as a move or a mask, may access the buffer first, or if the buffer
    is not an allocation.
    """

    name = "mem-fold-fills"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in defined_functions_of(op):
            _fold_fills_of_block(function.body.block)


def _fold_fills_of_block(block: Block) -> None:
    """Erase the fills that accumulating operations replace by overwriting."""
    for folded in select_overwritten_fills(collect_fold_operations(block)):
        assert isinstance(folded.accumulation, mem.AccumulatingOp)
        _let_overwrite_in_first_iteration(folded.accumulation, folded.loops)
        for fill in folded.fills:
            Rewriter.erase_op(fill)


def _let_overwrite_in_first_iteration(
    op: mem.AccumulatingOp, loops: Sequence[Operation]
) -> None:
    """Let an operation overwrite in the first iteration of a loop nest."""
    builder = Builder(InsertPoint.before(op))
    total: SSAValue | None = None
    for loop in loops:
        assert isinstance(loop, scf.ForOp)
        distance: SSAValue = loop.body.block.args[0]
        if constant_value_of(loop.lb) != 0:
            distance = builder.insert(arith.SubiOp(distance, loop.lb)).result
        if total is not None:
            distance = builder.insert(arith.AddiOp(total, distance)).result
        total = distance
    op.make_overwriting(total)
