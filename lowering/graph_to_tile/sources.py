"""
Sources of tiles: a tensor itself instead of a view of it.

A view that reaches out of a tensor of its own memory level would have to be copied,
with what is outside. A tile is moved from the tensor instead, if it reads the same
there: what the view has around it in the tensor is not what a tile is to read that
reaches out of the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.analysis.affine_loops.ranges import lies_within, range_of
from tlf.analysis.tiling.model import Loop
from tlf.dialects import tile
from tlf.dialects.interfaces import Scalar
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.graph_to_tile.indices import add
from tlf.support.affine.access import Box, Interval


@dataclass(frozen=True)
class Source:
    """A tensor to cut a tile from, where to start, and what is outside of it."""

    value: SSAValue
    offsets: Sequence[Index]
    fill: Scalar | None


def source_of(
    builder: Builder,
    value: SSAValue,
    box: Box,
    offsets: Sequence[Index],
    fill: Scalar | None,
) -> Source:
    """
    Return the source of the tile `box` of a value: the source of the view that the
    value is, if the tile reads the same there, or else the value.
    """
    whole = Source(value, offsets, fill)
    view = value.owner
    if not isinstance(view, tile.SliceOp) or not _reaches_out(view):
        return whole
    if any(interval.room != interval.size for interval in box):
        return whole
    outside = None if view.fill is None else scalar_value(view.fill)
    if fill is not None:
        reaches = [_agrees(view, axis, interval) for axis, interval in enumerate(box)]
        if None in reaches:
            return whole
        if any(reaches) and outside not in (None, fill):
            return whole
    total = list(map(partial(add, builder), view.mixed_offsets, offsets))
    return Source(view.source, total, fill if outside is None else outside)


def _reaches_out(view: tile.SliceOp) -> bool:
    """
    Return `True` if a slice stays in its level and may read outside of its source.
    """
    if level_of(view.source.type) != level_of(view.result.type):
        return False
    shape = tensor_type(view.result).get_shape()
    if view.map is not None or view.extents != shape:
        return False
    bounds = tensor_type(view.source).get_shape()
    return not lies_within(view.mixed_offsets, shape, bounds)


def _agrees(view: tile.SliceOp, axis: int, interval: Interval) -> bool | None:
    """
    Return `True` if a tile reaches out of a view along an axis, not counting the excess
    of the last iteration of a loop; `None` where the tensor may extend beyond the view.
    """
    extent = tensor_type(view.result).get_shape()[axis]
    first = interval.offset.constant
    last = first + interval.size
    for symbol, factor in interval.offset.terms:
        if not isinstance(symbol, Loop):
            return None
        last += factor * (symbol.extent - symbol.tile)
    below, above = first < 0, last > extent
    if not below and not above:
        return False
    if (found := range_of(view.mixed_offsets[axis])) is None:
        return None
    bound = tensor_type(view.source).get_shape()[axis]
    starts, ends = found[1] <= 0, found[0] + extent >= bound
    return True if (starts or not below) and (ends or not above) else None
