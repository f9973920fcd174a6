"""Recomputation in a group whose tiles overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tlf.analysis.tiling.boxes import moves_with
from tlf.analysis.tiling.model import GroupTiling, Loop, Scope
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    IteratorKind,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.planner.cost.covered import covered_extent
from tlf.support.affine.access import Box


@dataclass(frozen=True)
class Recomputed:
    """Work of the tiles of a group, and what of it is done for the first time."""

    products: int
    """Multiply-accumulates."""
    products_once: int
    elements: int
    """Elements that all other operations compute, or reduce."""
    elements_once: int

    @staticmethod
    def total(parts: Sequence[Recomputed]) -> Recomputed:
        """Several together."""
        return Recomputed(
            sum(each.products for each in parts),
            sum(each.products_once for each in parts),
            sum(each.elements for each in parts),
            sum(each.elements_once for each in parts),
        )

    @property
    def product_share(self) -> float:
        """The part of the products that was done before, from 0 to 1."""
        return _share(self.products, self.products_once)

    @property
    def element_share(self) -> float:
        """The part of the elements that was computed before, from 0 to 1."""
        return _share(self.elements, self.elements_once)


def recomputed(tiling: GroupTiling) -> Recomputed:
    """Return the work of the tiles of a group over all of its loops."""
    products = products_once = elements = elements_once = 0
    for tiled in tiling.tiles.values():
        op = tiled.op
        if tiled.form.is_seen:
            continue
        each = _terms(op)
        once = tensor_type(op.results[0]).element_count() * each
        done = max(once, sum(_computed(op, tiling)) * each)
        if isinstance(op, ContractionInterface):
            products, products_once = products + done, products_once + once
        else:
            elements, elements_once = elements + done, elements_once + once
    return Recomputed(products, products_once, elements, elements_once)


def _computed(op: TilingInterface, tiling: GroupTiling) -> Iterator[int]:
    """The elements of the result that are computed, before windows roll and then."""
    loops, tiled = list(tiling.loops.values()), tiling.tiles[op]
    inner = tiling.inner_loops.values() if tiled.scope is Scope.INNER else ()
    yield _times(op, tiled.computed, [*loops, *inner])
    if tiling.start is not None and op in tiling.start.tiles:
        others = [loop for loop in loops if loop is not tiling.rolled]
        yield _times(op, tiling.start.tiles[op].computed, others)


def _times(op: TilingInterface, box: Box, loops: Sequence[Loop]) -> int:
    """The elements of a box that lie inside of the result, over all iterations."""
    shape = tensor_type(op.results[0]).get_shape()
    pairs = zip(box, shape, strict=True)
    covered = prod(covered_extent(interval, extent) for interval, extent in pairs)
    return covered * prod(loop.trips for loop in loops if not moves_with(box, (loop,)))


def _terms(op: TilingInterface) -> int:
    """Return the number of elements that are reduced into an element of the result."""
    if not isinstance(op, AccumulatingInterface):
        return 1
    return prod(
        each.extent for each in op.iterators() if each.kind is IteratorKind.REDUCTION
    )


def _share(done: int, once: int) -> float:
    return (done - once) / done if done else 0.0
