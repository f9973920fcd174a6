"""
Analysis of operations: work of the engines, and lower bounds for parts of results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from tlf.analysis.bounds.access_footprint import is_access_in_bounds
from tlf.analysis.bounds.array_passes import ContractionDims
from tlf.analysis.bounds.operand_reads import needed_iterations_of, tensor_shape_of
from tlf.analysis.bounds.product_work import ProductWork, product_work_of_op
from tlf.analysis.bounds.strided_runs import RunBox, run_box_size, whole_run_box
from tlf.analysis.bounds.tensor_demand import TensorDemand
from tlf.analysis.bounds.vector_steps import VectorSteps
from tlf.analysis.work.engine_throughput import Engines
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReferenceInterface,
)
from tlf.dialects.types import element_count_of


@dataclass(frozen=True)
class EngineWork:
    """
    Amount of work for the matrix engine and the vector engine, in cycles,
    multiply-accumulates and lane steps.
    """

    matrix_cycles: float = 0.0
    """Cycles of the matrix engine, with no idle cell in its array."""
    pass_cycles: float = 0.0
    """Cycles of the matrix engine in whole passes of the array."""
    macs: int = 0
    vector_steps: int = 0
    """Lane steps of the vector engine."""


NO_WORK = EngineWork()


@dataclass
class OpWork:
    """Memoized computation of the engine work of the needed part of each operation."""

    engines: Engines
    demands: Mapping[SSAValue, TensorDemand]
    vector_steps: VectorSteps

    def __post_init__(self) -> None:
        self._whole: dict[ReferenceInterface, EngineWork] = {}
        self._counters: dict[ReferenceInterface, MacCounter] = {}

    def work_of(self, op: ReferenceInterface) -> EngineWork:
        """Return the work of a whole operation."""
        if op not in self._whole:
            self._whole[op] = self._compute_work(op)
        return self._whole[op]

    def is_fully_needed(self, op: ReferenceInterface) -> bool:
        """Return `True` if all elements of all results are certainly needed."""
        return all(
            self.demands.get(each, TensorDemand()).elements == element_count_of(each)
            for each in op.results
        )

    def _compute_work(self, op: ReferenceInterface) -> EngineWork:
        """
        Return the matrix cycles, exact and in whole passes, the multiply-accumulates
        and the lane steps of the needed part of `op`.
        """
        works = self._needed_product_work(op)
        return EngineWork(
            sum(work.matrix_engine_cycles(self.engines, False) for work in works),
            sum(work.matrix_engine_cycles(self.engines, True) for work in works),
            sum(work.macs for work in works),
            self.vector_steps.vector_steps_of(op),
        )

    def _needed_product_work(self, op: ReferenceInterface) -> list[ProductWork]:
        """
        Return the products of the needed part of `op`; empty if no element of its
        results is needed.
        """
        if not any(
            self.demands.get(each, TensorDemand()).elements for each in op.results
        ):
            return []
        return product_work_of_op(op, self.demands)

    def work_of_result_box(
        self, op: ReferenceInterface, box: RunBox, operand_box: RunBox | None
    ) -> EngineWork:
        """
        Return a lower bound on the work of a box of the first result at any offset;
        `operand_box` is the box of the first operand that it needs.
        """
        if box == whole_run_box(tensor_shape_of(op.results[0])):
            return self.work_of(op)
        if isinstance(op, ContractionInterface):
            return self._work_of_product_box(op, box)
        return self.work_of_elementwise_box(
            op, box, run_box_size(operand_box) if operand_box else 0
        )

    def _work_of_product_box(self, op: ContractionInterface, box: RunBox) -> EngineWork:
        """
        Return a lower bound on a contraction's work for `box` of its result; `NO_WORK`
        if the iterations that compute the box are unknown.
        """
        runs = needed_iterations_of(op, 0, box)
        if runs is None:
            return NO_WORK
        if op not in self._counters:
            self._counters[op] = MacCounter(op)
        counter, lengths = self._counters[op], [run.length for run in runs]
        return self.work_of_macs(op, counter.min_macs(lengths), lengths)

    def work_of_macs(
        self, op: ContractionInterface, macs: int, value_counts: Sequence[int]
    ) -> EngineWork:
        """
        Return the work of some multiply-accumulates of an operation, with
        `value_counts` values of each iterator.

        In whole passes, each takes `cells` of the array. Rows with fewer than all
        columns may share passes with others, so they count with no idle cell.
        """
        works, array = self._needed_product_work(op), self.engines.array_shape
        if not works:
            return NO_WORK
        (work,) = works
        macs = min(work.macs, macs)
        matrix = macs / self.engines.macs_per_cycle(work.element)
        extents = [each.extent for each in op.iteration_domain()]
        if array is None or any(
            value_counts[i] < extents[i] for i in ContractionDims.of(op).n
        ):
            return EngineWork(matrix, matrix, macs)
        cells = macs * work.products.min_cells_per_mac(*array)
        passes = cells / prod(array) * self.engines.cycles_per_pass(work.element)
        return EngineWork(matrix, max(matrix, passes), macs)

    def work_of_elementwise_box(
        self, op: ReferenceInterface, box: RunBox, elements_read: int
    ) -> EngineWork:
        """
        Return the work, other than products, of a box of the result for which
        `elements_read` elements of an operand are read.
        """
        whole = self.work_of(op)
        match op:
            case ElementwiseInterface():
                needed = self.demands.get(op.results[0], TensorDemand()).elements
                each = whole.vector_steps // needed if needed else 0
                return EngineWork(vector_steps=each * run_box_size(box))
            case AccumulatingInterface():
                combined = max(0, elements_read - run_box_size(box))
                return EngineWork(vector_steps=min(whole.vector_steps, combined))
            case _:
                return NO_WORK


class MacCounter:
    """Counter of multiply-accumulates, without padding zeros of images."""

    def __init__(self, op: ContractionInterface) -> None:
        self.sides = ContractionDims.of(op)
        self.extents = [each.extent for each in op.iteration_domain()]
        self._borders: list[ImageBorder] = []
        shape = tensor_shape_of(op.operands[0])
        visited: set[int] = set()
        self._is_known = True
        for access, extent in zip(op.indexing_maps()[0] or (), shape, strict=True):
            if is_access_in_bounds(access, self.extents, extent):
                continue
            iterators = {each for each, _ in access.terms}
            self._is_known &= not iterators & visited
            visited |= iterators
            terms = [
                (factor, self.extents[each], each in self.sides.k)
                for each, factor in access.terms
            ]
            self._borders.append(
                ImageBorder(frozenset(iterators), tuple(terms), access.offset, extent)
            )

    def min_macs(self, value_counts: list[int]) -> int:
        """
        Return a lower bound for `value_counts` values of each iterator; reductions must
        be complete.
        """
        if not self._is_known:
            return 0
        at_borders = frozenset[int]().union(
            *(each.moving_iterators for each in self._borders)
        )
        free = prod(n for each, n in enumerate(value_counts) if each not in at_borders)
        for border in self._borders:
            positions = prod(
                value_counts[each] for each in border.moving_iterators - {*self.sides.k}
            )
            free *= border.min_taps_inside_image[
                min(positions, len(border.min_taps_inside_image) - 1)
            ]
        return free


@dataclass(frozen=True)
class ImageBorder:
    """
    Axis of an image that sliding windows extend beyond, with the terms of its index.
    """

    moving_iterators: frozenset[int]
    terms: tuple[tuple[int, int, bool], ...]
    """Distance and extent of each iterator, and True for an iterator of k."""
    offset: int
    extent: int

    @cached_property
    def min_taps_inside_image(self) -> list[int]:
        """
        Minimum number of taps inside the image, for each number of window positions.
        """
        positions, taps = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for factor, extent, is_tap in self.terms:
            steps = factor * np.arange(extent)
            if is_tap:
                taps = np.add.outer(taps, steps).reshape(-1)
            else:
                positions = np.add.outer(positions, steps).reshape(-1)
        read = self.offset + np.add.outer(positions, taps)
        inside = np.sum((read >= 0) & (read < self.extent), axis=1)
        return [0, *accumulate(np.sort(inside).tolist())]
