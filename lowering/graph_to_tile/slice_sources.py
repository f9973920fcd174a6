"""
Lowering of slices of out-of-bounds views to slices of the viewed tensor, within the
lowering of groups to tiles.

An out-of-bounds view within a memory level must be copied, including its fill. A tile
is instead sliced from the source tensor if it reads equal elements there. A tile that
exceeds the view must not read the tensor's elements next to the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.builder import Builder
from xdsl.ir import SSAValue

from tlf.analysis.affine_loops.index_ranges import is_box_within_tensor, value_range_of
from tlf.analysis.tiling.group_tiling import TileLoop
from tlf.dialects import tile
from tlf.dialects.interfaces import Scalar
from tlf.dialects.tile import Index, level_of
from tlf.dialects.types import scalar_value, tensor_type
from tlf.lowering.graph_to_tile.offset_builder import build_offset_sum
from tlf.support.affine.index_access import Box, Interval


@dataclass(frozen=True)
class SliceSource:
    """A tensor to slice a tile from, the tile's offsets, and its fill value."""

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
    Return the source of tile `box` of a value: the source of the view that defines the
    value, if the tile reads equal elements there, otherwise the value.
    """
    direct = SliceSource(value, offsets, fill)
    view = value.owner
    if not isinstance(view, tile.SliceOp) or not _can_read_outside_source(view):
        return direct
    if any(interval.tile_extent != interval.size for interval in box):
        return direct
    view_fill = None if view.fill is None else scalar_value(view.fill)
    if fill is not None:
        out_of_bounds = [
            _is_tile_outside_view_and_tensor(view, axis, interval)
            for axis, interval in enumerate(box)
        ]
        if None in out_of_bounds:
            return direct
        if any(out_of_bounds) and view_fill not in (None, fill):
            return direct
    total = list(map(partial(build_offset_sum, builder), view.mixed_offsets, offsets))
    return SliceSource(view.source, total, fill if view_fill is None else view_fill)


def _can_read_outside_source(view: tile.SliceOp) -> bool:
    """
    Return `True` if a slice is within one memory level and may read outside its source.
    """
    if level_of(view.source.type) != level_of(view.result.type):
        return False
    shape = tensor_type(view.result).get_shape()
    if view.map is not None or view.valid_box_extents != shape:
        return False
    bounds = tensor_type(view.source).get_shape()
    return not is_box_within_tensor(view.mixed_offsets, shape, bounds)


def _is_tile_outside_view_and_tensor(
    view: tile.SliceOp, axis: int, tile_interval: Interval
) -> bool | None:
    """
    Return `True` if a tile exceeds a view along an axis, ignoring the padding of a
    loop's last iteration; `None` if the tensor may extend beyond the view.
    """
    extent = tensor_type(view.result).get_shape()[axis]
    first = tile_interval.offset.constant
    last = first + tile_interval.size
    for symbol, factor in tile_interval.offset.terms:
        if not isinstance(symbol, TileLoop):
            return None
        last += factor * (symbol.extent - symbol.tile)
    below, above = first < 0, last > extent
    if not below and not above:
        return False
    if (offset_range := value_range_of(view.mixed_offsets[axis])) is None:
        return None
    bound = tensor_type(view.source).get_shape()[axis]
    is_at_start, is_at_end = offset_range[1] <= 0, offset_range[0] + extent >= bound
    return True if (is_at_start or not below) and (is_at_end or not above) else None
