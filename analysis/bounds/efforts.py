"""The work of single operations, and of parts of their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import elements_of
from tlf.analysis.bounds.needs import Need
from tlf.analysis.bounds.product_work import ProductWork, products_in
from tlf.analysis.bounds.products import Sides
from tlf.analysis.bounds.reads import iterations_of, shape_of
from tlf.analysis.bounds.runs import Box, elements_in, whole_box
from tlf.analysis.bounds.touched import is_inside
from tlf.analysis.bounds.vector_steps import VectorSteps
from tlf.analysis.work.engines import Engines
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
    ReferenceInterface,
)


@dataclass(frozen=True)
class Effort:
    """Work of the engines."""

    matrix: float = 0.0
    """Cycles of the matrix engine, with no cell of its array idle."""
    passes: float = 0.0
    """The same, in whole passes of the array."""
    macs: int = 0
    steps: int = 0
    """Steps of lanes of the vector engine."""


NO_EFFORT = Effort()


@dataclass
class Efforts:
    """The work of the operations of a dataflow that is needed."""

    engines: Engines
    needs: Mapping[SSAValue, Need]
    steps: VectorSteps

    def __post_init__(self) -> None:
        self._whole: dict[ReferenceInterface, Effort] = {}
        self._counters: dict[ReferenceInterface, MacCounter] = {}

    def of(self, op: ReferenceInterface) -> Effort:
        """All of an operation."""
        if op not in self._whole:
            self._whole[op] = self._of(op)
        return self._whole[op]

    def is_needed_whole(self, op: ReferenceInterface) -> bool:
        """Return `True` if all elements of all results are needed for certain."""
        return all(
            self.needs.get(each, Need()).elements == elements_of(each)
            for each in op.results
        )

    def _of(self, op: ReferenceInterface) -> Effort:
        works = self._products(op)
        return Effort(
            sum(work.cycles(self.engines, False) for work in works),
            sum(work.cycles(self.engines, True) for work in works),
            sum(work.macs for work in works),
            self.steps.of(op),
        )

    def _products(self, op: ReferenceInterface) -> list[ProductWork]:
        if not any(self.needs.get(each, Need()).elements for each in op.results):
            return []
        return products_in(op, self.needs)

    def part(self, op: ReferenceInterface, box: Box, read: Box | None) -> Effort:
        """
        Return a lower bound on the effort of some elements of the first result, at any
        offset; `read` is the part of the first operand that they need.
        """
        if box == whole_box(shape_of(op.results[0])):
            return self.of(op)
        if isinstance(op, ContractionInterface):
            return self._part_of_product(op, box)
        return self.of_elements(op, box, elements_in(read) if read else 0)

    def _part_of_product(self, op: ContractionInterface, box: Box) -> Effort:
        runs = iterations_of(op, 0, box)
        if runs is None:
            return NO_EFFORT
        if op not in self._counters:
            self._counters[op] = MacCounter(op)
        counter, lengths = self._counters[op], [run.length for run in runs]
        return self.of_macs(op, counter.least(lengths), lengths)

    def of_macs(
        self, op: ContractionInterface, macs: int, values: Sequence[int]
    ) -> Effort:
        """
        Some products of an operation, which have so many values of each iterator.

        In passes, products take `cells` of the array each. Rows that lack columns may
        share passes with others, and count with no cell idle.
        """
        works, array = self._products(op), self.engines.array
        if not works:
            return NO_EFFORT
        (work,) = works
        macs = min(work.macs, macs)
        matrix = macs / self.engines.rate(work.element)
        extents = [each.extent for each in op.iterators()]
        if array is None or any(values[n] < extents[n] for n in Sides.of(op).n):
            return Effort(matrix, matrix, macs)
        cells = macs * work.products.cells(*array)
        passes = cells / prod(array) * self.engines.cycles_per_pass(work.element)
        return Effort(matrix, max(matrix, passes), macs)

    def of_elements(self, op: ReferenceInterface, box: Box, read: int) -> Effort:
        """
        Work that is none of products on some elements of the result, for which so many
        elements of an operand are read.
        """
        whole = self.of(op)
        match op:
            case ElementwiseInterface():
                needed = self.needs.get(op.results[0], Need()).elements
                each = whole.steps // needed if needed else 0
                return Effort(steps=each * elements_in(box))
            case AccumulatingInterface():
                combined = max(0, read - elements_in(box))
                return Effort(steps=min(whole.steps, combined))
            case _:
                return NO_EFFORT


class MacCounter:
    """Counts multiply-accumulates, those with the zeros around images left out."""

    def __init__(self, op: ContractionInterface) -> None:
        self.sides = Sides.of(op)
        self.extents = [each.extent for each in op.iterators()]
        self._borders: list[Border] = []
        shape = shape_of(op.operands[0])
        taken: set[int] = set()
        self._is_known = True
        for access, extent in zip(op.operand_accesses()[0] or (), shape, strict=True):
            if is_inside(access, self.extents, extent):
                continue
            moving = {each for each, _ in access.terms}
            self._is_known &= not moving & taken
            taken |= moving
            terms = [
                (factor, self.extents[each], each in self.sides.k)
                for each, factor in access.terms
            ]
            self._borders.append(
                Border(frozenset(moving), tuple(terms), access.offset, extent)
            )

    def least(self, counts: list[int]) -> int:
        """With so many values of each iterator, those of k all of them."""
        if not self._is_known:
            return 0
        at_borders = frozenset[int]().union(*(each.moving for each in self._borders))
        free = prod(n for each, n in enumerate(counts) if each not in at_borders)
        for border in self._borders:
            places = prod(counts[each] for each in border.moving - {*self.sides.k})
            free *= border.least[min(places, len(border.least) - 1)]
        return free


@dataclass(frozen=True)
class Border:
    """An axis of an image that windows reach beyond."""

    moving: frozenset[int]
    terms: tuple[tuple[int, int, bool], ...]
    """Of each iterator the distance and the extent, and whether it is one of k."""
    offset: int
    extent: int

    @cached_property
    def least(self) -> list[int]:
        """For each number of places the taps that lie in the image, at least."""
        places, taps = np.zeros(1, np.int64), np.zeros(1, np.int64)
        for factor, extent, is_tap in self.terms:
            steps = factor * np.arange(extent)
            if is_tap:
                taps = np.add.outer(taps, steps).reshape(-1)
            else:
                places = np.add.outer(places, steps).reshape(-1)
        read = self.offset + np.add.outer(places, taps)
        inside = np.sum((read >= 0) & (read < self.extent), axis=1)
        return [0, *accumulate(np.sort(inside).tolist())]
