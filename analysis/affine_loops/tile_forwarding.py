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
    counter_symbol,
    loop_bounds_of,
)
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class ForwardedSlice:
    """Slice, and the tile that contains its elements at offset `shift`."""

    slice_op: tile.SliceOp
    tile: SSAValue
    shift: tuple[AffineSum, ...]
    is_masked: bool

    @property
    def is_whole(self) -> bool:
        """True if the tile is exactly the result of the slice."""
        return self.tile.type == self.slice_op.result.type and not any(
            each.terms or each.constant for each in self.shift
        )


def find_forward(
    cut: tile.SliceOp, end: SSAValue, pair: NestPair
) -> ForwardedSlice | None:
    """
    Return the forwarding of a slice of the second nest: the tile that the same
    iteration of the first one stores into a tensor, whose last value is `end`, and that
    contains all elements of the slice. None if there is no such tile.
    """
    access = read_access_of(cut, cut.source)
    if cut.map is not None or access is None:
        return None
    while isinstance(deslice := end.owner, tile.DesliceOp):
        if deslice.parent is not pair.first.body.block:
            return None
        if (forward := _forward_from(cut, access, deslice, pair)) is not None:
            return forward
        if pair.can_alias_in_iteration(write_access_of(deslice), access):
            return None
        end = deslice.destination
    return None


def _forward_from(
    cut: tile.SliceOp, access: BoxAccess, put: tile.DesliceOp, pair: NestPair
) -> ForwardedSlice | None:
    source, result = tensor_type(put.source), tensor_type(cut.result)
    if source.encoding != result.encoding:
        return None
    write = write_access_of(put)
    shift = tuple(
        normalize_to_counters(read_start, pair.second)
        - normalize_to_counters(write_start, pair.first)
        for write_start, read_start in zip(write.starts, access.starts, strict=True)
    )
    system = IterationSystem()
    for axis, each in enumerate(shift):
        if any(isinstance(symbol, tuple) for symbol, _ in each.terms):
            return None
        form = system.normalize_form(each, pair.second, "")
        low, high = form.bounds(system.domains)
        is_contained = high + result.get_shape()[axis] <= source.get_shape()[axis]
        if (
            low < 0
            or high + access.extents[axis] > write.extents[axis]
            or not is_contained
        ):
            return None
    is_masked = cut.fill is not None and not _is_in_bounds(cut, access, pair)
    return ForwardedSlice(cut, put.source, shift, is_masked)


def normalize_to_counters(form: AffineSum, nest: tile.WhileOp) -> AffineSum:
    """Rewrite a form in terms of the normalized loop counters of a nest."""
    loops = zip(nest.induction_variables, loop_bounds_of(nest), strict=True)
    values: dict[Hashable, AffineSum] = {
        variable: loop.lower + AffineSum.of(counter_symbol(index, "")) * loop.step
        for index, (variable, loop) in enumerate(loops)
    }
    return form.substitute(values)


def _is_in_bounds(cut: tile.SliceOp, access: BoxAccess, pair: NestPair) -> bool:
    """
    Return `True` if a slice reads no element outside of its tensor or of its own
    extents.
    """
    if access.extents != tensor_type(cut.result).get_shape():
        return False
    system = IterationSystem()
    for start, extent, bound in zip(
        access.starts, access.extents, access.shape, strict=True
    ):
        form = system.normalize_form(start, pair.second, "")
        low, high = form.bounds(system.domains)
        if low < 0 or high + extent > bound:
            return False
    return True
