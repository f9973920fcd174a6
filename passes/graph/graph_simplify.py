"""Computing whole tensors in simpler ways."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    RewritePattern,
)
from xdsl.rewriter import Rewriter

from tlf.dialects import graph
from tlf.dialects.interfaces import SimplificationInterface
from tlf.dialects.numerics import Numerics, numerics_of
from tlf.dialects.replacement import replace_by_program, unused_operations
from tlf.dialects.rewriting import rewrite_module


@dataclass
class SimplifyPattern(RewritePattern):
    """
    Replace an operation by the first of its simpler forms that is allowed.
    """

    relaxed: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SimplificationInterface):
            return
        if (found := op.simplest(self.relaxed)) is not None:
            graph.remark(op, GraphSimplifyPass.name, "passed", found.text)
            replace_by_program(op, rewriter, lambda each: [found.build(each)])


def _note_missed(op: Operation) -> None:
    """Note which simpler form of an operation strict numerics forbid."""
    if not isinstance(op, SimplificationInterface):
        return
    if (found := op.simplest(is_relaxed=True)) is not None:
        text = f"{found.text} only where numerics are relaxed"
        graph.remark(op, GraphSimplifyPass.name, "missed", text)


def _drop_unused(module: ModuleOp) -> None:
    """Drop operations on whole tensors that nothing uses."""
    for op in unused_operations(module):
        if op.operands:
            text = "dropped, because nothing uses it"
            graph.remark(op, GraphSimplifyPass.name, "passed", text)
        Rewriter.erase_op(op)


@dataclass(frozen=True)
class GraphSimplifyPass(ModulePass):
    """
    Compute what operations compute in simpler ways: dropout goes away, quotients by
    powers of two become products, squares one product, casts of casts one cast, and
    operations of numbers that change nothing go away, and so does what nothing uses.
    Results keep every bit.

    Where numerics are relaxed, by the option or the module's attribute `tlf.numerics`,
    results may be rounded otherwise: other quotients become products, powers become
    products and roots, numbers are combined first, and NaN, infinities and the sign of
    zero need not stay.

    Functions get remarks about what was done, and what strict numerics left alone.
    Operations of groups stay, and so do tiles.
    """

    name = "graph-simplify"

    relaxed: bool = False
    """True if results may be rounded differently."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        given = numerics_of(op, self.name)
        relaxed = self.relaxed or given is Numerics.RELAXED
        _drop_unused(op)
        applier = GreedyRewritePatternApplier(
            [SimplifyPattern(relaxed)], dce_enabled=True
        )
        rewrite_module(op, applier)
        if not relaxed:
            for each in op.walk():
                _note_missed(each)
