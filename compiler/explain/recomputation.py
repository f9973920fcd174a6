"""Explanation of plans: recomputation in groups whose tiles overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tlf.analysis.tiling.box_covering import is_box_moved_by
from tlf.analysis.tiling.group_tiling import GroupTiling, LoopLevel, TileLoop
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    IteratorType,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.covered_extents import covered_index_count
from tlf.support.affine.index_access import Box


@dataclass(frozen=True)
class Recomputation:
    """
    Numbers of products and elements that the tiles of a group compute, each in total
    and without recomputed ones.
    """

    products: int
    """Multiply-accumulates over all tiles."""
    distinct_products: int
    elements: int
    """Elements that all other operations compute or reduce."""
    distinct_elements: int

    @staticmethod
    def sum_over_groups(parts: Sequence[Recomputation]) -> Recomputation:
        """
        Return the field-wise sum of `parts` as a new object; all 0 if `parts` is empty.
        """
        return Recomputation(
            sum(each.products for each in parts),
            sum(each.distinct_products for each in parts),
            sum(each.elements for each in parts),
            sum(each.distinct_elements for each in parts),
        )

    @property
    def product_share(self) -> float:
        """Fraction of the products that are recomputed, from 0 to 1."""
        return _recomputed_share(self.products, self.distinct_products)

    @property
    def element_share(self) -> float:
        """Fraction of the elements that are recomputed, from 0 to 1."""
        return _recomputed_share(self.elements, self.distinct_elements)


def measure_recomputation(tiling: GroupTiling) -> Recomputation:
    """Return the work of the tiles of a group over all of its loops."""
    products = products_once = elements = elements_once = 0
    for tiled in tiling.tiles.values():
        op = tiled.op
        if tiled.facts.is_buffer_view:
            continue
        factor = _elements_per_reduction(op)
        once = tensor_type(op.results[0]).element_count() * factor
        computed = max(once, sum(_count_computed_elements(op, tiling)) * factor)
        if isinstance(op, ContractionInterface):
            products, products_once = products + computed, products_once + once
        else:
            elements, elements_once = elements + computed, elements_once + once
    return Recomputation(products, products_once, elements, elements_once)


def _count_computed_elements(op: TilingInterface, tiling: GroupTiling) -> Iterator[int]:
    """
    Yield the computed elements of the result: those of all tiles, then of the prologue.
    """
    loops, tiled = list(tiling.loops.values()), tiling.tiles[op]
    inner = tiling.inner_loops.values() if tiled.loop_level is LoopLevel.INNER else ()
    yield _count_box_elements(op, tiled.computed_box, [*loops, *inner])
    if tiling.prologue is not None and op in tiling.prologue.tiles:
        other_loops = [loop for loop in loops if loop is not tiling.sequential_loop]
        yield _count_box_elements(
            op, tiling.prologue.tiles[op].computed_box, other_loops
        )


def _count_box_elements(
    op: TilingInterface, box: Box, loops: Sequence[TileLoop]
) -> int:
    """
    Return the number of elements of a box inside of the result, over all iterations.
    """
    shape = tensor_type(op.results[0]).get_shape()
    pairs = zip(box, shape, strict=True)
    covered = prod(covered_index_count(interval, extent) for interval, extent in pairs)
    return covered * prod(
        loop.trips for loop in loops if not is_box_moved_by(box, (loop,))
    )


def _elements_per_reduction(op: TilingInterface) -> int:
    """Return the number of elements that are reduced into one element of the result."""
    if not isinstance(op, AccumulatingInterface):
        return 1
    return prod(
        each.extent
        for each in op.iteration_domain()
        if each.kind is IteratorType.REDUCTION
    )


def _recomputed_share(computed: int, distinct: int) -> float:
    return (computed - distinct) / computed if computed else 0.0
