"""Comparisons of whole numbers whose results are known when compiling."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.splats import filled, splat_of
from tlf.dialects.replacement import between, is_planned, unused_operations
from tlf.dialects.types import tensor_type
from tlf.passes.graph.integer_bounds import ALWAYS, IntegerBounds

DECIDED = (graph.CompareOp, graph.AndOp, graph.OrOp, graph.NotOp)
"""Operations that become a constant where their result is known."""

DECIDING = (graph.AndOp, graph.OrOp, graph.SelectOp)
"""Operations that become one of their operands where another one is known."""


@dataclass(frozen=True)
class GraphFoldComparisonsPass(ModulePass):
    """
    Leave out comparisons of whole numbers that always have the same result, and what
    would be chosen by the other one: whether an index is negative that is chosen where
    it is not, or inside of an axis that nothing beyond is computed for. Constants,
    iotas and the conditions of choices tell how large numbers get.
    """

    name = "graph-fold-comparisons"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bounds, found = IntegerBounds(), False
        for each in list(op.walk()):
            if not isinstance(each, DECIDED + DECIDING) or is_planned(each):
                continue
            before = each.prev_op
            if (known := _known(each, bounds)) is not None:
                for new in between(before, each):
                    new.location = each.location
                each.results[0].replace_all_uses_with(known)
                Rewriter.erase_op(each)
                found = True
        if found:
            # What only led to what was left out goes, too.
            for each in unused_operations(op):
                Rewriter.erase_op(each)


def _known(op: Operation, bounds: IntegerBounds) -> SSAValue | None:
    """The value that an operation always has, built before it if need be."""
    builder = Builder(InsertPoint.before(op))
    result = op.results[0]
    if isinstance(op, DECIDED) and (found := bounds.of(result)) in ALWAYS:
        return filled(builder, found[0], tensor_type(result))
    if isinstance(op, DECIDING) and any(splat_of(e) is not None for e in op.operands):
        known = op.simplest()
        return None if known is None else known.build(builder)
    return None
