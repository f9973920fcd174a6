"""
Slice sources: a tensor itself instead of an out-of-bounds view of it.

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

from tlf.analysis.affine_loops.index_ranges import is_within_bounds, range_of
from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.dialects import tile
from tlf.dialects.interfaces import Scalar
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.graph_to_tile.offset_builder import add_offsets
from tlf.support.affine.index_access import Box, Interval


@dataclass(frozen=True)
class SliceSource:
    """A tensor to slice a tile from, its offsets, and the fill value outside of it."""

    value: SSAValue
    offsets: Sequence[Index]
    fill: Scalar | None


def find_slice_source(
    builder: Builder,
    value: SSAValue,
    box: Box,
    offsets: Sequence[Index],
    fill: Scalar | None,
) -> SliceSource:
    """
    Return the source of the tile `box` of a value: the source of the view that the
    value is, if the tile reads the same there, or else the value.
    """
    whole = SliceSource(value, offsets, fill)
    view = value.owner
    if not isinstance(view, tile.SliceOp) or not _can_read_out_of_bounds(view):
        return whole
    if any(interval.tile_extent != interval.size for interval in box):
        return whole
    outside = None if view.fill is None else scalar_value(view.fill)
    if fill is not None:
        reaches = [
            _is_equally_out_of_bounds(view, axis, interval)
            for axis, interval in enumerate(box)
        ]
        if None in reaches:
            return whole
        if any(reaches) and outside not in (None, fill):
            return whole
    total = list(map(partial(add_offsets, builder), view.mixed_offsets, offsets))
    return SliceSource(view.source, total, fill if outside is None else outside)


def _can_read_out_of_bounds(view: tile.SliceOp) -> bool:
    """
    Return `True` if a slice stays in its level and may read outside of its source.
    """
    if level_of(view.source.type) != level_of(view.result.type):
        return False
    shape = tensor_type(view.result).get_shape()
    if view.map is not None or view.extents != shape:
        return False
    bounds = tensor_type(view.source).get_shape()
    return not is_within_bounds(view.mixed_offsets, shape, bounds)


def _is_equally_out_of_bounds(
    view: tile.SliceOp, axis: int, interval: Interval
) -> bool | None:
    """
    Return `True` if a tile reaches out of a view along an axis, not counting the excess
    of the last iteration of a loop; `None` where the tensor may extend beyond the view.
    """
    extent = tensor_type(view.result).get_shape()[axis]
    first = interval.offset.constant
    last = first + interval.size
    for symbol, factor in interval.offset.terms:
        if not isinstance(symbol, TileLoop):
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
