"""Convolutions of one, two and three axes, transposed ones among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensors import element_of, shape_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.aten.windows import per_axis
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.errors import Unsupported
from tlf.frontend.torch.registry import converts


@dataclass(frozen=True)
class Shape:
    """The options of a convolution, one number for each axis."""

    strides: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int


@converts("convolution.default")
def _convolution(
    at: Emitter,
    x: SSAValue,
    filters: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> SSAValue:
    if not is_float(at.element):
        raise Unsupported("expected a convolution of floats, got integers")
    rank = len(shape_of(filters)) - 2
    widths = per_axis(padding, rank)
    shape = Shape(
        per_axis(stride, rank), widths, widths, per_axis(dilation, rank), groups
    )
    batched = x
    if is_single := len(shape_of(x)) == rank + 1:
        batched = at.reshape(x, (1, *shape_of(x)))
    if transposed:
        extra = per_axis(output_padding, rank)
        batched, filters, shape = _reversed(at, batched, filters, shape, extra)
    found = _correlated(at, batched, filters, shape)
    if bias is not None:
        column = at.reshape(bias, (shape_of(bias)[0], *[1] * rank))
        found = at.add(found, column, element_of(found))
    found = at.cast(found, at.element)
    return at.reshape(found, at.shape) if is_single else found


def _correlated(at: Emitter, x: SSAValue, filters: SSAValue, shape: Shape) -> SSAValue:
    """A correlation of N x C x axes with F x C/groups x taps, in the wide type."""
    rank = len(shape.strides)
    if min(*shape.low, *shape.high) < 0:
        low = [0, 0, *(min(each, 0) for each in shape.low)]
        high = [0, 0, *(min(each, 0) for each in shape.high)]
        x = at.pad(x, low, high)
        clipped = [tuple(max(e, 0) for e in side) for side in (shape.low, shape.high)]
        shape = Shape(
            shape.strides, clipped[0], clipped[1], shape.dilation, shape.groups
        )
    if rank > 1:
        return _convolved(at, x, filters, shape)
    rows = Shape(
        (1, *shape.strides),
        (0, *shape.low),
        (0, *shape.high),
        (1, *shape.dilation),
        shape.groups,
    )
    images, kernels = (
        at.reshape(each, (*shape_of(each)[:2], 1, shape_of(each)[2]))
        for each in (x, filters)
    )
    found = _convolved(at, images, kernels, rows)
    batch, channels, _, width = shape_of(found)
    return at.reshape(found, (batch, channels, width))


def _convolved(at: Emitter, x: SSAValue, filters: SSAValue, shape: Shape) -> SSAValue:
    kind = graph.Conv3dOp if len(shape.strides) == 3 else graph.Conv2dOp
    return at.emit(
        kind(
            x,
            filters,
            strides=shape.strides,
            padding=(*shape.low, *shape.high),
            dilation=shape.dilation,
            groups=shape.groups,
            element=at.wide,
        )
    )


def _reversed(
    at: Emitter,
    x: SSAValue,
    filters: SSAValue,
    shape: Shape,
    extra: Sequence[int],
) -> tuple[SSAValue, SSAValue, Shape]:
    """
    A transposed convolution as a correlation: zeros between the elements, and filters
    that are reversed and exchange channels with results (Dumoulin and Visin, A guide to
    convolution arithmetic for deep learning, 2016, section 4).
    """
    rank, groups = len(shape.strides), shape.groups
    for axis, stride in enumerate(shape.strides):
        x = _spread(at, x, axis + 2, stride)
    channels, count, *taps = shape_of(filters)
    split = at.reshape(filters, (groups, channels // groups, count, *taps))
    order = [0, 2, 1, *range(3, 3 + rank)]
    swapped = at.permute(split, order)
    kernels = at.reshape(swapped, (groups * count, channels // groups, *taps))
    for axis in range(rank):
        kernels = at.flip(kernels, axis + 2)
    reach = [by * (tap - 1) for by, tap in zip(shape.dilation, taps, strict=True)]
    low = tuple(r - p for r, p in zip(reach, shape.low, strict=True))
    high = tuple(r - p + e for r, p, e in zip(reach, shape.high, extra, strict=True))
    ones = (1,) * rank
    return x, kernels, Shape(ones, low, high, shape.dilation, groups)


def _spread(at: Emitter, x: SSAValue, axis: int, stride: int) -> SSAValue:
    """The value with `stride - 1` zeros between elements along an axis."""
    if stride == 1:
        return x
    shape = shape_of(x)
    before, extent, after = shape[:axis], shape[axis], shape[axis + 1 :]
    column = at.reshape(x, (*before, extent, 1, *after))
    high = [0] * (len(shape) + 1)
    high[axis + 1] = stride - 1
    padded = at.pad(column, [0] * len(high), high)
    joined = at.reshape(padded, (*before, extent * stride, *after))
    return at.slice(joined, axis, 0, extent * stride - stride + 1)
