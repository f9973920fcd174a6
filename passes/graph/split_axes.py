"""
Helper of the pass `graph-hoist-reshapes`: factors of reshapes that split axes, and
building of contractions with split iterators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from math import prod
from typing import TypeAlias, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.contraction_product import Axes, Product
from tlf.passes.graph.permutations import reshape_to

PASS_NAME = "graph-hoist-reshapes"
"""Pass name of the remarks."""

IteratorSplits: TypeAlias = Mapping[int, tuple[int, ...]]
"""Extents of the iterators that each split iterator becomes."""

AxisFactors: TypeAlias = tuple[tuple[int, ...], ...]
"""Extents that each axis of a tensor is split into."""


def split_factors_of_shapes(
    source_shape: Sequence[int], result_shape: Sequence[int]
) -> AxisFactors | None:
    """
    Return the factors by which a reshape splits axes; None if it collapses axes.
    """
    remaining = list(result_shape)
    factors: list[tuple[int, ...]] = []
    for extent in source_shape:
        extents: list[int] = []
        if extent == 1 and remaining and remaining[0] == 1:
            extents.append(remaining.pop(0))
        while remaining and prod(extents) < extent:
            extents.append(remaining.pop(0))
        if prod(extents) != extent:
            return None
        factors.append(tuple(extents))
    if any(extent != 1 for extent in remaining) or (remaining and not factors):
        return None
    if remaining:
        factors[-1] = (*factors[-1], *remaining)
    return tuple(factors)


def shape_of_factors(factors: AxisFactors) -> tuple[int, ...]:
    """Return the shape of a tensor with split axes."""
    return tuple(extent for extents in factors for extent in extents)


def factor_indices_of_axes(
    factors: AxisFactors, axes: Sequence[int]
) -> tuple[int, ...]:
    """Return the positions of the factors of some axes among all factors."""
    first = [0, *accumulate(map(len, factors))]
    return tuple(
        first[axis] + factor for axis in axes for factor in range(len(factors[axis]))
    )


def split_factors_of_single_use(op: graph.ReshapeOp) -> AxisFactors | None:
    """
    Return the factors by which a reshape splits axes of its operand, if it is the only
    user; else None.
    """
    return split_factors_of_reshape(op) if op.operand.has_one_use() else None


def split_factors_of_reshape(op: graph.ReshapeOp) -> AxisFactors | None:
    """Return the factors by which a reshape splits axes, or None."""
    return split_factors_between(op.operand, op.result)


def split_factors_between(unsplit: SSAValue, split: SSAValue) -> AxisFactors | None:
    """
    Return the factors by which axes of one tensor split into those of another, or None.
    """
    shapes = [tensor_type(value).get_shape() for value in (unsplit, split)]
    factors = split_factors_of_shapes(*shapes)
    is_split = factors is not None and any(len(each) != 1 for each in factors)
    return factors if is_split else None


def has_several_factors(factors: Sequence[int]) -> bool:
    """Return `True` if an axis has several factors other than 1."""
    return sum(extent != 1 for extent in factors) > 1


def remark_split_before_op(op: Operation) -> None:
    """Emit a remark that axes are split before an operation."""
    text = f"axes are split before {op.name.removeprefix('graph.')}"
    graph.add_remark(op, PASS_NAME, "passed", text)


def axis_factors_from_splits(
    value: SSAValue, axes: Axes, iterator_splits: IteratorSplits
) -> AxisFactors:
    """Return the factors of a tensor's axes, given the splits of their iterators."""
    pairs = zip(axes, tensor_type(value).get_shape(), strict=True)
    return tuple(iterator_splits.get(axis, (extent,)) for axis, extent in pairs)


def split_shape_of_operand(
    value: SSAValue, axes: Axes, iterator_splits: IteratorSplits
) -> tuple[int, ...]:
    """Return the shape of an operand, given the splits of its iterators."""
    return shape_of_factors(axis_factors_from_splits(value, axes, iterator_splits))


def split_shape_of_broadcast(operand: SSAValue, factors: AxisFactors) -> list[int]:
    """Return the shape of a possibly broadcast operand with its axes split."""
    shape = tensor_type(operand).get_shape()
    first = len(factors) - len(shape)
    return [
        extent if wanted != 1 else 1
        for axis, wanted in enumerate(shape)
        for extent in factors[first + axis]
    ]


def split_iterators_of_product(
    product: Product, iterator_splits: IteratorSplits, rewriter: PatternRewriter
) -> Product:
    """Return a product with one iterator for each factor of its split axes."""
    iterators = count()
    new: dict[int, Axes] = {
        axis: tuple(next(iterators) for _ in iterator_splits.get(axis, (0,)))
        for axis in range(len(product.op.iteration_domain()))
    }
    pairs = list(zip(product.values, product.axes, strict=True))
    values = [
        reshape_to(
            value, split_shape_of_operand(value, axes, iterator_splits), rewriter
        )
        for value, axes in pairs
    ]
    axes = [tuple(each for axis in old for each in new[axis]) for _, old in pairs]
    return Product(
        product.op,
        cast(tuple[SSAValue, SSAValue], tuple(values)),
        cast(tuple[Axes, Axes], tuple(axes)),
        tuple(each for axis in product.result for each in new[axis]),
    )
