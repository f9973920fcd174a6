"""Rewrite a loop nest of the mem dialect into one loop from 0 with step 1."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Block, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.rewriter import InsertPoint, Rewriter

from tlf.analysis.buffers.normalized_loops import (
    STAGES,
    LoopRange,
    Nest,
    loop_ranges_of,
    operations_before,
    trip_count_of_nest,
)
from tlf.dialects.affine_values import constant_value_of, insert_affine_apply
from tlf.dialects.located_rewriting import replace_op


def replace_nest_by_normalized_loop(nest: Sequence[Nest]) -> scf.ForOp:
    """
    Replace a nest by one loop from 0 with step 1, whose body computes the induction
    variables of the nest. Bounds and steps must be constant; in a nest of one loop,
    bounds may vary.
    """
    op = nest[0]
    body = op.body.block
    for inner in nest[1:]:
        body = _move_into_inner_body(body, inner)
    ranges = [loop_range for loop in nest for loop_range in loop_ranges_of(loop)]
    before = Builder(InsertPoint.before(op))
    zero, one = (build_index_constant(before, constant) for constant in (0, 1))
    if (trips := trip_count_of_nest(nest)) is not None:
        count = build_index_constant(before, trips)
    else:
        count = _insert_trip_count(before, ranges[0])
    return _replace_nest_by_loop(op, body, ranges, (zero, count, one))


def _move_into_inner_body(body: Block, inner: Nest) -> Block:
    """Move the operations before an inner loop into its body, and return that body."""
    assert inner.parent is body
    first = inner.body.block.first_op
    assert first is not None
    for each in operations_before(inner):
        each.detach()
        inner.body.block.insert_op_before(each, first)
    return inner.body.block


def build_index_constant(builder: Builder, value: int) -> SSAValue:
    """Build a constant of type `index`."""
    return builder.insert(arith.ConstantOp(IntegerAttr(value, IndexType()))).result


def _insert_trip_count(builder: Builder, loop_range: LoopRange) -> SSAValue:
    """Insert the `affine.apply` that computes the trip count of `loop_range`."""
    step = constant_value_of(loop_range.step)
    assert step is not None
    upper, lower = AffineExpr.dimension(0), AffineExpr.dimension(1)
    trips = (upper - lower).ceil_div(step)
    return insert_affine_apply(builder, trips, [loop_range.upper, loop_range.lower])


def _replace_nest_by_loop(
    op: Nest,
    body: Block,
    nest: Sequence[LoopRange],
    bounds: tuple[SSAValue, SSAValue, SSAValue],
) -> scf.ForOp:
    """
    Replace a loop nest by one `scf.for` over `bounds` that computes its induction
    variables, and return this loop.
    """
    new = Block(arg_types=[IndexType()])
    new.args[0].name_hint = "n"
    builder = Builder(InsertPoint.at_end(new))
    inner = 1
    for position, loop_range in reversed(list(enumerate(nest))):
        value = _compute_induction_variable(
            builder, loop_range, new.args[0], inner, position == 0
        )
        if value is not new.args[0] and value is not loop_range.lower:
            value.name_hint = loop_range.variable.name_hint
        loop_range.variable.replace_all_uses_with(value)
        inner *= loop_range.trips or 1
    terminator = body.last_op
    assert terminator is not None
    Rewriter.erase_op(terminator)
    for each in list(body.ops):
        each.detach()
        new.add_op(each)
    new.add_op(scf.YieldOp())
    loop = scf.ForOp(*bounds, [], new)
    loop.location = op.location
    if (stages := op.attributes.get(STAGES)) is not None:
        loop.attributes[STAGES] = stages
    replace_op(op, loop, [])
    return loop


def _compute_induction_variable(
    builder: Builder,
    loop_range: LoopRange,
    flat_iteration: SSAValue,
    inner_iterations: int,
    is_outermost: bool,
) -> SSAValue:
    """
    Compute the induction variable of one loop of the nest, with `inner_iterations`
    iterations of inner loops per iteration, from the count.
    """
    if loop_range.trips == 1:
        return loop_range.lower
    value: AffineExpr = AffineExpr.dimension(0)
    if inner_iterations > 1:
        value = value // inner_iterations
    if not is_outermost and loop_range.trips is not None:
        value = value % loop_range.trips
    step = constant_value_of(loop_range.step)
    assert step is not None
    value = value * step if step > 1 else value
    if (lower := constant_value_of(loop_range.lower)) is None:
        return insert_affine_apply(
            builder, value + AffineExpr.dimension(1), [flat_iteration, loop_range.lower]
        )
    if lower:
        value = value + lower
    return (
        flat_iteration
        if value == AffineExpr.dimension(0)
        else insert_affine_apply(builder, value, [flat_iteration])
    )
