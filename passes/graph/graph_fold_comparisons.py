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
from tlf.dialects.graph.splat_tensors import build_splat_tensor, splat_scalar_of
from tlf.dialects.types import tensor_type
from tlf.passes.graph.integer_bounds import BOOLEAN_RANGES, IntegerBounds
from tlf.passes.op_replacement import (
    dead_operations,
    is_in_planned_group,
    operations_between,
)

FOLDABLE_TO_CONSTANT = (graph.CompareOp, graph.AndOp, graph.OrOp, graph.NotOp)
"""Operations that fold to a constant if their result is known."""

FOLDABLE_TO_OPERAND = (graph.AndOp, graph.OrOp, graph.SelectOp)
"""Operations that fold to one of their operands if another operand is known."""


@dataclass(frozen=True)
class GraphFoldComparisonsPass(ModulePass):
    """
    Fold integer comparisons whose result is implied by the ranges of their operands,
    and the boolean operations and selects that depend on them. Examples: a test for
    negative indices that are never negative, and a bounds check of an axis that is
    never exceeded. Ranges follow from constants, iotas and the conditions of selects.
    """

    name = "graph-fold-comparisons"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        bounds, has_changed = IntegerBounds(), False
        for each in list(op.walk()):
            if not isinstance(
                each, FOLDABLE_TO_CONSTANT + FOLDABLE_TO_OPERAND
            ) or is_in_planned_group(each):
                continue
            before = each.prev_op
            if (known := _fold_by_integer_bounds(each, bounds)) is not None:
                for new in operations_between(before, each):
                    new.location = each.location
                each.results[0].replace_all_uses_with(known)
                Rewriter.erase_op(each)
                has_changed = True
        if has_changed:
            # Erase operations whose only users were folded.
            for each in dead_operations(op):
                Rewriter.erase_op(each)


def _fold_by_integer_bounds(op: Operation, bounds: IntegerBounds) -> SSAValue | None:
    """
    Return the value that an operation folds to, built before it if necessary; None if
    it does not fold.
    """
    builder = Builder(InsertPoint.before(op))
    result = op.results[0]
    if (
        isinstance(op, FOLDABLE_TO_CONSTANT)
        and (range_ := bounds.range_of_tensor(result)) in BOOLEAN_RANGES
    ):
        return build_splat_tensor(builder, range_[0], tensor_type(result))
    if isinstance(op, FOLDABLE_TO_OPERAND) and any(
        splat_scalar_of(e) is not None for e in op.operands
    ):
        simplification = op.find_best_simplification()
        return None if simplification is None else simplification.build(builder)
    return None
