"""
Analysis of contractions: multiply-accumulates, and passes of a systolic array over
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from tlf.analysis.bounds.access_footprint import is_access_in_bounds
from tlf.analysis.operations.banded_matmul import MatmulWork, Windows
from tlf.analysis.operations.op_facts import OpFacts
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.types import tensor_type
from tlf.support.affine.index_access import IndexAccess


@dataclass(frozen=True)
class ContractionDims:
    """Indices of the iterators of a contraction, by role: batch, m, n and k."""

    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    @staticmethod
    def of(op: ContractionInterface) -> ContractionDims:
        """Return the indices of the iterators of a contraction, grouped by role."""
        roles = list(enumerate(OpFacts(op).iterator_roles))
        return ContractionDims(
            *(
                tuple(iterator for iterator, role in roles if role == each)
                for each in MatmulWork._fields
            )
        )


@dataclass(frozen=True)
class ContractionSteps:
    """
    Steps of a contraction: for every index of `k`, some rows times some columns.

    Windows that extend beyond an image multiply padding zeros there. These products can
    be skipped, so they are not counted.
    """

    repeat_count: int
    """Number of repetitions of all steps: for batches, and for indices of k."""
    rows_per_step: tuple[int, ...]
    """Number of rows of each step."""
    columns_per_step: int
    banded_steps: BandedSteps | None = None
    """
    Steps of banded matmuls, with neighbouring results as columns, if there are windows.
    """

    @staticmethod
    def of(op: ContractionInterface) -> ContractionSteps:
        """Return the steps of a contraction, without products with padding zeros."""
        sides = ContractionDims.of(op)
        extents = [iterator.extent for iterator in op.iteration_domain()]
        shape = tensor_type(op.operands[0]).get_shape()
        rows, bound = np.ones(1, np.int64), set[int]()
        for access, extent in zip(op.indexing_maps()[0] or (), shape, strict=True):
            iterators = {iterator for iterator, _ in access.terms}
            if is_access_in_bounds(access, extents, extent) or not iterators <= {
                *sides.m,
                *sides.k,
            }:
                continue
            rows_in_bounds = _count_rows_in_bounds(access, extents, extent, sides)
            rows = np.multiply.outer(rows, rows_in_bounds).reshape(-1)
            bound |= iterators
        free = prod(extents[each] for each in sides.m if each not in bound)
        repeated = [*sides.batch, *(each for each in sides.k if each not in bound)]
        return ContractionSteps(
            prod(extents[each] for each in repeated),
            tuple(free * each for each in rows.tolist()),
            prod(extents[each] for each in sides.n),
            BandedSteps.of(op),
        )

    @property
    def macs(self) -> int:
        """Total number of multiply-accumulates."""
        return self.repeat_count * self.columns_per_step * sum(self.rows_per_step)

    def min_passes(self, rows: int, cols: int) -> int:
        """
        Return a lower bound on the number of passes of an array of `rows` by `cols`
        cells.

        A pass computes one step of k for rows and columns that fit on the array. A row
        of N columns needs at least ceil(N / cols) passes, which other rows may share: M
        rows need at least M * ceil(N / cols) / rows passes for any packing, and
        likewise with the sides exchanged. `min_cells_of_product_row` accounts for tiles
        in both orientations.
        """
        cells, total = rows * cols, 0
        across = min_cells_of_product_row(self.columns_per_step, rows, cols)
        for count, times in Counter(self.rows_per_step).items():
            along = self.columns_per_step * min_cells_of_product_row(count, rows, cols)
            total += times * -(-max(count * across, along) // cells)
        unbanded, banded = self.repeat_count * total, self.banded_steps
        return (
            unbanded if banded is None else min(unbanded, banded.min_passes(rows, cols))
        )

    def min_cells_per_mac(self, rows: int, cols: int) -> float:
        """Return a lower bound on the cells of a pass per multiply-accumulate."""
        unbanded, banded = (
            min_cells_of_product_row(self.columns_per_step, rows, cols)
            / self.columns_per_step,
            self.banded_steps,
        )
        return (
            unbanded
            if banded is None
            else min(unbanded, banded.min_cells_per_mac(rows, cols))
        )


@dataclass(frozen=True)
class BandedSteps:
    """
    Steps of a contraction with windows, computed as banded matmuls. Tiles may have any
    number of neighbours.
    """

    windows: Windows
    extents: tuple[int, ...]

    @staticmethod
    def of(op: ContractionInterface) -> BandedSteps | None:
        """Return the banded steps of an operation; None if it has no windows."""
        form = OpFacts(op)
        return None if form.windows is None else BandedSteps(form.windows, form.extents)

    def min_passes(self, rows: int, cols: int) -> int:
        """
        Return a lower bound on the number of passes of an array of `rows` by `cols`
        cells.
        """
        least: list[int] = []
        for batch, m, n, k in self.candidate_banded_matmuls(max(rows, cols)):
            cells = max(
                m * min_cells_of_product_row(n, rows, cols),
                n * min_cells_of_product_row(m, rows, cols),
            )
            least.append(batch * k * -(-cells // (rows * cols)))
        return min(least)

    def min_cells_per_mac(self, rows: int, cols: int) -> float:
        """Return a lower bound on the cells of a pass per multiply-accumulate."""
        unbanded_k = MatmulWork.of_iterators(self.windows.roles, self.extents).k
        return min(
            work.k / unbanded_k * min_cells_of_product_row(work.n, rows, cols) / work.n
            for work in self.candidate_banded_matmuls(max(rows, cols))
        )

    def candidate_banded_matmuls(self, max_columns: int) -> tuple[MatmulWork, ...]:
        """
        Return the banded matmuls with up to `max_columns` columns, without remainders
        of neighbours.
        """
        return _candidate_banded_matmuls(self.windows, self.extents, max_columns)


@lru_cache(maxsize=1 << 10)
def _candidate_banded_matmuls(
    windows: Windows, extents: tuple[int, ...], max_columns: int
) -> tuple[MatmulWork, ...]:
    """
    Return the banded matmuls with at most `max_columns` columns, with the number of
    rows divided by the neighbours and rounded down.
    """
    whole, matmuls = MatmulWork.of_iterators(windows.roles, extents), list[MatmulWork]()
    for counts in windows.candidate_neighbour_counts(extents, max_columns):
        work, neighbours = windows.banded_matmul_work(extents, counts), prod(counts)
        if windows.filter_operand:
            matmuls.append(work._replace(m=max(1, whole.m // neighbours)))
        else:
            matmuls.append(work._replace(n=max(1, whole.n // neighbours)))
    return tuple(matmuls)


def min_cells_of_product_row(length: int, rows: int, cols: int) -> int:
    """
    Return a lower bound on the cells, of the `rows * cols` of each pass, that a row of
    `length` products takes. A segment along `cols` takes `cols` cells, as `rows` rows
    share the pass; a segment along `rows` takes `rows` cells.
    """
    if rows == cols:
        return cols * -(-length // cols)
    least = rows * -(-length // rows)
    for segments in range(1, -(-length // cols) + 1):
        remainder = max(0, length - segments * cols)
        least = min(least, segments * cols + rows * -(-remainder // rows))
    return least


def _count_rows_in_bounds(
    access: IndexAccess, extents: Sequence[int], extent: int, dims: ContractionDims
) -> NDArray[np.int64]:
    """
    Return, for each index of k in an access, the number of rows that read an in-bounds
    index.
    """

    def offsets_along(iterators: Sequence[int]) -> NDArray[np.int64]:
        found = np.zeros(1, np.int64)
        for iterator, factor in access.terms:
            if iterator in iterators:
                steps = factor * np.arange(extents[iterator])
                found = np.add.outer(found, steps).reshape(-1)
        return found

    read = access.offset + np.add.outer(offsets_along(dims.k), offsets_along(dims.m))
    return np.sum((read >= 0) & (read < extent), axis=1)
