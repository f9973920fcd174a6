"""Writing sums so that they run in one loop with what they depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.dialects.invariants import invariant_values
from tlf.dialects.target import Target
from tlf.passes.graph.reassociate.exposing import NAME, Rewriting, rewrite
from tlf.passes.graph.reassociate.rules import rule_for
from tlf.passes.graph.reassociate.trial import Trial
from tlf.planner.fusion.leading import Part, leading_to, operations_of, read_by

WORTH = 0.005
"""The part of the time that a change has to save: what it prepares takes memory."""


def expose(block: Block, trial: Trial) -> None:
    """Change sums of a block where that takes less time."""
    if not any(map(rule_for, block.ops)):
        return
    groups = trial.groups(block)
    pending = [op for op in reversed(list(groups)) if rule_for(op) is not None]
    while pending:
        group = groups[pending[0]]
        parts = leading_to(group, read_by(group), groups, through_views=True)
        if changed := _best(parts, group, trial):
            known = invariant_values(block)
            for op in reversed(changed):
                rewrite(op, known)
        done = {pending[0], *changed}
        pending = [op for op in pending if op not in done]


def _best(parts: Sequence[Part], group: Part, trial: Trial) -> list[Operation]:
    """
    Return the operations of some parts to rewrite, in program order: all that there is
    a rule for, or those of one group alone, whichever saves more; none if neither is
    worth it.
    """
    operations = operations_of(parts)
    every = [n for n, op in enumerate(operations) if rule_for(op) is not None]
    own = [place for place in every if operations[place] in group]
    changes = [
        Rewriting(places) for places in dict.fromkeys((tuple(every), tuple(own)))
    ]
    saved = [trial.saved(parts, change) for change in changes]
    best, time = max(saved), trial.cycles(parts) or 0
    if best <= WORTH * time:
        return []
    return changes[saved.index(best)].of(operations)


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

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not Target.is_known(op):
            return
        if (trial := Trial.of(ctx, Target.of(op))) is None:
            return
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    expose(block, trial)
