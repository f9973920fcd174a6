"""
Helper of the pass `graph-hoist-reshapes`: factors of reshapes that split axes, and
contractions with split iterators.
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


def split_factors(source: Sequence[int], result: Sequence[int]) -> AxisFactors | None:
    """
    Return the factors by which a reshape splits axes; None if it collapses axes.
    """
    remaining = list(result)
    factors: list[tuple[int, ...]] = []
    for extent in source:
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


def flatten_factors(factors: AxisFactors) -> tuple[int, ...]:
    """Return the shape of a tensor with split axes."""
    return tuple(extent for extents in factors for extent in extents)


def split_positions(factors: AxisFactors, axes: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the factors of some axes among all factors."""
    first = [0, *accumulate(map(len, factors))]
    return tuple(
        first[axis] + factor for axis in axes for factor in range(len(factors[axis]))
    )


def single_use_split_factors(op: graph.ReshapeOp) -> AxisFactors | None:
    """
    Return the factors by which a reshape splits axes of its operand, if it is the only
    user; else None.
    """
    return reshape_split_factors(op) if op.operand.has_one_use() else None


def reshape_split_factors(op: graph.ReshapeOp) -> AxisFactors | None:
    """Return the factors by which a reshape splits axes, or None."""
    return split_factors_between(op.operand, op.result)


def split_factors_between(whole: SSAValue, split: SSAValue) -> AxisFactors | None:
    """
    Return the factors by which axes of one tensor split into those of another, or None.
    """
    shapes = [tensor_type(value).get_shape() for value in (whole, split)]
    factors = split_factors(*shapes)
    is_split = factors is not None and any(len(each) != 1 for each in factors)
    return factors if is_split else None


def is_split(extents: Sequence[int]) -> bool:
    """Return `True` if an axis has several factors other than 1."""
    return sum(extent != 1 for extent in extents) > 1


def remark_split(before: Operation) -> None:
    """Emit a remark that axes are split before an operation."""
    text = f"axes are split before {before.name.removeprefix('graph.')}"
    graph.add_remark(before, PASS_NAME, "passed", text)


def factors_along(value: SSAValue, axes: Axes, parts: IteratorSplits) -> AxisFactors:
    """Return the factors of a tensor's axes, given the splits of their iterators."""
    pairs = zip(axes, tensor_type(value).get_shape(), strict=True)
    return tuple(parts.get(axis, (extent,)) for axis, extent in pairs)


def operand_split_shape(
    value: SSAValue, axes: Axes, parts: IteratorSplits
) -> tuple[int, ...]:
    """Return the shape of an operand, given the splits of its iterators."""
    return flatten_factors(factors_along(value, axes, parts))


def split_product(
    product: Product, parts: IteratorSplits, rewriter: PatternRewriter
) -> Product:
    """Return a product with one iterator for each factor of its split axes."""
    iterators = count()
    new: dict[int, Axes] = {
        axis: tuple(next(iterators) for _ in parts.get(axis, (0,)))
        for axis in range(len(product.op.iteration_domain()))
    }
    pairs = list(zip(product.values, product.axes, strict=True))
    values = [
        reshape_to(value, operand_split_shape(value, axes, parts), rewriter)
        for value, axes in pairs
    ]
    axes = [tuple(each for axis in old for each in new[axis]) for _, old in pairs]
    return Product(
        product.op,
        cast(tuple[SSAValue, SSAValue], tuple(values)),
        cast(tuple[Axes, Axes], tuple(axes)),
        tuple(each for axis in product.result for each in new[axis]),
    )
