"""Splitting axes before they are computed with, not afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import TypeAlias, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    MovementInterface,
    PositionInterface,
    ViewInterface,
)
from tlf.dialects.types import like, tensor_type
from tlf.passes.graph_fold_movements import Axes, Product
from tlf.passes.permutations import inverse, only_user, reshaped
from tlf.passes.replacement import is_planned

Factors: TypeAlias = tuple[tuple[int, ...], ...]
"""For each axis of a tensor, the extents of those that it is split into."""


def split_factors(source: Sequence[int], result: Sequence[int]) -> Factors | None:
    """The factors by which a reshape splits axes; none where it merges some."""
    rest = list(result)
    factors: list[tuple[int, ...]] = []
    for extent in source:
        taken: list[int] = []
        if extent == 1 and rest and rest[0] == 1:
            taken.append(rest.pop(0))
        while rest and prod(taken) < extent:
            taken.append(rest.pop(0))
        if prod(taken) != extent:
            return None
        factors.append(tuple(taken))
    if any(extent != 1 for extent in rest) or (rest and not factors):
        return None
    if rest:
        factors[-1] = (*factors[-1], *rest)
    return tuple(factors)


def _split(op: graph.ReshapeOp) -> Factors | None:
    shapes = [tensor_type(value).get_shape() for value in (op.operand, op.result)]
    factors = split_factors(*shapes)
    is_split = factors is not None and any(len(each) != 1 for each in factors)
    return factors if is_split and op.operand.uses.get_length() == 1 else None


def _note(before: Operation) -> None:
    text = f"axes are split before {before.name.removeprefix('graph.')}"
    graph.remark(before, GraphHoistReshapesPass.name, "passed", text)


def _note_left(op: Operation) -> None:
    """Note why axes that are computed with were not split before."""
    if not isinstance(op, graph.ReshapeOp) or not _is_computed_with(op.result):
        return
    shapes = [tensor_type(value).get_shape() for value in (op.operand, op.result)]
    factors, before = split_factors(*shapes), op.operand.owner
    if factors is None or all(len(each) == 1 for each in factors):
        return
    if not isinstance(before, ElementwiseInterface | ContractionInterface):
        return
    if op.operand.uses.get_length() > 1:
        reason = "the result has other users"
    elif is_planned(before):
        reason = "it has a plan"
    else:
        reason = "it has windows, or starts from a tensor"
    text = f"axes are split after {before.name.removeprefix('graph.')}: {reason}"
    graph.remark(before, GraphHoistReshapesPass.name, "missed", text)


def _is_computed_with(value: SSAValue) -> bool:
    """
    Whether an elementwise operation reads a value, under whatever shape and order of
    axes.
    """
    users = [use.operation for use in value.uses]
    return any(
        isinstance(user, ElementwiseInterface)
        or (
            isinstance(user, ViewInterface | graph.TransposeOp)
            and _is_computed_with(user.results[0])
        )
        for user in users
    )


@dataclass
class SplitElementwisePattern(RewritePattern):
    """
    Split the operands of elementwise operations instead of their results, where the
    split results are computed with further.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ReshapeOp) or (factors := _split(op)) is None:
            return
        before = op.operand.owner
        if not isinstance(before, ElementwiseInterface) or is_planned(before):
            return
        if isinstance(before, PositionInterface) or not _is_computed_with(op.result):
            return
        _note(before)
        rewriter.insertion_point = InsertPoint.before(before)
        operands = [
            reshaped(operand, _broadcast_shape(operand, factors), rewriter)
            for operand in before.operands
        ]
        element = tensor_type(before.results[0]).element_type
        shape = tensor_type(op.result).get_shape()
        type_ = like(tensor_type(op.result), shape, element)
        made = before.tiled(operands, [type_])
        made.location = before.location
        rewriter.insert(made)
        rewriter.replace(op, [], made.results)
        rewriter.erase(before)


def _broadcast_shape(operand: SSAValue, factors: Factors) -> list[int]:
    """The shape of an operand that is broadcast along split axes."""
    shape = tensor_type(operand).get_shape()
    first = len(factors) - len(shape)
    return [
        extent if wanted != 1 else 1
        for axis, wanted in enumerate(shape)
        for extent in factors[first + axis]
    ]


@dataclass
class SplitProductPattern(RewritePattern):
    """
    Split the operands of contractions instead of their results, where the split results
    are computed with further or permuted, or where that undoes a reshape of an operand.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ReshapeOp) or (factors := _split(op)) is None:
            return
        before = op.operand.owner
        if not isinstance(before, Operation):
            return
        if (product := Product.of(before)) is None:
            return
        parts = dict(zip(product.result, factors, strict=True))
        is_permuted = isinstance(only_user(op.result), graph.TransposeOp)
        if not (is_permuted or _is_computed_with(op.result) or _undoes(product, parts)):
            return
        _note(before)
        rewriter.insertion_point = InsertPoint.before(before)
        rewriter.replace(op, _split_product(product, parts, rewriter).build())
        rewriter.erase(before)


@dataclass
class SplitPermutedPattern(RewritePattern):
    """
    Split axes before they are permuted.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.ReshapeOp) or (factors := _split(op)) is None:
            return
        before = op.operand.owner
        if not isinstance(before, graph.TransposeOp) or is_planned(before):
            return
        of = dict(zip(before.axis_list, factors, strict=True))
        source = [of[axis] for axis in range(len(factors))]
        starts = [sum(map(len, source[:axis])) for axis in range(len(source))]
        order = [
            starts[axis] + part
            for axis in before.axis_list
            for part in range(len(of[axis]))
        ]
        shape = [extent for each in source for extent in each]
        split = reshaped(before.operand, shape, rewriter)
        rewriter.replace(op, graph.TransposeOp(split, order))
        rewriter.erase(before)


@dataclass
class CutPermutedPattern(RewritePattern):
    """
    Cut before axes are permuted, where nothing needs all of the permuted tensor.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, graph.SliceOp) or is_planned(op):
            return
        before = op.operand.owner
        if not isinstance(before, graph.TransposeOp):
            return
        users = [use.operation for use in before.result.uses]
        if not all(isinstance(user, graph.SliceOp) for user in users):
            return
        back = inverse(before.axis_list)
        shape = tensor_type(op.result).get_shape()
        starts, sizes, steps = (
            [each[place] for place in back] for each in (op.starts, shape, op.steps)
        )
        part = rewriter.insert(graph.SliceOp(before.operand, starts, sizes, steps))
        rewriter.replace(op, graph.TransposeOp(part, before.axis_list))


def _undoes(product: Product, parts: dict[int, tuple[int, ...]]) -> bool:
    """Whether splitting an operand undoes a reshape of something that was moved."""
    for value, axes in zip(product.values, product.axes, strict=True):
        source = value.owner
        if not isinstance(source, ViewInterface):
            continue
        moved = source.operands[0]
        shape = tensor_type(moved).get_shape()
        is_moved = isinstance(moved.owner, MovementInterface)
        if is_moved and shape == tuple(_split_shape(value, axes, parts)):
            return True
    return False


def _split_shape(
    value: SSAValue, axes: Axes, parts: dict[int, tuple[int, ...]]
) -> list[int]:
    shape = tensor_type(value).get_shape()
    return [
        extent
        for axis, whole in zip(axes, shape, strict=True)
        for extent in parts.get(axis, (whole,))
    ]


def _split_product(
    product: Product, parts: dict[int, tuple[int, ...]], rewriter: PatternRewriter
) -> Product:
    """The product with an iterator for each part of the axes of its result."""
    numbers = count()
    new: dict[int, Axes] = {
        axis: tuple(next(numbers) for _ in parts.get(axis, (0,)))
        for axis in range(len(product.op.iterators()))
    }
    pairs = list(zip(product.values, product.axes, strict=True))
    values = [
        reshaped(value, _split_shape(value, axes, parts), rewriter)
        for value, axes in pairs
    ]
    axes = [tuple(each for axis in old for each in new[axis]) for _, old in pairs]
    return Product(
        product.op,
        cast(tuple[SSAValue, SSAValue], tuple(values)),
        cast(tuple[Axes, Axes], tuple(axes)),
        tuple(each for axis in product.result for each in new[axis]),
    )


@dataclass(frozen=True)
class GraphHoistReshapesPass(ModulePass):
    """
    Split axes before they are computed with: a reshape that splits axes of a result of
    elementwise operations and contractions becomes reshapes of their operands, which
    often undo others. So a product and what follows it under another shape can run
    together, and contractions can read through what is behind a reshape.

    A split stays where it is if nothing computes with its result element by element or
    permutes it: it costs nothing there. Axes are split, and parts are cut, before they
    are permuted, too.
    """

    name = "graph-hoist-reshapes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns: list[RewritePattern] = [
            SplitElementwisePattern(),
            SplitProductPattern(),
            SplitPermutedPattern(),
            CutPermutedPattern(),
            *graph.ReshapeOp.get_canonicalization_patterns(),
            *graph.TransposeOp.get_canonicalization_patterns(),
        ]
        applier = GreedyRewritePatternApplier(patterns, dce_enabled=True)
        PatternRewriteWalker(applier).rewrite_module(op)
        for each in op.walk():
            _note_left(each)
