"""
Exact write counts of tensor elements under loop nests; nothing is sampled.

The box of an execution is a product of intervals. Axes that follow no common loop are
independent, so that the counts are a product too, of one array per group of axes. In a
group, boxes are added up as differences at their corners, clipped to the tensor.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.integer_solver import UNBOUNDED, Domains
from tlf.analysis.affine_loops.iteration_systems import IterationSystem, TensorBox
from tlf.dialects import tile
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import AffineSum

CountArray = NDArray[np.int64]

MAX_COUNTED = 1 << 24
"""Maximum number of boxes or elements that are counted one by one."""


class UncountedError(Exception):
    """Raised with the reason where boxes cannot be counted."""


@dataclass(frozen=True)
class WriteCounts:
    """Write counts of the elements of a tensor by one operation."""

    groups: tuple[tuple[tuple[int, ...], CountArray], ...]
    """Some axes, and how often each of their elements is hit, by loops of their own."""
    repeats: int
    """
    Trip count of the loops that do not move the box: each repeats all of its writes.
    """
    tiles: int
    """Number of boxes."""

    @property
    def total_writes(self) -> int:
        """Total number of element writes."""
        return self.repeats * prod(int(each.sum()) for _, each in self.groups)

    @property
    def distinct_elements(self) -> int:
        """Number of distinct elements written."""
        if not self.repeats:
            return 0
        return prod(int(np.count_nonzero(each)) for _, each in self.groups)

    def to_mask(self, shape: Sequence[int]) -> NDArray[np.bool_]:
        """Return a mask of the elements that are written."""
        found = np.full(shape, self.repeats > 0)
        for axes, counts in self.groups:
            sizes = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
            found &= (counts > 0).reshape(sizes)
        return found


def count_single_write(op: tile.DesliceOp) -> WriteCounts | None:
    """
    Return the write counts of a tile outside of loops; None if its offsets are not
    constant.
    """
    shape = tensor_type(op.destination).get_shape()
    groups: list[tuple[tuple[int, ...], CountArray]] = []
    starts = zip(op.mixed_offsets, op.extents, shape, strict=True)
    for axis, (start, extent, whole) in enumerate(starts):
        if not isinstance(start, int):
            return None
        places = np.arange(whole)
        written = (places >= start) & (places < start + extent)
        groups.append(((axis,), written.astype(np.int64)))
    return WriteCounts(tuple(groups), 1, 1)


def loops_around(op: Operation, nest: tile.WhileOp) -> list[tuple[tile.WhileOp, int]]:
    """The loops that run an operation in a nest, outermost first, by their numbers."""
    found: list[tuple[tile.WhileOp, int]] = []
    around = op.parent_op()
    while around is not None:
        if isinstance(around, tile.WhileOp):
            found[:0] = [(around, number) for number in range(len(around.steps))]
        if around is nest:
            break
        around = around.parent_op()
    return found


def count_writes(access: BoxAccess, nest: tile.WhileOp) -> WriteCounts:
    """Count the writes of an operation in a nest. Raises `UncountedError`."""
    system = IterationSystem()
    for loop, number in loops_around(access.op, nest):
        system.normalize_form(AffineSum.of(loop.induction_variables[number]), nest, "")
    trips = {key: high + 1 for key, (_, high) in system.domains.items()}
    box = system.box_of_access(access, nest, "")
    if system.constraints or len(system.domains) != len(trips):
        raise UncountedError("an offset or a bound depends on other values")
    if any(each > UNBOUNDED // 2 for each in trips.values()):
        raise UncountedError("an offset or a bound depends on other values")
    groups = _group_axes(box)
    moving = {symbol for _, symbols in groups for symbol in symbols}
    repeats = prod(max(0, each) for key, each in trips.items() if key not in moving)
    counted = tuple(
        (axes, _count_hits(box, axes, sorted(symbols, key=str), system.domains))
        for axes, symbols in groups
    )
    tiles = prod(max(0, each) for each in trips.values())
    return WriteCounts(counted, repeats, tiles)


def _group_axes(box: TensorBox) -> list[tuple[tuple[int, ...], set[Hashable]]]:
    """Axes that follow common loops, with the variables of these."""
    groups: list[tuple[tuple[int, ...], set[Hashable]]] = []
    for axis, start in enumerate(box.starts):
        symbols = {symbol for symbol, _ in start.terms}
        axes: tuple[int, ...] = (axis,)
        for each in [each for each in groups if each[1] & symbols]:
            groups.remove(each)
            axes, symbols = (*each[0], *axes), symbols | each[1]
        groups.append((axes, symbols))
    return groups


def _count_hits(
    box: TensorBox, axes: Sequence[int], symbols: Sequence[Hashable], domains: Domains
) -> CountArray:
    """
    Return the number of times that the boxes, projected onto some axes, cover each
    element. Raises `UncountedError`.
    """
    trips = [max(0, domains[symbol][1] + 1) for symbol in symbols]
    bounds = [box.shape[axis] for axis in axes]
    if max(prod(trips), prod(bound + 1 for bound in bounds)) > MAX_COUNTED:
        raise UncountedError("there are too many tiles to count")
    firsts: list[CountArray] = []
    lasts: list[CountArray] = []
    for axis, bound in zip(axes, bounds, strict=True):
        start = _enumerate_values(box.starts[axis], symbols, trips)
        firsts.append(start.clip(0, bound))
        lasts.append((start + box.extents[axis]).clip(0, bound))
    hits = np.zeros([bound + 1 for bound in bounds], np.int64)
    for corner in product((0, 1), repeat=len(axes)):
        places = [(firsts, lasts)[end][n] for n, end in enumerate(corner)]
        np.add.at(hits, tuple(places), (-1) ** sum(corner))
    for number in range(len(axes)):
        hits = np.cumsum(hits, axis=number)
    return hits[tuple(slice(bound) for bound in bounds)]


def _enumerate_values(
    form: AffineSum, symbols: Sequence[Hashable], trips: Sequence[int]
) -> CountArray:
    """The value of a form in all iterations."""
    factors = dict(form.terms)
    total = np.full([1] * len(symbols), form.constant, np.int64)
    for number, (symbol, trip) in enumerate(zip(symbols, trips, strict=True)):
        sizes = [trip if n == number else 1 for n in range(len(symbols))]
        total = total + factors.get(symbol, 0) * np.arange(trip).reshape(sizes)
    return np.broadcast_to(total, trips).reshape(-1)


def find_missing(
    counts: Sequence[WriteCounts], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """
    An element of a tensor that is never written, or None where all are. Raises
    `UncountedError`.
    """
    if len(counts) == 1 and counts[0].repeats:
        return _find_missing_in(counts[0], len(shape))
    if prod(shape) > MAX_COUNTED:
        raise UncountedError("there are too many elements to count")
    return _first_true(~_union_mask(counts, shape))


def union_size(counts: Sequence[WriteCounts], shape: Sequence[int]) -> int:
    """Return the number of distinct elements written. Raises `UncountedError`."""
    if len(counts) == 1:
        return counts[0].distinct_elements
    if prod(shape) > MAX_COUNTED:
        raise UncountedError("there are too many elements to count")
    return int(np.count_nonzero(_union_mask(counts, shape)))


def _union_mask(
    counts: Iterable[WriteCounts], shape: Sequence[int]
) -> NDArray[np.bool_]:
    found = np.zeros(shape, np.bool_)
    for each in counts:
        found |= each.to_mask(shape)
    return found


def _find_missing_in(counts: WriteCounts, rank: int) -> tuple[int, ...] | None:
    for axes, hits in counts.groups:
        if (place := _first_true(hits == 0)) is not None:
            element = [0] * rank
            for axis, index in zip(axes, place, strict=True):
                element[axis] = index
            return tuple(element)
    return None


def _first_true(mask: NDArray[np.bool_]) -> tuple[int, ...] | None:
    if not mask.any():
        return None
    return tuple(int(each) for each in np.unravel_index(int(mask.argmax()), mask.shape))
