"""
Rewrite of the pass `graph-hoist-scales`: of `exp(a - log(sum(exp(a))))` as a quotient.
"""

from __future__ import annotations

from collections import Counter

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.located_rewriting import replace_op
from tlf.passes.graph.hoist_scalars.sink_scale import MAX_DEPTH
from tlf.passes.graph.pointwise import leaf_values_of
from tlf.passes.op_replacement import is_in_planned_group

SignedTerms = Counter[tuple[int, SSAValue]]
"""Multiset of summands, each with its sign."""


def rewrite_exp_of_log_sum_as_quotient(op: graph.ExpOp) -> graph.DivOp | None:
    """
    Rewrite `exp(a - log(l))` as `exp(a) / l`, where `l` is the sum of `exp(a)`, such as
    of a log-softmax or log-sum-exp. The maximum of the other terms of `a` must be among
    its subtracted terms, so that the sum is at least 1, or NaN. Return the quotient;
    None if the pattern does not match.
    """
    if is_in_planned_group(op):
        return None
    terms = _signed_summands_of(op.operand)
    for sign, value in terms:
        if sign > 0 or not isinstance(log := value.owner, graph.LogOp):
            continue
        if (total := _keepdims_sum_of(log.operand)) is None:
            continue
        exponential = total.operand.owner
        if (
            not isinstance(exponential, graph.ExpOp)
            or exponential.result.type != op.result.type
        ):
            continue
        inner_terms = _signed_summands_of(exponential.operand)
        if terms == inner_terms + SignedTerms(
            [(sign, value)]
        ) and _has_subtracted_maximum(inner_terms, total):
            quotient = graph.DivOp(exponential.result, total.result)
            quotient.location = op.location
            quotient.result.name_hint = op.result.name_hint
            Builder(InsertPoint.before(op)).insert(quotient)
            replace_op(op, [], [quotient.result])
            return quotient
    return None


def _signed_summands_of(
    value: SSAValue, sign: int = 1, depth: int = MAX_DEPTH
) -> SignedTerms:
    """
    Return the values that sums and differences nested up to `depth` add to `value`,
    each with its sign times `sign`.
    """
    op = value.owner
    if (
        not isinstance(op, graph.AddOp | graph.SubOp)
        or not depth
        or is_in_planned_group(op)
    ):
        return SignedTerms([(sign, value)])
    other = sign if isinstance(op, graph.AddOp) else -sign
    return _signed_summands_of(op.lhs, sign, depth - 1) + _signed_summands_of(
        op.rhs, other, depth - 1
    )


def _keepdims_sum_of(value: SSAValue) -> graph.ReduceOp | None:
    """Return the sum with kept dimensions that computes a value, or None."""
    op = value.owner
    if not isinstance(op, graph.ReduceOp) or op.reduce_kind is not ReduceKind.SUM:
        return None
    return None if op.init_value or not op.keepdims or is_in_planned_group(op) else op


def _has_subtracted_maximum(terms: SignedTerms, sum_op: graph.ReduceOp) -> bool:
    """
    Return `True` if a subtracted term is computed from the maximum of other terms.
    """
    return any(
        isinstance(op := leaf.owner, graph.ReduceOp)
        and op.reduce_kind is ReduceKind.MAX
        and op.axes == sum_op.axes
        and not _signed_summands_of(op.operand) - terms
        for sign, value in terms
        if sign < 0
        for leaf in leaf_values_of(value)
    )
