"""
Rewrite rule of `graph.group`, in the `graph` dialect: remove unused and duplicate
results.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.graph.group import GroupOp, YieldOp


class DeduplicateYieldsPattern(RewritePattern):
    """
    Remove unused and duplicate results of a group. Results that are block arguments are
    replaced by the operands, and a group without results is erased. Groups with a plan
    are not changed, because plans refer to results by index.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GroupOp, rewriter: PatternRewriter, /) -> None:
        used = _collect_values_used_outside(op)
        if op.plan is not None or len(used) == len(op.yielded_values):
            return
        yielded = op.yielded_values
        replacements = dict[SSAValue, SSAValue](
            zip(op.body.block.args, op.inputs, strict=True)
        )
        groups = [_rebuild_group_with_results(op, used)] if used else []
        for group in groups:
            replacements.update(zip(used, group.results, strict=True))
        rewriter.replace(op, groups, [replacements.get(value) for value in yielded])


def _collect_values_used_outside(op: GroupOp) -> tuple[SSAValue, ...]:
    """
    Return the operation results that a group yields to results with uses, each once.
    """
    pairs = zip(op.yielded_values, op.results, strict=True)
    used = (value for value, result in pairs if result.uses)
    return tuple(
        value for value in dict.fromkeys(used) if isinstance(value.owner, Operation)
    )


def _rebuild_group_with_results(op: GroupOp, results: Sequence[SSAValue]) -> GroupOp:
    """
    Create a detached group that yields only `results`, with the body taken from `op`.
    """
    body = op.detach_region(op.body)
    if isinstance(last := body.block.last_op, YieldOp):
        last.operands = results
    group = GroupOp(op.inputs, [value.type for value in results], body)
    group.attributes.update(op.attributes)
    group.location = op.location
    return group
