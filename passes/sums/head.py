"""The first elements of a tensor along an axis, computed from as little as possible."""

from __future__ import annotations

from dataclasses import replace

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import ElementwiseInterface, PositionInterface
from tlf.dialects.types import like, tensor_type
from tlf.passes.graph_fold_movements import Product


def head_along(value: SSAValue, axis: int, count: int, builder: Builder) -> SSAValue:
    """
    So many elements of a tensor, or all, that are first along an axis, which is counted
    from the last one as -1. A tensor that broadcasts along it stays as it is.
    """
    shape = tensor_type(value).get_shape()
    if len(shape) < -axis or shape[axis] <= count:
        return value
    owner = value.owner
    if isinstance(owner, PositionInterface):
        return _sliced(value, axis, count, builder)
    if isinstance(owner, ElementwiseInterface):
        return _computed(owner, axis, count, builder)
    if isinstance(owner, Operation) and (product := Product.of(owner)) is not None:
        return _multiplied(product, axis, count, builder)
    return _sliced(value, axis, count, builder)


def _computed(
    op: ElementwiseInterface, axis: int, count: int, builder: Builder
) -> SSAValue:
    operands = [head_along(each, axis, count, builder) for each in op.operands]
    type_ = tensor_type(op.results[0])
    shape = list(type_.get_shape())
    shape[axis] = count
    made = op.tiled(operands, [like(type_, shape, type_.element_type)])
    made.location = op.location
    return builder.insert(made).results[0]


def _multiplied(product: Product, axis: int, count: int, builder: Builder) -> SSAValue:
    iterator = product.result[axis]
    values = list(product.values)
    for side, axes in enumerate(product.axes):
        if iterator in axes:
            place = axes.index(iterator) - len(axes)
            values[side] = _sliced(values[side], place, count, builder)
    made = replace(product, values=(values[0], values[1])).build()
    return builder.insert(made).result


def _sliced(value: SSAValue, axis: int, count: int, builder: Builder) -> SSAValue:
    sizes = list(tensor_type(value).get_shape())
    sizes[axis] = count
    return builder.insert(graph.SliceOp(value, [0] * len(sizes), sizes)).result
