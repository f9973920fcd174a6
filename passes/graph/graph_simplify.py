"""Pass `graph-simplify`: replaces operations by cheaper equivalent ones."""

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
from tlf.dialects.located_rewriting import rewrite_module
from tlf.dialects.numerics import Numerics, numerics_of
from tlf.dialects.op_replacement import dead_operations, replace_by_program


@dataclass
class SimplifyPattern(RewritePattern):
    """Replace an operation by the first simplification that the numerics allow."""

    relaxed: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SimplificationInterface):
            return
        if (found := op.best_simplification(self.relaxed)) is not None:
            graph.add_remark(op, GraphSimplifyPass.name, "passed", found.text)
            replace_by_program(op, rewriter, lambda each: [found.build(each)])


def _remark_missed(op: Operation) -> None:
    """Emit a remark on a simplification that strict numerics forbid."""
    if not isinstance(op, SimplificationInterface):
        return
    if (found := op.best_simplification(is_relaxed=True)) is not None:
        text = f"{found.text} only where numerics are relaxed"
        graph.add_remark(op, GraphSimplifyPass.name, "missed", text)


def _erase_unused(module: ModuleOp) -> None:
    """Drop operations on whole tensors that nothing uses."""
    for op in dead_operations(module):
        if op.operands:
            text = "dropped, because nothing uses it"
            graph.add_remark(op, GraphSimplifyPass.name, "passed", text)
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
        _erase_unused(op)
        applier = GreedyRewritePatternApplier(
            [SimplifyPattern(relaxed)], dce_enabled=True
        )
        rewrite_module(op, applier)
        if not relaxed:
            for each in op.walk():
                _remark_missed(each)
