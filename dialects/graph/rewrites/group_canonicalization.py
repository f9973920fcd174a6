"""The pattern that brings groups to their simplest form."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import (
    PatternRewriter,
    RewritePattern,
    op_type_rewrite_pattern,
)

from tlf.dialects.graph.group import GroupOp, YieldOp


class YieldOncePattern(RewritePattern):
    """
    Let a group yield only what it computes, what is used, and that once: an argument
    that it yields is the operand outside, and a group that yields nothing goes. A plan
    tells of the results by their numbers, so a group that has one stays.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GroupOp, rewriter: PatternRewriter, /) -> None:
        kept = _kept(op)
        if op.plan is not None or len(kept) == len(op.yielded):
            return
        yielded = op.yielded
        known = dict[SSAValue, SSAValue](
            zip(op.body.block.args, op.inputs, strict=True)
        )
        made = [_with_results(op, kept)] if kept else []
        for group in made:
            known.update(zip(kept, group.results, strict=True))
        rewriter.replace(op, made, [known.get(value) for value in yielded])


def _kept(op: GroupOp) -> tuple[SSAValue, ...]:
    """The values of the body that are used outside, each once."""
    pairs = zip(op.yielded, op.results, strict=True)
    used = (value for value, result in pairs if result.uses)
    return tuple(
        value for value in dict.fromkeys(used) if isinstance(value.owner, Operation)
    )


def _with_results(op: GroupOp, kept: Sequence[SSAValue]) -> GroupOp:
    """The group as one that yields some of its values; its body is taken over."""
    body = op.detach_region(op.body)
    if isinstance(last := body.block.last_op, YieldOp):
        last.operands = kept
    group = GroupOp(op.inputs, [value.type for value in kept], body)
    group.attributes.update(op.attributes)
    group.location = op.location
    return group
