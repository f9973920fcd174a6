"""The boxes of tensors that the iterations of a nest read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineMap

from tlf.analysis.affine_loops.indices import linear_of
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.access import Linear
from tlf.support.affine.linear_map import accesses


@dataclass(frozen=True)
class Access:
    """
    The elements of a tensor that one execution of an operation touches: a box, of which
    what lies outside of the tensor does not count.
    """

    op: Operation
    starts: tuple[Linear, ...]
    """Per axis, the first index, in terms of induction variables."""
    extents: tuple[int, ...]
    shape: tuple[int, ...]
    """The extents of the tensor."""
    writes: bool = False


def written(op: tile.DesliceOp) -> Access:
    """The box that a tile is put into."""
    starts = tuple(linear_of(offset) for offset in op.mixed_offsets)
    shape = tensor_type(op.destination).get_shape()
    return Access(op, starts, op.extents, shape, writes=True)


def read(op: Operation, value: SSAValue) -> Access | None:
    """
    A box over all that an operation reads of a tensor, or None where it does anything
    else with it.
    """
    shape = tensor_type(value).get_shape()
    match op:
        case tile.SliceOp() if op.source is value:
            map_ = None if op.map is None else op.map.data
            boxes = _moved(op.mixed_offsets, op.extents, map_)
        case tile.GatherOp() if op.source is value and op.indices is not value:
            boxes = _moved(op.mixed_offsets, op.extents, op.place_map)
            axis = op.axis.value.data
            boxes[axis] = (Linear(), shape[axis])
        case _:
            return None
    starts = tuple(start for start, _ in boxes)
    return Access(op, starts, tuple(extent for _, extent in boxes), shape)


def _moved(
    offsets: Sequence[tile.Index], extents: Sequence[int], map_: AffineMap | None
) -> list[tuple[Linear, int]]:
    """Start and extent per axis of what a move through a map reads."""
    starts = [linear_of(offset) for offset in offsets]
    if map_ is None:
        return list(zip(starts, extents, strict=True))
    found: list[tuple[Linear, int]] = []
    for start, access in zip(starts, accesses(map_), strict=True):
        low, high = access.bounds(extents)
        found.append((start + low, high - low + 1))
    return found
