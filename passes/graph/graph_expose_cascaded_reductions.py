"""
Pass `graph-expose-cascaded-reductions`: reassociates sums that then fuse as a cascade.
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

MIN_GAIN = 0.005
"""
Minimum fraction of the time that a change has to save: what it prepares takes memory.
"""


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
            known = invariant_values(block)
            for op in reversed(changed):
                rewrite_operation(op, known)
        done = {pending[0], *changed}
        pending = [op for op in pending if op not in done]


def _select_operations(
    parts: Sequence[Part], group: Part, trial: ChangeEvaluator
) -> list[Operation]:
    """
    Return the operations to rewrite, in program order: all that have a rule, or those
    of one group alone, whichever saves more; none if neither pays.
    """
    operations = operations_in_order(parts)
    every = [n for n, op in enumerate(operations) if rule_for(op) is not None]
    own = [place for place in every if operations[place] in group]
    changes = [
        OperationRewriting(places)
        for places in dict.fromkeys((tuple(every), tuple(own)))
    ]
    saved = [trial.saved_cycles(parts, change) for change in changes]
    best, time = max(saved), trial.cycles_of(parts) or 0
    if best <= MIN_GAIN * time:
        return []
    return changes[saved.index(best)].select_operations(operations)


@dataclass(frozen=True)
class GraphExposeCascadedReductionsPass(ModulePass):
    """
    Sum the factors of products of matrices instead of the products, split sums of
    several terms, some of them multiplied by results of other sums or maxima, into sums
    of each term, and let sums find what is gathered from products, where that takes
    less time by the model of the target, such as where more runs in one loop then.

    So the rows of a layer normalization are added up in the loop of the product that
    follows, the difference of two softmaxes becomes two attentions in one loop, a mean
    or average pooling behind a linear layer is one of what the layer reads, and
    variances are computed in one pass, from the distances from where rows begin. Sums
    are rounded at other points by this. Without a target, or without a model of its
    time, nothing happens.
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
