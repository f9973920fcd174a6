"""
Analysis of banded (Toeplitz) matmuls: neighbouring results of a window as columns of a
product.

If few filters read the same elements, as with one output channel, few columns of a
systolic array are busy. `n` neighbouring results along an axis of windows of `K` taps
with stride `s` read `K + (n - 1) s` elements. The banded matmul reduces over these
elements, and has the neighbours as additional columns: `n` times the columns and `n`
times fewer rows. Its weights are a band: the taps of each column are shifted by `s`
relative to the previous column, with zeros around them. The band is not stored: each
column reads the filter, padded by `(n - 1) s` zeros before and after it, at another
offset.

Elements outside of a window are multiplied by zeros. The padding of an image must
therefore not be NaN, and NaN in an image may propagate to neighbouring results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from math import ceil, prod
from typing import NamedTuple

from tlf.dialects.npu import MAX_MATMUL_DIMENSIONS
from tlf.machine.engine_cycles import matmul_cycles
from tlf.machine.machine_spec import Dataflow, Machine, MatrixEngine
from tlf.support.affine.index_access import Accesses, Box, IndexAccess, Interval
from tlf.support.symbolic.traced_integer import decide

RESULT_TILE = 2
"""Index of the result tile, after the operand tiles."""

NeighbourCounts = tuple[int, ...]
"""Number of neighbours computed as columns, by axis of the windows."""


@dataclass(frozen=True)
class SystolicArray:
    """Shape and dataflow of the systolic array of a matrix engine."""

    rows: int
    cols: int
    dataflow: Dataflow = "os"
    pipelined: bool = True

    @staticmethod
    def of(machine: Machine) -> SystolicArray | None:
        """
        Return the systolic array of the `matrix` engine of a machine; None if it has
        none.
        """
        unit = machine.engines.get("matrix")
        if not isinstance(unit, MatrixEngine):
            return None
        return SystolicArray(unit.rows, unit.cols, unit.dataflow, unit.pipelined)

    @property
    def longest_side(self) -> int:
        """Number of cells along the longer side."""
        return max(self.rows, self.cols)

    @property
    def side_cells(self) -> tuple[int, int]:
        """Number of cells along m and n of a product; 1 for a streamed dimension."""
        return {
            "os": (self.rows, self.cols),
            "ws": (1, self.cols),
            "is": (self.cols, 1),
        }[self.dataflow]

    def steps_of_matmul(self, work: MatmulWork) -> int:
        """Return the steps of a product or of its transpose, whichever is faster."""
        batch, m, n, k = work
        return min(
            matmul_cycles(
                batch,
                *sides,
                k,
                rows=self.rows,
                cols=self.cols,
                cycles=1,
                dataflow=self.dataflow,
                pipelined=self.pipelined,
            )
            for sides in ((m, n), (n, m))
        )


class MatmulWork(NamedTuple):
    """Extents of a batched matmul: `batch` products of `m x k` by `k x n`."""

    batch: int = 1
    m: int = 1
    n: int = 1
    k: int = 1

    @staticmethod
    def of_iterators(roles: Sequence[str], extents: Sequence[int]) -> MatmulWork:
        """
        Return the batched matmul whose extents are the products of the extents of the
        iterators of each role.
        """
        sizes = {role: 1 for role in MatmulWork._fields}
        for role, extent in zip(roles, extents, strict=True):
            sizes[role] *= extent
        return MatmulWork(**sizes)

    def has_min_extents(self, min_extent: int) -> bool:
        """Return `True` if m, n and k are at least `min_extent`."""
        return min(self.m, self.n, self.k) >= min_extent


def iterator_role_of(is_used_by: Iterable[bool]) -> str:
    """
    Return the role of an iterator. `is_used_by` is true for each of result, left and
    right input that depends on it.
    """
    in_result, in_left, in_right = is_used_by
    if not in_result:
        return "k"
    if in_left and in_right:
        return "batch"
    return "n" if in_right else "m"


class WindowAxis(NamedTuple):
    """Axis along which a sliding window moves: the two iterators, and its stride."""

    result_iterator: int
    """Iterator of the result."""
    tap_iterator: int
    """Iterator of the taps."""
    stride: int

    def input_extent(self, taps: int, neighbours: int) -> int:
        """Return the number of elements that `neighbours` neighbours read."""
        return taps + (neighbours - 1) * self.stride


@dataclass(frozen=True)
class Windows:
    """
    Sliding windows of a contraction: the roles of its iterators, the operand that holds
    the filters, and the axes.
    """

    roles: tuple[str, ...]
    """Roles of the iterators: `batch`, `m`, `n` or `k`."""
    filter_operand: int
    """Index of the operand that has the taps."""
    axes: tuple[WindowAxis, ...]

    @staticmethod
    def find_windows(
        roles: Sequence[str], operands: Sequence[Accesses | None], result: Accesses
    ) -> Windows | None:
        """
        Return the windows that one of two operands moves over the other; None if there
        are none.
        """
        for filters in (1, 0):
            images, taps = operands[1 - filters], operands[filters]
            if images is None or taps is None:
                continue
            if axes := tuple(_find_window_axes(images, taps, result)):
                return Windows(tuple(roles), filters, axes)
        return None

    def is_window_iterator(self, iterator: int) -> bool:
        """Return `True` if windows move with an iterator of the result."""
        return any(iterator == axis.result_iterator for axis in self.axes)

    def banded_matmul_work(
        self, extents: Sequence[int], counts: NeighbourCounts
    ) -> MatmulWork:
        """
        Return the banded matmul of `counts` neighbours, with the last ones padded.
        """
        batch, m, n, k = MatmulWork.of_iterators(self.roles, extents)
        columns = prod(counts)
        for axis, count in zip(self.axes, counts, strict=True):
            taps = extents[axis.tap_iterator]
            k = k // taps * axis.input_extent(taps, count)
        if self.filter_operand:
            return MatmulWork(batch, ceil(m / columns), n * columns, k)
        return MatmulWork(batch, m * columns, ceil(n / columns), k)

    def rank_banded_matmuls(
        self, extents: Sequence[int], array: SystolicArray
    ) -> Iterator[BandedMatmul]:
        """
        Return all banded matmuls, even those that do not divide the results, sorted by
        the steps of an array. With one neighbour per axis, the product is not banded.
        """
        domain = tuple(extents)
        candidates = self.candidate_neighbour_counts(domain, array.longest_side)
        rank = partial(_sort_key_of_banded_matmul, self, domain, array)
        return (
            BandedMatmul(self, domain, counts)
            for counts in sorted(candidates, key=rank)
        )

    def candidate_neighbour_counts(
        self, extents: Sequence[int], max_columns: int
    ) -> Iterator[NeighbourCounts]:
        """
        Return all numbers of neighbours with at most `max_columns` columns, including
        1.
        """
        max_count = max(1, max_columns // self.filter_count(extents))
        ranges = [
            range(1, min(max_count, extents[axis.result_iterator]) + 1)
            for axis in self.axes
        ]
        return (counts for counts in product(*ranges) if prod(counts) <= max_count)

    def filter_count(self, extents: Sequence[int]) -> int:
        """Return the number of filters that read the same elements."""
        work = MatmulWork.of_iterators(self.roles, extents)
        return work.n if self.filter_operand else work.m

    def is_banded_in_one_instruction(
        self, extents: Sequence[int], counts: NeighbourCounts
    ) -> bool:
        """
        Return `True` if one instruction can iterate over all rows and all columns.
        """
        rows, columns = ("m", "n") if self.filter_operand else ("n", "m")
        dims = {
            side: sum(
                role == side and extent > 1
                for role, extent in zip(self.roles, extents, strict=True)
            )
            for side in (rows, columns)
        }
        for axis, count in zip(self.axes, counts, strict=True):
            dims[columns] += count > 1
            dims[rows] -= count == extents[axis.result_iterator] > 1
        return max(dims.values()) <= MAX_MATMUL_DIMENSIONS


def _find_window_axes(
    images: Accesses, filters: Accesses, result: Accesses
) -> Iterator[WindowAxis]:
    """
    Yield the image axes indexed by `tap + stride * result`, whose tap indexes one axis
    of the filters and whose result iterator one of the result.
    """
    for access in images:
        terms = sorted(access.terms, key=lambda term: term[1])
        if access.width != 1 or len(terms) != 2:
            continue
        for (tap, step), (result_iterator, stride) in (terms, terms[::-1]):
            other_accesses = [each for each in images if each is not access]
            is_window = (
                step == 1
                and stride > 0
                and _is_index_of_one_axis(result, result_iterator)
                and _is_index_of_one_axis(filters, tap)
                and not any(
                    each.depends_on({tap, result_iterator}) for each in other_accesses
                )
                and not any(each.depends_on({result_iterator}) for each in filters)
                and not any(each.depends_on({tap}) for each in result)
            )
            if is_window:
                yield WindowAxis(result_iterator, tap, stride)
                break


def _is_index_of_one_axis(accesses: Accesses, iterator: int) -> bool:
    """
    Return `True` if exactly one axis uses an iterator, and its index is that iterator.
    """
    users = [each for each in accesses if each.depends_on({iterator})]
    return len(users) == 1 and users[0].is_loop_dim


@dataclass(frozen=True)
class BandedMatmul:
    """Contraction whose neighbouring results are columns of one banded matmul."""

    windows: Windows
    extents: tuple[int, ...]
    """Extents of the iterators."""
    neighbour_counts: NeighbourCounts

    @staticmethod
    def find_fastest(
        windows: Windows, extents: Sequence[int], array: SystolicArray
    ) -> BandedMatmul | None:
        """
        Return the banded matmul with the fewest steps of an array; None if banding does
        not help.
        """
        counts = decide(
            lambda numbers: _best_neighbour_counts(windows, tuple(numbers), array),
            extents,
        )
        return None if counts is None else BandedMatmul(windows, tuple(extents), counts)

    @property
    def banded_work(self) -> MatmulWork:
        """Extents of the banded matmul."""
        return self.windows.banded_matmul_work(self.extents, self.neighbour_counts)

    def add_zero_borders_to_filters(self, filters: Accesses, box: Box) -> Box:
        """
        Return `box` of the filters, widened at both ends by the zeros of the banded
        matmul.
        """
        widened = list(box)
        for position, access in enumerate(filters):
            for axis, count in self._axes_with_neighbours:
                if access.depends_on({axis.tap_iterator}):
                    zeros = (count - 1) * axis.stride
                    offset, size = box[position].offset - zeros, box[position].size
                    widened[position] = Interval(offset, size + 2 * zeros)
        return tuple(widened)

    @property
    def has_neighbours(self) -> bool:
        """True if there are several neighbours."""
        return prod(self.neighbour_counts) > 1

    @property
    def row_role(self) -> str:
        """Role of the iterators whose neighbours become columns."""
        return "m" if self.windows.filter_operand else "n"

    @property
    def columns_by_iterator(self) -> dict[int, int]:
        """
        Number of neighbours computed as columns, if more than one, by iterator of the
        result.
        """
        return {
            axis.result_iterator: count for axis, count in self._axes_with_neighbours
        }

    @property
    def domain_extents(self) -> tuple[int, ...]:
        """
        Extents of the iterators of the banded matmul, followed by the numbers of
        neighbours.
        """
        extents = list(self.extents)
        for axis, count in self._axes_with_neighbours:
            extents[axis.result_iterator] //= count
            extents[axis.tap_iterator] = axis.input_extent(
                extents[axis.tap_iterator], count
            )
        return (*extents, *(count for _, count in self._axes_with_neighbours))

    def tile_accesses(
        self, operands: Sequence[Accesses | None], result: Accesses
    ) -> tuple[Accesses, ...]:
        """
        Return the accesses to the two operand tiles and the result tile, by dimension.
        Tiles start at the access of their first iteration.
        """
        return tuple(
            tuple(self._access_to_tile(each, tile) for each in accesses or ())
            for tile, accesses in enumerate((*operands[:2], result))
        )

    @property
    def _axes_with_neighbours(self) -> list[tuple[WindowAxis, int]]:
        """Axes with several neighbours as columns, and their number."""
        pairs = zip(self.windows.axes, self.neighbour_counts, strict=True)
        return [(axis, count) for axis, count in pairs if count > 1]

    def _access_to_tile(self, access: IndexAccess, tile: int) -> IndexAccess:
        """
        Return an access by banded dimensions, relative to the start of a tile: of the
        image, of the filters with zero borders, or of the result.
        """
        for dim, (axis, count) in enumerate(
            self._axes_with_neighbours, len(self.extents)
        ):
            moves, taps = (
                access.depends_on({axis.result_iterator}),
                access.depends_on({axis.tap_iterator}),
            )
            if tile == RESULT_TILE and moves:
                return IndexAccess(((axis.result_iterator, count), (dim, 1)))
            if tile == self.windows.filter_operand and taps:
                zeros = (count - 1) * axis.stride
                return IndexAccess(((axis.tap_iterator, 1), (dim, -axis.stride)), zeros)
            if tile != RESULT_TILE and moves:
                return IndexAccess(
                    (
                        (axis.result_iterator, axis.stride * count),
                        (axis.tap_iterator, 1),
                    )
                )
        return IndexAccess(access.terms)


@lru_cache(maxsize=1 << 16)
def _best_neighbour_counts(
    windows: Windows, extents: tuple[int, ...], array: SystolicArray
) -> NeighbourCounts | None:
    """
    Return the numbers of neighbours with the fewest steps of an array; None if one per
    axis is best.
    """
    result_extents = [extents[axis.result_iterator] for axis in windows.axes]
    unbanded, *banded = windows.candidate_neighbour_counts(extents, array.longest_side)
    legal = [
        counts
        for counts in banded
        if not any(extent % n for extent, n in zip(result_extents, counts, strict=True))
        and windows.is_banded_in_one_instruction(extents, counts)
    ]
    best = min(
        (unbanded, *legal),
        key=partial(_sort_key_of_banded_matmul, windows, extents, array),
    )
    return None if best == unbanded else best


def _sort_key_of_banded_matmul(
    windows: Windows,
    extents: tuple[int, ...],
    array: SystolicArray,
    counts: NeighbourCounts,
) -> tuple[int, int]:
    """Return the sort key of a banded matmul: steps, then reduction extent."""
    work = windows.banded_matmul_work(extents, counts)
    return array.steps_of_matmul(work), work.k
