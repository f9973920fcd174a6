"""Axes that reshapes split, and products along their parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, count
from math import prod
from typing import TypeAlias, cast

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.product import Axes, Product

NAME = "graph-hoist-reshapes"
"""The pass that notes what is split."""

Parts: TypeAlias = Mapping[int, tuple[int, ...]]
"""For some iterators, the extents of those that they are split into."""

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


def flat(factors: Factors) -> tuple[int, ...]:
    """The shape of a tensor once its axes are split."""
    return tuple(extent for parts in factors for extent in parts)


def places(factors: Factors, axes: Sequence[int]) -> tuple[int, ...]:
    """The parts of some axes, in their order, by their places among all parts."""
    first = [0, *accumulate(map(len, factors))]
    return tuple(
        first[axis] + part for axis in axes for part in range(len(factors[axis]))
    )


def splitting(op: graph.ReshapeOp) -> Factors | None:
    """The factors by which the only user of a tensor splits axes of it, if it does."""
    return splits(op) if op.operand.has_one_use() else None


def splits(op: graph.ReshapeOp) -> Factors | None:
    """The factors by which a reshape splits axes, if it does."""
    return splits_of(op.operand, op.result)


def splits_of(whole: SSAValue, split: SSAValue) -> Factors | None:
    """The factors that give axes of a tensor those of another one, if they do."""
    shapes = [tensor_type(value).get_shape() for value in (whole, split)]
    factors = split_factors(*shapes)
    is_split = factors is not None and any(len(each) != 1 for each in factors)
    return factors if is_split else None


def is_split(extents: Sequence[int]) -> bool:
    """Return `True` if an axis has several factors other than 1."""
    return sum(extent != 1 for extent in extents) > 1


def note_split(before: Operation) -> None:
    text = f"axes are split before {before.name.removeprefix('graph.')}"
    graph.remark(before, NAME, "passed", text)


def factors_along(value: SSAValue, axes: Axes, parts: Parts) -> Factors:
    """The factors of a tensor's axes along these iterators once some are split."""
    pairs = zip(axes, tensor_type(value).get_shape(), strict=True)
    return tuple(parts.get(axis, (extent,)) for axis, extent in pairs)


def split_shape(value: SSAValue, axes: Axes, parts: Parts) -> tuple[int, ...]:
    """The shape of an operand along these iterators once some are split."""
    return flat(factors_along(value, axes, parts))


def split_product(product: Product, parts: Parts, rewriter: PatternRewriter) -> Product:
    """The product with an iterator for each part of the axes of its result."""
    numbers = count()
    new: dict[int, Axes] = {
        axis: tuple(next(numbers) for _ in parts.get(axis, (0,)))
        for axis in range(len(product.op.iterators()))
    }
    pairs = list(zip(product.values, product.axes, strict=True))
    values = [
        reshaped(value, split_shape(value, axes, parts), rewriter)
        for value, axes in pairs
    ]
    axes = [tuple(each for axis in old for each in new[axis]) for _, old in pairs]
    return Product(
        product.op,
        cast(tuple[SSAValue, SSAValue], tuple(values)),
        cast(tuple[Axes, Axes], tuple(axes)),
        tuple(each for axis in product.result for each in new[axis]),
    )
