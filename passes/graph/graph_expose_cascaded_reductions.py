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

from tlf.dialects.call_invariants import call_invariant_values_of
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.reassociate.cascade_rewriting import (
    PASS_NAME,
    ReassociationChange,
    reassociate_operation,
)
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.reassociation_rules import KnownRules
from tlf.planner.fusion.producer_closure import (
    Part,
    operands_of,
    operations_with_reshapes,
    producer_closure_of,
)
from tlf.planner.settings.search_budgets import REASSOCIATION


def expose_cascades_of_block(block: Block, evaluator: ChangeEvaluator) -> None:
    """Reassociate the sums of a block where that saves time by the cost model."""
    rules = KnownRules()
    candidates = set(filter(rules.has_rule, block.ops))
    if not candidates:
        return
    groups = evaluator.groups_of_block(block)
    pending = [op for op in reversed(list(groups)) if op in candidates]
    while pending:
        group = groups[pending[0]]
        parts = producer_closure_of(
            group, operands_of(group), groups, through_views=True
        )
        if changed := _select_operations_to_reassociate(parts, group, evaluator, rules):
            invariant = call_invariant_values_of(block)
            for op in reversed(changed):
                reassociate_operation(op, invariant)
            rules.clear()
        visited = {pending[0], *changed}
        pending = [op for op in pending if op not in visited]


def _select_operations_to_reassociate(
    groups: Sequence[Part], group: Part, evaluator: ChangeEvaluator, rules: KnownRules
) -> list[Operation]:
    """
    Return the operations to rewrite, in program order: all operations with a rule, or
    those of `group` only, whichever saves more cycles; none if neither pays.
    """
    operations = operations_with_reshapes(groups)
    all_positions = [n for n, op in enumerate(operations) if rules.has_rule(op)]
    group_positions = [
        position for position in all_positions if operations[position] in group
    ]
    changes = [
        ReassociationChange(positions)
        for positions in dict.fromkeys((tuple(all_positions), tuple(group_positions)))
    ]
    saved = [evaluator.cycles_saved_by_change(groups, change) for change in changes]
    best, cycles = max(saved), evaluator.total_cycles_of_groups(groups) or 0
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
        if (
            trial := ChangeEvaluator.create_for_target(
                ctx, TargetSpec.read_from_module(op)
            )
        ) is None:
            return
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    expose_cascades_of_block(block, trial)
