"""Comparisons of whole numbers whose results are known when compiling."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from tlf.dialects import graph
from tlf.dialects.graph.splats import filled, splat_of
from tlf.dialects.interfaces import Simplification, SimplificationInterface
from tlf.dialects.replacement import between, is_planned
from tlf.dialects.types import tensor_type
from tlf.passes.graph.integer_bounds import ALWAYS, IntegerBounds

DECIDED = (graph.CompareOp, graph.AndOp, graph.OrOp, graph.NotOp)
"""What becomes a constant where its result is known."""

DECIDING = (graph.AndOp, graph.OrOp, graph.SelectOp)
"""What becomes one of its operands where another one is known."""


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
            _drop_unused(op)


def _known(op: Operation, bounds: IntegerBounds) -> SSAValue | None:
    """The value that an operation always has, built before it if need be."""
    builder = Builder(InsertPoint.before(op))
    result = op.results[0]
    if isinstance(op, DECIDED) and (found := bounds.of(result)) in ALWAYS:
        return filled(builder, found[0], tensor_type(result))
    if isinstance(op, DECIDING) and any(splat_of(e) is not None for e in op.operands):
        known = _simpler(op)
        return None if known is None else known.build(builder)
    return None


def _simpler(op: Operation) -> Simplification | None:
    """The simplest form of an operation that changes no bit."""
    if not isinstance(op, SimplificationInterface):
        return None
    return next((each for each in op.simplifications() if each.exact), None)


def _drop_unused(module: ModuleOp) -> None:
    """Drop what only led to what was left out."""
    for op in reversed(list(module.walk())):
        if op.name.startswith("graph.") and is_trivially_dead(op):
            Rewriter.erase_op(op)
