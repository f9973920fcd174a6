"""Exponentials of differences from logarithms of sums, which are quotients."""

from __future__ import annotations

from collections import Counter

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.replacement import is_planned
from tlf.dialects.rewriting import replace_op
from tlf.passes.graph.hoist_scalars.absorbed import DEPTH
from tlf.passes.graph.pointwise import leaves

Terms = Counter[tuple[int, SSAValue]]
"""Summands, with signs."""


def take_logarithm(op: graph.ExpOp) -> graph.DivOp | None:
    """
    Divide exponentials of `a` by their sum `l` where those of `a - log(l)` are needed,
    as of what a log-softmax or a logarithm of a sum of exponentials comes to. Something
    in `a` has to be a distance from its maximum, so that the sum is at least 1, or no
    number. Returns the quotient.
    """
    if is_planned(op):
        return None
    terms = _terms(op.operand)
    for sign, value in terms:
        if sign > 0 or not isinstance(log := value.owner, graph.LogOp):
            continue
        if (total := _sum_of(log.operand)) is None:
            continue
        found = total.operand.owner
        if not isinstance(found, graph.ExpOp) or found.result.type != op.result.type:
            continue
        inside = _terms(found.operand)
        if terms == inside + Terms([(sign, value)]) and _is_limited(inside, total):
            made = graph.DivOp(found.result, total.result)
            made.location = op.location
            made.result.name_hint = op.result.name_hint
            Builder(InsertPoint.before(op)).insert(made)
            replace_op(op, [], [made.result])
            return made
    return None


def _terms(value: SSAValue, sign: int = 1, depth: int = DEPTH) -> Terms:
    """Return the summands of a value."""
    op = value.owner
    if not isinstance(op, graph.AddOp | graph.SubOp) or not depth or is_planned(op):
        return Terms([(sign, value)])
    other = sign if isinstance(op, graph.AddOp) else -sign
    return _terms(op.lhs, sign, depth - 1) + _terms(op.rhs, other, depth - 1)


def _sum_of(value: SSAValue) -> graph.ReduceOp | None:
    """The sum that a value is, along axes that it keeps."""
    op = value.owner
    if not isinstance(op, graph.ReduceOp) or op.combination is not ReduceKind.SUM:
        return None
    return None if op.init_value or not op.keepdims or is_planned(op) else op


def _is_limited(terms: Terms, total: graph.ReduceOp) -> bool:
    """
    Return `True` if a term with a minus is computed from the maximum of a sum of the
    others.
    """
    return any(
        isinstance(op := leaf.owner, graph.ReduceOp)
        and op.combination is ReduceKind.MAX
        and op.axes == total.axes
        and not _terms(op.operand) - terms
        for sign, value in terms
        if sign < 0
        for leaf in leaves(value)
    )
