"""Writing sums so that they run in one loop with what they depend on."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from tlf.dialects.target import Target
from tlf.passes.fusion.leading import leading_to, read_by
from tlf.passes.invariants import invariant_values
from tlf.passes.sums.exposing import NAME, rewrite, rewrite_all
from tlf.passes.sums.rules import rule_for
from tlf.passes.sums.trial import Trial


def expose(block: Block, trial: Trial) -> None:
    """Change sums of a block where that takes less time."""
    if not any(map(rule_for, block.ops)):
        return
    groups = trial.groups(block)
    pending = [op for op in reversed(list(groups)) if rule_for(op) is not None]
    while pending:
        group = groups[pending[0]]
        parts = leading_to(group, read_by(group), groups)
        inside = {op for part in parts for op in part}
        changed = [op for op in pending if op in inside]
        if trial.pays(parts, rewrite_all):
            known = invariant_values(block)
            for op in reversed(changed):
                rewrite(op, known)
            pending = [op for op in pending if op not in changed]
        else:
            pending = pending[1:]


@dataclass(frozen=True)
class GraphExposeCascadesPass(ModulePass):
    """
    Split sums of several terms, some of them multiplied by results of other sums or
    maxima, into sums of each term, and let sums find what is gathered from products,
    where more runs in one loop then, and that takes less time by the model of the
    target.

    So the rows of a layer normalization are added up in the loop of the product that
    follows, the difference of two softmaxes becomes two attentions in one loop, and
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
