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
from tlf.dialects.numerics_attribute import Numerics, numerics_of
from tlf.passes.op_replacement import dead_operations, replace_by_built_values


@dataclass
class SimplifyPattern(RewritePattern):
    """Replace an operation by its best simplification that the numerics allow."""

    relaxed: bool

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, SimplificationInterface):
            return
        if (simplification := op.find_best_simplification(self.relaxed)) is not None:
            graph.add_remark(
                op, GraphSimplifyPass.name, "passed", simplification.equation
            )
            replace_by_built_values(
                op, rewriter, lambda each: [simplification.build(each)]
            )


def _remark_forbidden_simplification(op: Operation) -> None:
    """Emit a remark on a simplification that strict numerics forbid."""
    if not isinstance(op, SimplificationInterface):
        return
    if (simplification := op.find_best_simplification(is_relaxed=True)) is not None:
        text = f"{simplification.equation} only where numerics are relaxed"
        graph.add_remark(op, GraphSimplifyPass.name, "missed", text)


def _erase_unused_tensor_operations(module: ModuleOp) -> None:
    """
    Erase the dead graph operations of a module, with remarks if they have operands.
    """
    for op in dead_operations(module):
        if op.operands:
            text = "dropped, because nothing uses it"
            graph.add_remark(op, GraphSimplifyPass.name, "passed", text)
        Rewriter.erase_op(op)


@dataclass(frozen=True)
class GraphSimplifyPass(ModulePass):
    """
    Replace operations by cheaper equivalent ones: dropout is removed, division by
    powers of two becomes multiplication, squares become one product, casts of casts
    become one cast, and identities and unused operations are erased. Results are
    bitwise equal.

    With relaxed numerics, by the option or the module's attribute `tlf.numerics`,
    rounding may change: division by other constants becomes multiplication, powers
    become products and roots, constants are combined, and NaN, infinities and the sign
    of zero need not be preserved.

    Remarks name the replaced operations, and simplifications that strict numerics
    forbid. Operations of groups and tiles are not changed.
    """

    name = "graph-simplify"

    relaxed: bool = False
    """True if results may be rounded differently."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        numerics = numerics_of(op, self.name)
        relaxed = self.relaxed or numerics is Numerics.RELAXED
        _erase_unused_tensor_operations(op)
        applier = GreedyRewritePatternApplier(
            [SimplifyPattern(relaxed)], dce_enabled=True
        )
        rewrite_module(op, applier)
        if not relaxed:
            for each in op.walk():
                _remark_forbidden_simplification(each)
