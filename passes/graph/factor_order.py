"""
Helper of passes that rewrite contractions: order of the axes of a factor, along the
result or along the reduction.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.located_rewriting import located_rewriter_at
from tlf.passes.graph.contraction_product import Product


def runs_along_result(product: Product, side: int) -> bool:
    """Return `True` if the last axis of a factor is one of the result."""
    return product.axes[side][-1] in product.result


def _is_batch(product: Product, iterator: int) -> bool:
    """Return `True` if both factors and the result have an axis of an iterator."""
    return all(iterator in each for each in (*product.axes, product.result))


def transpose_factor(product: Product, side: int, *, along_result: bool) -> Operation:
    """
    Replace a product by one with a factor whose axes along the result, or along the
    reduction, are last, unless one of them is. Returns the new product, or the old one
    if its factor is in order.
    """
    if runs_along_result(product, side) == along_result:
        return product.op
    axes = product.axes[side]
    order = sorted(
        range(len(axes)),
        key=lambda axis: (
            (axes[axis] in product.result) == along_result
            and not _is_batch(product, axes[axis]),
            not _is_batch(product, axes[axis]),
        ),
    )
    rewriter = located_rewriter_at(product.op)
    transpose = rewriter.insert(graph.TransposeOp(product.values[side], order))
    values: list[SSAValue] = list(product.values)
    values[side] = transpose.result
    sides = list(product.axes)
    sides[side] = tuple(axes[axis] for axis in order)
    moved = replace(
        product,
        values=cast(tuple[SSAValue, SSAValue], tuple(values)),
        axes=cast(tuple[tuple[int, ...], tuple[int, ...]], tuple(sides)),
    )
    contract = moved.build_contract()
    rewriter.replace(product.op, contract)
    return contract
