"""Pass `mem-split-accumulations`: splits long sequential sums into partial sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import Float32Type, ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tlf.analysis.buffers.accumulating_nests import (
    AccumulatingNest,
    find_accumulating_nest,
)
from tlf.dialects import mem
from tlf.dialects.affine_values import insert_affine_apply
from tlf.dialects.function_calls import defined_functions_of
from tlf.dialects.located_rewriting import replace_op
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import tensor_type
from tlf.passes.mem.loop_normalization import build_index_constant
from tlf.planner.cost.partial_sums import PartialSums, select_partial_sums


@dataclass(frozen=True)
class MemSplitAccumulationsPass(ModulePass):
    """
    Split sums that a loop accumulates in f32 into partial sums, which an outer loop
    adds up, so that no accumulator is added to more often than the error bound of sums
    permits.

    Applies to loops on tensors with constant bounds, all of whose carried values are
    sums that only a contraction or a reduction updates. The iterations that are left
    over become a loop after the outer one. Matrix instructions add the products of 32
    bytes of depth at once; lanes add each product. Without a target, lanes are assumed.
    """

    name = "mem-split-accumulations"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = (
            TargetSpec.read_from_module(op) if TargetSpec.is_attached_to(op) else None
        )
        for function in defined_functions_of(op):
            _split_accumulations_of_function(function, target)


def _split_accumulations_of_function(
    function: func.FuncOp, target: TargetSpec | None
) -> None:
    """Split the outermost accumulating loops of a function."""
    visited = set[scf.ForOp]()
    for op in list(function.walk()):
        if not isinstance(op, scf.ForOp) or op in visited:
            continue
        if (nest := find_accumulating_nest(op, target)) is None:
            continue
        visited.update(nest.loops)
        split = select_partial_sums(nest.trip_counts, nest.additions_per_iteration)
        if split is not None:
            _split_loop(nest, split)


def _split_loop(nest: AccumulatingNest, split: PartialSums) -> None:
    """Replace a loop by a loop over partial sums, and a loop over the rest."""
    loop, values = nest.loops[split.depth], nest.iterations[split.depth]
    builder = Builder(InsertPoint.before(loop))
    count, rest = divmod(len(values), split.iterations)
    span = split.iterations * values.step
    end = values.start + count * span
    totals = _build_loop_over_parts(builder, loop, range(values.start, end, span), span)
    if rest:
        start = build_index_constant(builder, end)
        last = _build_loop_over_part(builder, loop, start, rest * values.step)
        totals = _add_totals(builder, totals, last)
    replace_op(loop, [], totals)


def _build_loop_over_parts(
    builder: Builder, loop: scf.ForOp, starts: range, span: int
) -> Sequence[SSAValue]:
    """Build the loop that adds up the partial sums of `span` indices each."""
    bounds = [
        build_index_constant(builder, each)
        for each in (starts.start, starts.stop, starts.step)
    ]
    body = Block(arg_types=loop.body.block.arg_types)
    body.args[0].name_hint = "part"
    inner = Builder(InsertPoint.at_end(body))
    sums = _build_loop_over_part(inner, loop, body.args[0], span)
    inner.insert(scf.YieldOp(*_add_totals(inner, body.args[1:], sums)))
    lower, upper, step = bounds
    outer = scf.ForOp(lower, upper, step, loop.iter_args, body)
    outer.location = loop.location
    return builder.insert(outer).results


def _build_loop_over_part(
    builder: Builder, loop: scf.ForOp, start: SSAValue, span: int
) -> Sequence[SSAValue]:
    """Build a copy of a loop that sums the terms of `span` indices from a start on."""
    initial = [
        builder.insert(mem.FillOp(0.0, result_type=each.type)).results[0]
        for each in loop.iter_args
    ]
    zero, end = (build_index_constant(builder, each) for each in (0, span))
    copy = loop.clone()
    builder.insert(copy)
    copy.operands = [zero, end, loop.step, *initial]
    block = copy.body.block
    first = block.first_op
    assert first is not None
    index = insert_affine_apply(
        Builder(InsertPoint.before(first)),
        AffineExpr.dimension(0) + AffineExpr.dimension(1),
        [start, block.args[0]],
    )
    block.args[0].replace_uses_with_if(
        index, lambda use: use.operation is not index.owner
    )
    return copy.results


def _add_totals(
    builder: Builder, totals: Sequence[SSAValue], parts: Sequence[SSAValue]
) -> list[SSAValue]:
    """Add a partial sum to each total."""
    return [
        builder.insert(_build_addition(total, part)).results[0]
        for total, part in zip(totals, parts, strict=True)
    ]


def _build_addition(lhs: SSAValue, rhs: SSAValue) -> mem.MapOp:
    """Return the elementwise sum of two f32 tensors of one shape."""
    shape = tensor_type(lhs).get_shape()
    body = Block(arg_types=[Float32Type(), Float32Type()])
    total = arith.AddfOp(body.args[0], body.args[1])
    body.add_ops([total, mem.YieldOp([total.result])])
    identity = AffineMap.identity(len(shape))
    return mem.MapOp([lhs, rhs], [], shape, [identity] * 3, Region(body), [lhs.type])
