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
    Rewrite `(x + a) + b` as `x + (a + b)`, where `value` is the first sum, and `a` and
    `b` are call-invariant, so that they are added once. Do nothing if the element type
    is narrower than its accumulator type, or the first sum has other uses.
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
    invariant = invariant_values(block)
    other = outer.operands[1 - uses[0].index]
    if inner.rhs not in invariant or other not in invariant or inner.lhs in invariant:
        return
    builder = Builder(InsertPoint.before(outer))
    total = builder.insert(graph.AddOp(inner.rhs, other)).result
    result = builder.insert(graph.AddOp(inner.lhs, total))
    result.location = outer.location
    result.result.name_hint = outer.result.name_hint
    replace_op(outer, [], [result.result])
    Rewriter.erase_op(inner)
