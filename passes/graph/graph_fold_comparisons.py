"""Pass `graph-fold-comparisons`: folds comparisons decided by integer ranges."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.graph.splat_tensors import build_splat, splat_of
from tlf.dialects.op_replacement import (
    dead_operations,
    is_in_planned_group,
    operations_between,
)
from tlf.dialects.types import tensor_type
from tlf.passes.graph.integer_bounds import BOOLEAN_RANGES, IntegerBounds

FOLDABLE_TO_CONSTANT = (graph.CompareOp, graph.AndOp, graph.OrOp, graph.NotOp)
"""Operations that become a constant where their result is known."""

FOLDABLE_TO_OPERAND = (graph.AndOp, graph.OrOp, graph.SelectOp)
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
            if not isinstance(
                each, FOLDABLE_TO_CONSTANT + FOLDABLE_TO_OPERAND
            ) or is_in_planned_group(each):
                continue
            before = each.prev_op
            if (known := _fold_to_value(each, bounds)) is not None:
                for new in operations_between(before, each):
                    new.location = each.location
                each.results[0].replace_all_uses_with(known)
                Rewriter.erase_op(each)
                found = True
        if found:
            # What only led to what was left out goes, too.
            for each in dead_operations(op):
                Rewriter.erase_op(each)


def _fold_to_value(op: Operation, bounds: IntegerBounds) -> SSAValue | None:
    """
    Return the value that an operation folds to, built before it if need be; else None.
    """
    builder = Builder(InsertPoint.before(op))
    result = op.results[0]
    if (
        isinstance(op, FOLDABLE_TO_CONSTANT)
        and (found := bounds.of(result)) in BOOLEAN_RANGES
    ):
        return build_splat(builder, found[0], tensor_type(result))
    if isinstance(op, FOLDABLE_TO_OPERAND) and any(
        splat_of(e) is not None for e in op.operands
    ):
        known = op.best_simplification()
        return None if known is None else known.build(builder)
    return None
