"""
Banded (Toeplitz) matmul: neighbouring results of a window as columns of a product.

Where few filters see the same elements, as those of one channel, few columns of an
array of cells are at work. `n` neighbours along an axis of windows of `K` taps, `s`
elements apart, see `K + (n - 1) s` elements between them. Let these be the summed axis,
and the neighbours further columns: a product with `n` times the columns and `n` times
fewer rows, whose weights are a band, the taps of a column `s` below those of the one
before, with zeros around them. The band is not stored: each column reads the filter,
with `(n - 1) s` zeros before and behind it, from another element on.

Elements that a window does not see are multiplied by zeros. So what lies beyond an
image must not be NaN, and NaN in an image may reach its neighbours.
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

RESULT_TILE = 2
"""The number of the result, after those of the operands."""

NeighbourCounts = tuple[int, ...]
"""Number of neighbours computed as columns, by axis of the windows."""


@dataclass(frozen=True)
class SystolicArray:
    """The cells of a matrix engine."""

    rows: int
    cols: int
    dataflow: Dataflow = "os"
    pipelined: bool = True

    @staticmethod
    def of(machine: Machine) -> SystolicArray | None:
        """The array of a machine, if it has one."""
        unit = machine.engines.get("matrix")
        if not isinstance(unit, MatrixEngine):
            return None
        return SystolicArray(unit.rows, unit.cols, unit.dataflow, unit.pipelined)

    @property
    def longest_side(self) -> int:
        """The cells along the longer side."""
        return max(self.rows, self.cols)

    @property
    def side_cells(self) -> tuple[int, int]:
        """The cells that m and n of a product lie along; 1 for what passes by."""
        return {
            "os": (self.rows, self.cols),
            "ws": (1, self.cols),
            "is": (self.cols, 1),
        }[self.dataflow]

    def count_steps(self, work: MatmulWork) -> int:
        """The steps of a product, as it is or transposed, whichever takes less."""
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
    """`batch` products of `m x k` by `k x n`."""

    batch: int = 1
    m: int = 1
    n: int = 1
    k: int = 1

    @staticmethod
    def of(roles: Sequence[str], extents: Sequence[int]) -> MatmulWork:
        """The product of iterators with these roles."""
        sizes = {role: 1 for role in MatmulWork._fields}
        for role, extent in zip(roles, extents, strict=True):
            sizes[role] *= extent
        return MatmulWork(**sizes)

    def has_min_extent(self, least: int) -> bool:
        """Return `True` if rows, columns and depth have at least so many elements."""
        return min(self.m, self.n, self.k) >= least


def role_of(used: Iterable[bool]) -> str:
    """The role of an iterator, by whether result, left and right input move with it."""
    in_result, in_left, in_right = used
    if not in_result:
        return "k"
    if in_left and in_right:
        return "batch"
    return "n" if in_right else "m"


class WindowAxis(NamedTuple):
    """An axis along which a window moves."""

    result_iterator: int
    """The iterator of the result."""
    tap_iterator: int
    """The iterator of the taps."""
    stride: int

    def input_extent(self, taps: int, count: int) -> int:
        """Return the number of elements that so many neighbours see."""
        return taps + (count - 1) * self.stride


@dataclass(frozen=True)
class Windows:
    """The sliding windows of a contraction."""

    roles: tuple[str, ...]
    """Those of its iterators: `batch`, `m`, `n` or `k`."""
    filter_operand: int
    """The number of the operand that has the taps."""
    axes: tuple[WindowAxis, ...]

    @staticmethod
    def of(
        roles: Sequence[str], operands: Sequence[Accesses | None], result: Accesses
    ) -> Windows | None:
        """The windows that one of two operands has over the other, if any."""
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

    def to_banded_work(
        self, extents: Sequence[int], counts: NeighbourCounts
    ) -> MatmulWork:
        """The product with bands of so many neighbours, the last ones filled up."""
        batch, m, n, k = MatmulWork.of(self.roles, extents)
        columns = prod(counts)
        for axis, count in zip(self.axes, counts, strict=True):
            taps = extents[axis.tap_iterator]
            k = k // taps * axis.input_extent(taps, count)
        if self.filter_operand:
            return MatmulWork(batch, ceil(m / columns), n * columns, k)
        return MatmulWork(batch, m * columns, ceil(n / columns), k)

    def rank_banded(
        self, extents: Sequence[int], array: SystolicArray
    ) -> Iterator[BandedMatmul]:
        """
        All bands, however results are cut, those first with which an array takes the
        fewest steps. With a neighbour each, they are none.
        """
        every = tuple(extents)
        choices = self.neighbour_counts(every, array.longest_side)
        rank = partial(_rank_of, self, every, array)
        return (
            BandedMatmul(self, every, counts) for counts in sorted(choices, key=rank)
        )

    def neighbour_counts(
        self, extents: Sequence[int], most: int
    ) -> Iterator[NeighbourCounts]:
        """All numbers of neighbours with no more than so many columns, 1 among them."""
        room = max(1, most // self.filter_count(extents))
        moved = [
            range(1, min(room, extents[axis.result_iterator]) + 1) for axis in self.axes
        ]
        return (counts for counts in product(*moved) if prod(counts) <= room)

    def filter_count(self, extents: Sequence[int]) -> int:
        """Return the number of filters that see the same elements."""
        work = MatmulWork.of(self.roles, extents)
        return work.n if self.filter_operand else work.m

    def is_single_instruction(
        self, extents: Sequence[int], counts: NeighbourCounts
    ) -> bool:
        """Return `True` if one instruction can walk all rows and all columns."""
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
    for access in images:
        terms = sorted(access.terms, key=lambda term: term[1])
        if access.width != 1 or len(terms) != 2:
            continue
        for (tap, step), (moved, stride) in (terms, terms[::-1]):
            others = [each for each in images if each is not access]
            is_window = (
                step == 1
                and stride > 0
                and _is_plain_index(result, moved)
                and _is_plain_index(filters, tap)
                and not any(each.depends_on({tap, moved}) for each in others)
                and not any(each.depends_on({moved}) for each in filters)
                and not any(each.depends_on({tap}) for each in result)
            )
            if is_window:
                yield WindowAxis(moved, tap, stride)
                break


def _is_plain_index(accesses: Accesses, iterator: int) -> bool:
    """
    Return `True` if exactly one axis uses an iterator, and its index is that iterator.
    """
    users = [each for each in accesses if each.depends_on({iterator})]
    return len(users) == 1 and users[0].is_loop_dim


@dataclass(frozen=True)
class BandedMatmul:
    """A contraction whose neighbouring results are columns of one banded matmul."""

    windows: Windows
    extents: tuple[int, ...]
    """Those of the iterators."""
    counts: NeighbourCounts

    @staticmethod
    def of(
        windows: Windows, extents: Sequence[int], array: SystolicArray
    ) -> BandedMatmul | None:
        """The bands with which an array takes the fewest steps, if any help."""
        counts = _best_counts(windows, tuple(extents), array)
        return None if counts is None else BandedMatmul(windows, tuple(extents), counts)

    @property
    def work(self) -> MatmulWork:
        """The product that they make."""
        return self.windows.to_banded_work(self.extents, self.counts)

    def widen_filter_box(self, filters: Accesses, box: Box) -> Box:
        """A box of the filters with the zeros around them."""
        wide = list(box)
        for number, access in enumerate(filters):
            for axis, count in self._grouped_axes:
                if access.depends_on({axis.tap_iterator}):
                    zeros = (count - 1) * axis.stride
                    offset, size = box[number].offset - zeros, box[number].size
                    wide[number] = Interval(offset, size + 2 * zeros)
        return tuple(wide)

    @property
    def has_neighbours(self) -> bool:
        """True if there are several neighbours."""
        return prod(self.counts) > 1

    @property
    def row_role(self) -> str:
        """The role of what neighbours are rows of where they are no columns."""
        return "m" if self.windows.filter_operand else "n"

    @property
    def columns_by_iterator(self) -> dict[int, int]:
        """
        Number of neighbours computed as columns, where there are several, by iterator
        of the result.
        """
        return {axis.result_iterator: count for axis, count in self._grouped_axes}

    @property
    def domain_extents(self) -> tuple[int, ...]:
        """The extents of the dimensions: iterators, then those of neighbours."""
        extents = list(self.extents)
        for axis, count in self._grouped_axes:
            extents[axis.result_iterator] //= count
            extents[axis.tap_iterator] = axis.input_extent(
                extents[axis.tap_iterator], count
            )
        return (*extents, *(count for _, count in self._grouped_axes))

    def tile_accesses(
        self, operands: Sequence[Accesses | None], result: Accesses
    ) -> tuple[Accesses, ...]:
        """
        Return the accesses to the two operand tiles and the result tile, by dimension.
        Tiles start with what their first iterations access.
        """
        return tuple(
            tuple(self._tile_access(each, tile) for each in accesses or ())
            for tile, accesses in enumerate((*operands[:2], result))
        )

    @property
    def _grouped_axes(self) -> list[tuple[WindowAxis, int]]:
        """The axes of which several neighbours are columns, and how many."""
        pairs = zip(self.windows.axes, self.counts, strict=True)
        return [(axis, count) for axis, count in pairs if count > 1]

    def _tile_access(self, access: IndexAccess, tile: int) -> IndexAccess:
        for number, (axis, count) in enumerate(self._grouped_axes, len(self.extents)):
            moves, taps = (
                access.depends_on({axis.result_iterator}),
                access.depends_on({axis.tap_iterator}),
            )
            if tile == RESULT_TILE and moves:
                return IndexAccess(((axis.result_iterator, count), (number, 1)))
            if tile == self.windows.filter_operand and taps:
                zeros = (count - 1) * axis.stride
                return IndexAccess(
                    ((axis.tap_iterator, 1), (number, -axis.stride)), zeros
                )
            if tile != RESULT_TILE and moves:
                return IndexAccess(
                    (
                        (axis.result_iterator, axis.stride * count),
                        (axis.tap_iterator, 1),
                    )
                )
        return IndexAccess(access.terms)


@lru_cache(maxsize=1 << 16)
def _best_counts(
    windows: Windows, extents: tuple[int, ...], array: SystolicArray
) -> NeighbourCounts | None:
    """The numbers of neighbours with which an array takes the fewest steps."""
    moved = [extents[axis.result_iterator] for axis in windows.axes]
    alone, *others = windows.neighbour_counts(extents, array.longest_side)
    known = [
        counts
        for counts in others
        if not any(extent % n for extent, n in zip(moved, counts, strict=True))
        and windows.is_single_instruction(extents, counts)
    ]
    best = min((alone, *known), key=partial(_rank_of, windows, extents, array))
    return None if best == alone else best


def _rank_of(
    windows: Windows,
    extents: tuple[int, ...],
    array: SystolicArray,
    counts: NeighbourCounts,
) -> tuple[int, int]:
    """The steps of some bands, and how much is summed for one result."""
    work = windows.to_banded_work(extents, counts)
    return array.count_steps(work), work.k
