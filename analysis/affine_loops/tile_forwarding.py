"""
Analysis of slices of tiles stored in the same iteration: those that can bypass the
tensor.

A slice may be replaced by the tile stored in the same iteration, or by a view of it.
Elements outside of the tensor, which have the slice's fill value, are masked.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tlf.analysis.affine_loops.access_boxes import (
    BoxAccess,
    read_access_of,
    write_access_of,
)
from tlf.analysis.affine_loops.dependence_distance import NestPair
from tlf.analysis.affine_loops.iteration_systems import (
    IterationSystem,
    loop_bounds_of,
    loop_counter_symbol,
)
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class ForwardedSlice:
    """Slice, and the tile that contains its elements at offset `offset_in_tile`."""

    slice_op: tile.SliceOp
    tile: SSAValue
    offset_in_tile: tuple[AffineSum, ...]
    is_masked: bool

    @property
    def is_whole_tile(self) -> bool:
        """True if the tile is exactly the result of the slice."""
        return self.tile.type == self.slice_op.result.type and not any(
            each.terms or each.constant for each in self.offset_in_tile
        )


def find_tile_containing_slice(
    slice_op: tile.SliceOp, last_value: SSAValue, nest_pair: NestPair
) -> ForwardedSlice | None:
    """
    Return the forwarding of a slice of the second nest: the tile that the same
    iteration of the first one stores into a tensor, whose last value is `last_value`,
    and that contains all elements of the slice. None if there is no such tile.
    """
    access = read_access_of(slice_op, slice_op.source)
    if slice_op.map is not None or access is None:
        return None
    while isinstance(deslice := last_value.owner, tile.DesliceOp):
        if deslice.parent is not nest_pair.first.body.block:
            return None
        if (
            forward := _forward_stored_tile(slice_op, access, deslice, nest_pair)
        ) is not None:
            return forward
        if nest_pair.can_alias_in_iteration(write_access_of(deslice), access):
            return None
        last_value = deslice.destination
    return None


def _forward_stored_tile(
    slice_op: tile.SliceOp,
    access: BoxAccess,
    store: tile.DesliceOp,
    nest_pair: NestPair,
) -> ForwardedSlice | None:
    """
    Return the forwarding of the tile that `store` writes to a slice; None if their
    encodings differ or the slice may exceed the tile.
    """
    source, result = tensor_type(store.source), tensor_type(slice_op.result)
    if source.encoding != result.encoding:
        return None
    write = write_access_of(store)
    shift = tuple(
        express_in_nest_counters(read_start, nest_pair.second)
        - express_in_nest_counters(write_start, nest_pair.first)
        for write_start, read_start in zip(write.starts, access.starts, strict=True)
    )
    system = IterationSystem()
    for axis, each in enumerate(shift):
        if any(isinstance(symbol, tuple) for symbol, _ in each.terms):
            return None
        form = system.express_in_loop_counters(each, nest_pair.second, "")
        low, high = form.value_bounds(system.domains)
        is_contained = high + result.get_shape()[axis] <= source.get_shape()[axis]
        if (
            low < 0
            or high + access.extents[axis] > write.extents[axis]
            or not is_contained
        ):
            return None
    is_masked = slice_op.fill is not None and not _is_slice_in_bounds(
        slice_op, access, nest_pair
    )
    return ForwardedSlice(slice_op, store.source, shift, is_masked)


def express_in_nest_counters(affine_sum: AffineSum, nest: tile.WhileOp) -> AffineSum:
    """Rewrite a form in terms of the normalized loop counters of a nest."""
    loops = zip(nest.induction_variables, loop_bounds_of(nest), strict=True)
    values: dict[Hashable, AffineSum] = {
        variable: loop.lower
        + AffineSum.of_symbol(loop_counter_symbol(index, "")) * loop.step
        for index, (variable, loop) in enumerate(loops)
    }
    return affine_sum.substitute(values)


def _is_slice_in_bounds(
    slice_op: tile.SliceOp, access: BoxAccess, nest_pair: NestPair
) -> bool:
    """
    Return `True` if a slice reads no element outside of its tensor or of its own
    extents.
    """
    if access.extents != tensor_type(slice_op.result).get_shape():
        return False
    system = IterationSystem()
    for start, extent, bound in zip(
        access.starts, access.extents, access.shape, strict=True
    ):
        form = system.express_in_loop_counters(start, nest_pair.second, "")
        low, high = form.value_bounds(system.domains)
        if low < 0 or high + extent > bound:
            return False
    return True
