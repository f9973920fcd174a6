"""
Analysis of loop nests: exact write counts of tensor elements, without sampling.

The box of an execution is a product of intervals. Axes without common loops are
independent, so the counts are a product of one array per group of axes. Within a group,
boxes are added as differences at their corners, clipped to the tensor.
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
"""Maximum number of boxes or elements that are counted individually."""


class UncountedError(Exception):
    """Error: boxes cannot be counted. The message is the reason."""


@dataclass(frozen=True)
class WriteCounts:
    """
    Number of times that one operation writes each element of a tensor in all
    iterations, factorized by groups of axes.
    """

    counts_by_axes: tuple[tuple[tuple[int, ...], CountArray], ...]
    """
    Groups of axes with common loops, and the write count of each of their elements.
    """
    repeat_count: int
    """
    Trip count of the loops that do not move the box; each iteration repeats all writes.
    """
    tile_count: int
    """Number of boxes."""

    @property
    def total_writes(self) -> int:
        """Total number of element writes."""
        return self.repeat_count * prod(
            int(each.sum()) for _, each in self.counts_by_axes
        )

    @property
    def distinct_elements(self) -> int:
        """Number of distinct elements written."""
        if not self.repeat_count:
            return 0
        return prod(int(np.count_nonzero(each)) for _, each in self.counts_by_axes)

    def to_mask(self, shape: Sequence[int]) -> NDArray[np.bool_]:
        """
        Return a new array of a tensor's `shape`, true for the elements that are
        written.
        """
        mask = np.full(shape, self.repeat_count > 0)
        for axes, counts in self.counts_by_axes:
            sizes = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
            mask &= (counts > 0).reshape(sizes)
        return mask


def count_write_outside_loops(op: tile.DesliceOp) -> WriteCounts | None:
    """
    Return the write counts of a tile outside of loops; None if its offsets are not
    constant.
    """
    shape = tensor_type(op.destination).get_shape()
    groups: list[tuple[tuple[int, ...], CountArray]] = []
    starts = zip(op.mixed_offsets, op.valid_box_extents, shape, strict=True)
    for axis, (start, extent, bound) in enumerate(starts):
        if not isinstance(start, int):
            return None
        indices = np.arange(bound)
        written = (indices >= start) & (indices < start + extent)
        groups.append(((axis,), written.astype(np.int64)))
    return WriteCounts(tuple(groups), 1, 1)


def loops_around(op: Operation, nest: tile.WhileOp) -> list[tuple[tile.WhileOp, int]]:
    """
    Return the loops of a nest around an operation, outermost first, by their indices.
    """
    loops: list[tuple[tile.WhileOp, int]] = []
    ancestor = op.parent_op()
    while ancestor is not None:
        if isinstance(ancestor, tile.WhileOp):
            loops[:0] = [(ancestor, index) for index in range(len(ancestor.steps))]
        if ancestor is nest:
            break
        ancestor = ancestor.parent_op()
    return loops


def count_writes(access: BoxAccess, nest: tile.WhileOp) -> WriteCounts:
    """Count the writes of an operation in a nest. Raises `UncountedError`."""
    system = IterationSystem()
    for loop, index in loops_around(access.op, nest):
        system.express_in_loop_counters(
            AffineSum.of_symbol(loop.induction_variables[index]), nest, ""
        )
    trips = {key: high + 1 for key, (_, high) in system.domains.items()}
    box = system.box_of_access(access, nest, "")
    if system.constraints or len(system.domains) != len(trips):
        raise UncountedError("an offset or a bound depends on other values")
    if any(each > UNBOUNDED // 2 for each in trips.values()):
        raise UncountedError("an offset or a bound depends on other values")
    groups = _group_axes_by_loops(box)
    moving = {symbol for _, symbols in groups for symbol in symbols}
    repeats = prod(max(0, each) for key, each in trips.items() if key not in moving)
    counts = tuple(
        (
            axes,
            _count_covering_boxes(box, axes, sorted(symbols, key=str), system.domains),
        )
        for axes, symbols in groups
    )
    tiles = prod(max(0, each) for each in trips.values())
    return WriteCounts(counts, repeats, tiles)


def _group_axes_by_loops(box: TensorBox) -> list[tuple[tuple[int, ...], set[Hashable]]]:
    """Return groups of axes with common loops, with the loop counters of each group."""
    groups: list[tuple[tuple[int, ...], set[Hashable]]] = []
    for axis, start in enumerate(box.starts):
        symbols = {symbol for symbol, _ in start.terms}
        axes: tuple[int, ...] = (axis,)
        for each in [each for each in groups if each[1] & symbols]:
            groups.remove(each)
            axes, symbols = (*each[0], *axes), symbols | each[1]
        groups.append((axes, symbols))
    return groups


def _count_covering_boxes(
    box: TensorBox, axes: Sequence[int], symbols: Sequence[Hashable], domains: Domains
) -> CountArray:
    """
    Return the number of boxes, projected onto some axes, that cover each element.
    Raises `UncountedError`.
    """
    trips = [max(0, domains[symbol][1] + 1) for symbol in symbols]
    bounds = [box.shape[axis] for axis in axes]
    if max(prod(trips), prod(bound + 1 for bound in bounds)) > MAX_COUNTED:
        raise UncountedError("there are too many tiles to count")
    firsts: list[CountArray] = []
    lasts: list[CountArray] = []
    for axis, bound in zip(axes, bounds, strict=True):
        start = _evaluate_in_all_iterations(box.starts[axis], symbols, trips)
        firsts.append(start.clip(0, bound))
        lasts.append((start + box.extents[axis]).clip(0, bound))
    hits = np.zeros([bound + 1 for bound in bounds], np.int64)
    for corner in product((0, 1), repeat=len(axes)):
        corners = [(firsts, lasts)[end][i] for i, end in enumerate(corner)]
        np.add.at(hits, tuple(corners), (-1) ** sum(corner))
    for position in range(len(axes)):
        hits = np.cumsum(hits, axis=position)
    return hits[tuple(slice(bound) for bound in bounds)]


def _evaluate_in_all_iterations(
    affine_sum: AffineSum, symbols: Sequence[Hashable], trips: Sequence[int]
) -> CountArray:
    """
    Return the values of an affine sum for all combinations of trips, as a flat array;
    the last of `symbols` varies fastest.
    """
    factors = dict(affine_sum.terms)
    total = np.full([1] * len(symbols), affine_sum.constant, np.int64)
    for axis, (symbol, trip) in enumerate(zip(symbols, trips, strict=True)):
        sizes = [trip if i == axis else 1 for i in range(len(symbols))]
        total = total + factors.get(symbol, 0) * np.arange(trip).reshape(sizes)
    return np.broadcast_to(total, trips).reshape(-1)


def find_unwritten_element(
    counts: Sequence[WriteCounts], shape: Sequence[int]
) -> tuple[int, ...] | None:
    """
    Return an element of a tensor that is never written; None if all are written. Raises
    `UncountedError`.
    """
    if len(counts) == 1 and counts[0].repeat_count:
        return _find_element_unwritten_by(counts[0], len(shape))
    if prod(shape) > MAX_COUNTED:
        raise UncountedError("there are too many elements to count")
    return _index_of_first_true(~_mask_of_written_elements(counts, shape))


def count_written_elements(counts: Sequence[WriteCounts], shape: Sequence[int]) -> int:
    """Return the number of distinct elements written. Raises `UncountedError`."""
    if len(counts) == 1:
        return counts[0].distinct_elements
    if prod(shape) > MAX_COUNTED:
        raise UncountedError("there are too many elements to count")
    return int(np.count_nonzero(_mask_of_written_elements(counts, shape)))


def _mask_of_written_elements(
    counts: Iterable[WriteCounts], shape: Sequence[int]
) -> NDArray[np.bool_]:
    """
    Return a boolean array of `shape`, true for elements that any of `counts` writes.
    """
    mask = np.zeros(shape, np.bool_)
    for each in counts:
        mask |= each.to_mask(shape)
    return mask


def _find_element_unwritten_by(
    counts: WriteCounts, rank: int
) -> tuple[int, ...] | None:
    """
    Return the index of an element with write count 0, at index 0 of all independent
    axes; None if there is none.
    """
    for axes, hits in counts.counts_by_axes:
        if (position := _index_of_first_true(hits == 0)) is not None:
            element = [0] * rank
            for axis, index in zip(axes, position, strict=True):
                element[axis] = index
            return tuple(element)
    return None


def _index_of_first_true(mask: NDArray[np.bool_]) -> tuple[int, ...] | None:
    if not mask.any():
        return None
    return tuple(int(each) for each in np.unravel_index(int(mask.argmax()), mask.shape))
