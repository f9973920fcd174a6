"""
Analysis of the results of a group: the disjoint boxes that one tile of the root writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property

from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.producer_slices import producer_slice_of
from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.analysis.tiling.group_tiling import GroupTiling, TileLoop, TilingError
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum, Box, Interval


def result_box_of_root_tile(
    tiling: GroupTiling, value: SSAValue, root: TilingInterface
) -> Box:
    """
    Return the box of the group result `value` that is written per tile of the root.

    Raises `TilingError` if tiles would leave gaps or write elements twice.
    """
    owner = value.owner
    if not isinstance(owner, Operation) or owner not in tiling.tiles:
        raise TilingError(root, "expected results that the group computes")
    computed = tiling.tiles[owner].result
    if owner is root:
        return computed
    shape = tensor_type(value).get_shape()
    unused_loops = set(tiling.loops.values())
    box: list[Interval] = []
    for interval, extent in zip(computed, shape, strict=True):
        tile = _disjoint_result_interval(owner, interval, extent)
        unused_loops = {
            loop
            for loop in unused_loops
            if all(symbol is not loop for symbol, _ in tile.offset.terms)
        }
        box.append(tile)
    if any(loop.trips > 1 for loop in unused_loops):
        raise TilingError(owner, "several tiles would write the same elements")
    return tuple(box)


@dataclass
class ResultAlignment:
    """
    Alignment of the axes of further results of a group with the axes of the first one.
    """

    operations: Sequence[TilingInterface]
    op_facts: OpFactsCache
    find_sibling_contractions: Callable[[], AbstractSet[Operation]] = frozenset
    """
    Function that returns the contractions accumulated in one loop; few groups need it.
    """
    find_axis_classes: Callable[[], AxisClasses] | None = None
    """
    Function that returns the axis classes, if they are shared with other analyses.
    """

    def align_tile_to_result(
        self, op: TilingInterface, first_result: SSAValue, first_tile: Box
    ) -> Box:
        """
        Return the box of a further result that belongs to a tile of the first one. An
        axis without a counterpart in the first result, as of a second product of the
        same rows, is covered completely.

        Raises `TilingError` if the result has other axes of more than one element
        without a counterpart, or has the axes in another order.
        """
        shape = tensor_type(op.results[0]).get_shape()
        return tuple(
            Interval.whole(extent)
            if extent == 1 or match is None
            else first_tile[match]
            for extent, match in zip(
                shape, self._match_axes_to_first_result(op, first_result), strict=True
            )
        )

    def _match_axes_to_first_result(
        self, op: TilingInterface, first_result: SSAValue
    ) -> Sequence[int | None]:
        """
        Return the axis of the first result for each axis of a further result, or None.
        Axes match if they have the same iterators or, for results of one shape, the
        same position.
        """
        value = op.results[0]
        first_shape, shape = (
            tensor_type(each).get_shape() for each in (first_result, value)
        )
        matches = self._axis_classes.map_value_axes_to_result(value, first_result)
        if matches is not None and not self._axis_classes.has_unmatched_axes(
            value, matches
        ):
            return matches
        if len(shape) == len(first_shape) and all(
            extent in (1, most) for extent, most in zip(shape, first_shape, strict=True)
        ):
            return range(len(shape))
        producers = producer_slice_of(value, set[Operation](self.operations))
        if matches is not None and not self.find_sibling_contractions().isdisjoint(
            producers
        ):
            return matches
        raise TilingError(
            op,
            "expected a further result with axes of the first one in their order, "
            "and others of extent 1",
        )

    @cached_property
    def _axis_classes(self) -> AxisClasses:
        if self.find_axis_classes is not None:
            return self.find_axis_classes()
        return AxisClasses.of(self.operations, self.op_facts)


def _disjoint_result_interval(
    op: Operation, interval: Interval, extent: int
) -> Interval:
    """
    Return the indices of a result axis that one tile alone writes. Raises `TilingError`
    if tiles leave gaps or follow no loop.
    """
    start = interval.offset.constant
    if not interval.offset.terms:
        if start <= 0 and extent <= start + interval.size:
            return interval
        raise TilingError(op, "a tile holds only part of an axis of a result")
    (symbol, factor), *other_terms = interval.offset.terms
    if other_terms or factor != 1 or not isinstance(symbol, TileLoop) or start > 0:
        raise TilingError(op, "the tiles of a result do not follow one loop each")
    if start + interval.size < symbol.tile:
        raise TilingError(op, "the tiles of a result leave gaps")
    if symbol.extent < extent:
        raise TilingError(op, "a tile holds only part of an axis of a result")
    return replace(interval, offset=AffineSum.of_symbol(symbol), size=symbol.tile)
