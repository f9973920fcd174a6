"""
Analysis of accesses in a nest: the boxes of tensor elements that iterations read and
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from tlf.dialects import tile
from tlf.dialects.affine_values import affine_sum_of
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum
from tlf.support.affine.linear_access import linear_accesses_of_map


@dataclass(frozen=True)
class BoxAccess:
    """Box of tensor elements that one execution of an operation accesses."""

    op: Operation
    starts: tuple[AffineSum, ...]
    """First index per axis, in terms of induction variables."""
    extents: tuple[int, ...]
    shape: tuple[int, ...]
    """Shape of the tensor."""
    is_write: bool = False


def write_access_of(op: tile.DesliceOp) -> BoxAccess:
    """Return the access of the box that a `tile.deslice` writes."""
    starts = tuple(affine_sum_of(offset) for offset in op.mixed_offsets)
    shape = tensor_type(op.destination).get_shape()
    return BoxAccess(op, starts, op.valid_box_extents, shape, is_write=True)


def read_access_of(op: Operation, value: SSAValue) -> BoxAccess | None:
    """
    Return a box that contains all elements that an operation reads of a tensor; None
    for other uses.
    """
    shape = tensor_type(value).get_shape()
    match op:
        case tile.SliceOp() if op.source is value:
            map_ = None if op.map is None else op.map.data
            boxes = _starts_and_extents_of_move(
                op.mixed_offsets, op.valid_box_extents, map_
            )
        case tile.GatherOp() if op.source is value and op.indices is not value:
            boxes = _starts_and_extents_of_move(
                op.mixed_offsets, op.valid_box_extents, op.table_map
            )
            axis = op.axis.value.data
            boxes[axis] = (AffineSum(), shape[axis])
        case _:
            return None
    starts = tuple(start for start, _ in boxes)
    return BoxAccess(op, starts, tuple(extent for _, extent in boxes), shape)


def _starts_and_extents_of_move(
    offsets: Sequence[tile.Index], extents: Sequence[int], map_: AffineMap | None
) -> list[tuple[AffineSum, int]]:
    """
    Return the start and extent per axis of the box that a move reads through a map.
    """
    starts = [affine_sum_of(offset) for offset in offsets]
    if map_ is None:
        return list(zip(starts, extents, strict=True))
    boxes: list[tuple[AffineSum, int]] = []
    for start, access in zip(starts, linear_accesses_of_map(map_), strict=True):
        low, high = access.index_bounds(extents)
        boxes.append((start + low, high - low + 1))
    return boxes
