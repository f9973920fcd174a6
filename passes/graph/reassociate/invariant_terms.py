"""Reassociation of `(x + a) + b` as `x + (a + b)`, where `a` and `b` are invariant."""

from __future__ import annotations

from xdsl.builder import Builder
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.dialects import graph
from tlf.dialects.call_invariants import invariant_values
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.types import accumulator_of, tensor_type


def combine_invariant_terms(value: SSAValue) -> None:
    """
    Rewrite `(x + a) + b` as `x + (a + b)`, if `value` is the first sum, and `a` and `b`
    are the same at every call: they are added up once then. Nothing happens where
    elements are narrower than what is added up in, or the first sum is needed for more.
    """
    inner, element = value.owner, tensor_type(value).element_type
    uses = list(value.uses)
    if not isinstance(inner, graph.AddOp) or accumulator_of(element) != element:
        return
    if len(uses) != 1 or not isinstance(outer := uses[0].operation, graph.AddOp):
        return
    block = outer.parent
    if not isinstance(block, Block) or outer.result.type != value.type:
        return
    known = invariant_values(block)
    other = outer.operands[1 - uses[0].index]
    if inner.rhs not in known or other not in known or inner.lhs in known:
        return
    builder = Builder(InsertPoint.before(outer))
    total = builder.insert(graph.AddOp(inner.rhs, other)).result
    made = builder.insert(graph.AddOp(inner.lhs, total))
    made.location = outer.location
    made.result.name_hint = outer.result.name_hint
    replace_op(outer, [], [made.result])
    Rewriter.erase_op(inner)
