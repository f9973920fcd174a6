"""
Pass `graph-expose-cascaded-reductions`: reassociates sums to fuse them as cascades.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects.call_invariants import invariant_values
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.reassociate.cascade_rewriting import (
    PASS_NAME,
    OperationRewriting,
    rewrite_operation,
)
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.reassociation_rules import rule_for
from tlf.planner.fusion.producer_closure import (
    Part,
    operands_of,
    operations_in_order,
    producer_closure_of,
)
from tlf.planner.settings.search_budgets import REASSOCIATION


def expose_cascades(block: Block, trial: ChangeEvaluator) -> None:
    """Reassociate the sums of a block where that saves time by the cost model."""
    if not any(map(rule_for, block.ops)):
        return
    groups = trial.groups_of_block(block)
    pending = [op for op in reversed(list(groups)) if rule_for(op) is not None]
    while pending:
        group = groups[pending[0]]
        parts = producer_closure_of(
            group, operands_of(group), groups, through_views=True
        )
        if changed := _select_operations(parts, group, trial):
            invariant = invariant_values(block)
            for op in reversed(changed):
                rewrite_operation(op, invariant)
        visited = {pending[0], *changed}
        pending = [op for op in pending if op not in visited]


def _select_operations(
    parts: Sequence[Part], group: Part, trial: ChangeEvaluator
) -> list[Operation]:
    """
    Return the operations to rewrite, in program order: all operations with a rule, or
    those of `group` only, whichever saves more cycles; none if neither pays.
    """
    operations = operations_in_order(parts)
    all_positions = [n for n, op in enumerate(operations) if rule_for(op) is not None]
    group_positions = [
        position for position in all_positions if operations[position] in group
    ]
    changes = [
        OperationRewriting(positions)
        for positions in dict.fromkeys((tuple(all_positions), tuple(group_positions)))
    ]
    saved = [trial.saved_cycles(parts, change) for change in changes]
    best, cycles = max(saved), trial.cycles_of(parts) or 0
    if best <= REASSOCIATION.min_gain * cycles:
        return []
    return changes[saved.index(best)].select_operations(operations)


@dataclass(frozen=True)
class GraphExposeCascadedReductionsPass(ModulePass):
    """
    Reassociate sums where the cost model of the target estimates fewer cycles, such as
    where more operations then run in one loop.

    Sums of matrix products become products of sums, sums of several terms (some
    multiplied by results of other sums or maxima) are split into a sum per term, and
    elements gathered from products become sums.

    Examples: the rows of a layer normalization are summed in the loop of the following
    product, the difference of two softmaxes becomes two attentions in one loop, a mean
    or average pooling of a linear layer is applied to the input of the layer, and
    variances are computed in one pass, from the differences to the first element of
    each row. Rounding changes. Without a target, or without a cost model of the target,
    the pass does nothing.
    """

    name = PASS_NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        if (trial := ChangeEvaluator.of(ctx, TargetSpec.of(op))) is None:
            return
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    expose_cascades(block, trial)
