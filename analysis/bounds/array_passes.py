"""
Multiply-accumulates of a contraction, and the passes of a systolic array over them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tlf.analysis.bounds.access_footprint import is_in_bounds
from tlf.analysis.operations.banded_matmul import MatmulWork, Windows
from tlf.analysis.operations.op_facts import OpFacts
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import IndexAccess


@dataclass(frozen=True)
class ContractionDims:
    """The iterators of a contraction by role: batch, m, n and k."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    @staticmethod
    def of(op: ContractionInterface) -> ContractionDims:
        """The iterators of an operation."""
        roles = list(enumerate(OpFacts(op).roles))
        return ContractionDims(
            *(
                tuple(number for number, role in roles if role == each)
                for each in MatmulWork._fields
            )
        )


@dataclass(frozen=True)
class ContractionSteps:
    """
    The steps of a contraction: for every index of `k` some rows times some columns.

    Windows that reach beyond an image multiply zeros there. That need not be done, and
    is left out.
    """

    copies: int
    """Number of repetitions of all steps: for batches, and for indices of k."""
    rows: tuple[int, ...]
    """The rows of each step."""
    columns: int
    banded: BandedSteps | None = None
    """Those with neighbouring results as columns, if there are any."""

    @staticmethod
    def of(op: ContractionInterface) -> ContractionSteps:
        """The steps of an operation."""
        sides = ContractionDims.of(op)
        extents = [iterator.extent for iterator in op.iteration_domain()]
        shape = tensor_type(op.operands[0]).get_shape()
        rows, bound = np.ones(1, np.int64), set[int]()
        for access, extent in zip(op.indexing_maps()[0] or (), shape, strict=True):
            moving = {iterator for iterator, _ in access.terms}
            if is_in_bounds(access, extents, extent) or not moving <= {
                *sides.m,
                *sides.k,
            }:
                continue
            inside = _count_rows_in_bounds(access, extents, extent, sides)
            rows = np.multiply.outer(rows, inside).reshape(-1)
            bound |= moving
        free = prod(extents[each] for each in sides.m if each not in bound)
        others = [*sides.batch, *(each for each in sides.k if each not in bound)]
        return ContractionSteps(
            prod(extents[each] for each in others),
            tuple(free * each for each in rows.tolist()),
            prod(extents[each] for each in sides.n),
            BandedSteps.of(op),
        )

    @property
    def macs(self) -> int:
        """All multiply-accumulates."""
        return self.copies * self.columns * sum(self.rows)

    def min_passes(self, rows: int, cols: int) -> int:
        """
        The least number of passes of an array of `rows` by `cols` cells.

        A pass does one step of k for rows and columns that fit on the array, so that
        a row of N columns is in ceil(N / cols) passes at least, each of which may have
        other rows too: in all M * ceil(N / cols) / rows for M rows, however they are
        put together; and the same with the sides exchanged. A tile may have its sides
        either way round, which `share` sees to.
        """
        cells, total = rows * cols, 0
        across = min_cells_of_row(self.columns, rows, cols)
        for count, times in Counter(self.rows).items():
            along = self.columns * min_cells_of_row(count, rows, cols)
            total += times * -(-max(count * across, along) // cells)
        alone, banded = self.copies * total, self.banded
        return alone if banded is None else min(alone, banded.min_passes(rows, cols))

    def min_cells_per_mac(self, rows: int, cols: int) -> float:
        """The least number of cells of a pass that a multiply-accumulate takes."""
        alone, banded = (
            min_cells_of_row(self.columns, rows, cols) / self.columns,
            self.banded,
        )
        return (
            alone
            if banded is None
            else min(alone, banded.min_cells_per_mac(rows, cols))
        )


@dataclass(frozen=True)
class BandedSteps:
    """
    Steps of a contraction with windows, computed as banded matmuls. Tiles may have any
    number of them.
    """

    windows: Windows
    extents: tuple[int, ...]

    @staticmethod
    def of(op: ContractionInterface) -> BandedSteps | None:
        """Those of an operation, if it has windows."""
        form = OpFacts(op)
        return None if form.windows is None else BandedSteps(form.windows, form.extents)

    def min_passes(self, rows: int, cols: int) -> int:
        """The least number of passes of an array of `rows` by `cols` cells."""
        least: list[int] = []
        for batch, m, n, k in self.candidate_matmuls(max(rows, cols)):
            taken = max(
                m * min_cells_of_row(n, rows, cols), n * min_cells_of_row(m, rows, cols)
            )
            least.append(batch * k * -(-taken // (rows * cols)))
        return min(least)

    def min_cells_per_mac(self, rows: int, cols: int) -> float:
        """The least number of cells of a pass that a multiply-accumulate takes."""
        whole = MatmulWork.of(self.windows.roles, self.extents).k
        return min(
            work.k / whole * min_cells_of_row(work.n, rows, cols) / work.n
            for work in self.candidate_matmuls(max(rows, cols))
        )

    def candidate_matmuls(self, most: int) -> tuple[MatmulWork, ...]:
        """The products with up to so many columns, without neighbours left over."""
        return _candidate_matmuls(self.windows, self.extents, most)


@lru_cache(maxsize=1 << 10)
def _candidate_matmuls(
    windows: Windows, extents: tuple[int, ...], most: int
) -> tuple[MatmulWork, ...]:
    whole, found = MatmulWork.of(windows.roles, extents), list[MatmulWork]()
    for counts in windows.neighbour_counts(extents, most):
        work, several = windows.to_banded_work(extents, counts), prod(counts)
        if windows.filter_operand:
            found.append(work._replace(m=max(1, whole.m // several)))
        else:
            found.append(work._replace(n=max(1, whole.n // several)))
    return tuple(found)


def min_cells_of_row(length: int, rows: int, cols: int) -> int:
    """
    The least number of cells, of the `rows * cols` of each pass, that a row of `length`
    products takes: pieces laid along `cols` take `cols` of them, as `rows` rows share
    the pass, and pieces laid along `rows` take `rows`.
    """
    if rows == cols:
        return cols * -(-length // cols)
    least = rows * -(-length // rows)
    for pieces in range(1, -(-length // cols) + 1):
        rest = max(0, length - pieces * cols)
        least = min(least, pieces * cols + rows * -(-rest // rows))
    return least


def _count_rows_in_bounds(
    access: IndexAccess, extents: Sequence[int], extent: int, sides: ContractionDims
) -> NDArray[np.int64]:
    """For each index of k in an access, how many rows it reads an index for."""

    def offsets_along(iterators: Sequence[int]) -> NDArray[np.int64]:
        found = np.zeros(1, np.int64)
        for iterator, factor in access.terms:
            if iterator in iterators:
                steps = factor * np.arange(extents[iterator])
                found = np.add.outer(found, steps).reshape(-1)
        return found

    read = access.offset + np.add.outer(offsets_along(sides.k), offsets_along(sides.m))
    return np.sum((read >= 0) & (read < extent), axis=1)
