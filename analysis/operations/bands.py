"""
Windows as bands: neighbouring results of a window, computed as columns of a product.

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
from tlf.machine.cycles import matmul_cycles
from tlf.machine.parts import Dataflow, Machine, MatrixEngine
from tlf.support.affine.access import Access, Accesses, Box, Interval

RESULT = 2
"""The number of the result, after those of the operands."""

Counts = tuple[int, ...]
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
    def longest(self) -> int:
        """The cells along the longer side."""
        return max(self.rows, self.cols)

    @property
    def sides(self) -> tuple[int, int]:
        """The cells that m and n of a product lie along; 1 for what passes by."""
        return {
            "os": (self.rows, self.cols),
            "ws": (1, self.cols),
            "is": (self.cols, 1),
        }[self.dataflow]

    def steps(self, work: Work) -> int:
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


class Work(NamedTuple):
    """`batch` products of `m x k` by `k x n`."""

    batch: int = 1
    m: int = 1
    n: int = 1
    k: int = 1

    @staticmethod
    def of(roles: Sequence[str], extents: Sequence[int]) -> Work:
        """The product of iterators with these roles."""
        sizes = {role: 1 for role in Work._fields}
        for role, extent in zip(roles, extents, strict=True):
            sizes[role] *= extent
        return Work(**sizes)

    def has_axes_of(self, least: int) -> bool:
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


class Axis(NamedTuple):
    """An axis along which a window moves."""

    moved: int
    """The iterator of the result."""
    tap: int
    """The iterator of the taps."""
    stride: int

    def seen(self, taps: int, count: int) -> int:
        """Return the number of elements that so many neighbours see."""
        return taps + (count - 1) * self.stride


@dataclass(frozen=True)
class Windows:
    """The windows of a sum of products."""

    roles: tuple[str, ...]
    """Those of its iterators: `batch`, `m`, `n` or `k`."""
    filters: int
    """The number of the operand that has the taps."""
    axes: tuple[Axis, ...]

    @staticmethod
    def of(
        roles: Sequence[str], operands: Sequence[Accesses | None], result: Accesses
    ) -> Windows | None:
        """The windows that one of two operands has over the other, if any."""
        for filters in (1, 0):
            images, taps = operands[1 - filters], operands[filters]
            if images is None or taps is None:
                continue
            if axes := tuple(_axes(images, taps, result)):
                return Windows(tuple(roles), filters, axes)
        return None

    def moves(self, iterator: int) -> bool:
        """Return `True` if windows move with an iterator of the result."""
        return any(iterator == axis.moved for axis in self.axes)

    def banded(self, extents: Sequence[int], counts: Counts) -> Work:
        """The product with bands of so many neighbours, the last ones filled up."""
        batch, m, n, k = Work.of(self.roles, extents)
        columns = prod(counts)
        for axis, count in zip(self.axes, counts, strict=True):
            taps = extents[axis.tap]
            k = k // taps * axis.seen(taps, count)
        if self.filters:
            return Work(batch, ceil(m / columns), n * columns, k)
        return Work(batch, m * columns, ceil(n / columns), k)

    def ranked(self, extents: Sequence[int], array: SystolicArray) -> Iterator[Bands]:
        """
        All bands, however results are cut, those first with which an array takes the
        fewest steps. With a neighbour each, they are none.
        """
        every = tuple(extents)
        choices = self.choices(every, array.longest)
        rank = partial(_rank, self, every, array)
        return (Bands(self, every, counts) for counts in sorted(choices, key=rank))

    def choices(self, extents: Sequence[int], most: int) -> Iterator[Counts]:
        """All numbers of neighbours with no more than so many columns, 1 among them."""
        room = max(1, most // self.columns(extents))
        moved = [range(1, min(room, extents[axis.moved]) + 1) for axis in self.axes]
        return (counts for counts in product(*moved) if prod(counts) <= room)

    def columns(self, extents: Sequence[int]) -> int:
        """Return the number of filters that see the same elements."""
        work = Work.of(self.roles, extents)
        return work.n if self.filters else work.m

    def can_walk(self, extents: Sequence[int], counts: Counts) -> bool:
        """Return `True` if one instruction can walk all rows and all columns."""
        rows, columns = ("m", "n") if self.filters else ("n", "m")
        dims = {
            side: sum(
                role == side and extent > 1
                for role, extent in zip(self.roles, extents, strict=True)
            )
            for side in (rows, columns)
        }
        for axis, count in zip(self.axes, counts, strict=True):
            dims[columns] += count > 1
            dims[rows] -= count == extents[axis.moved] > 1
        return max(dims.values()) <= MAX_MATMUL_DIMENSIONS


def _axes(images: Accesses, filters: Accesses, result: Accesses) -> Iterator[Axis]:
    for access in images:
        terms = sorted(access.terms, key=lambda term: term[1])
        if access.width != 1 or len(terms) != 2:
            continue
        for (tap, step), (moved, stride) in (terms, terms[::-1]):
            others = [each for each in images if each is not access]
            is_window = (
                step == 1
                and stride > 0
                and _names_alone(result, moved)
                and _names_alone(filters, tap)
                and not any(each.uses({tap, moved}) for each in others)
                and not any(each.uses({moved}) for each in filters)
                and not any(each.uses({tap}) for each in result)
            )
            if is_window:
                yield Axis(moved, tap, stride)
                break


def _names_alone(accesses: Accesses, iterator: int) -> bool:
    """
    Return `True` if exactly one axis uses an iterator, and its index is that iterator.
    """
    users = [each for each in accesses if each.uses({iterator})]
    return len(users) == 1 and users[0].is_plain


@dataclass(frozen=True)
class Bands:
    """A sum of products whose neighbouring results are columns."""

    windows: Windows
    extents: tuple[int, ...]
    """Those of the iterators."""
    counts: Counts

    @staticmethod
    def of(
        windows: Windows, extents: Sequence[int], array: SystolicArray
    ) -> Bands | None:
        """The bands with which an array takes the fewest steps, if any help."""
        counts = _counts(windows, tuple(extents), array)
        return None if counts is None else Bands(windows, tuple(extents), counts)

    @property
    def work(self) -> Work:
        """The product that they make."""
        return self.windows.banded(self.extents, self.counts)

    def widened(self, filters: Accesses, box: Box) -> Box:
        """A box of the filters with the zeros around them."""
        wide = list(box)
        for number, access in enumerate(filters):
            for axis, count in self._several:
                if access.uses({axis.tap}):
                    zeros = (count - 1) * axis.stride
                    offset, size = box[number].offset - zeros, box[number].size
                    wide[number] = Interval(offset, size + 2 * zeros)
        return tuple(wide)

    @property
    def helps(self) -> bool:
        """True if there are several neighbours."""
        return prod(self.counts) > 1

    @property
    def rows(self) -> str:
        """The role of what neighbours are rows of where they are no columns."""
        return "m" if self.windows.filters else "n"

    @property
    def along(self) -> dict[int, int]:
        """
        Number of neighbours computed as columns, where there are several, by iterator
        of the result.
        """
        return {axis.moved: count for axis, count in self._several}

    @property
    def domain(self) -> tuple[int, ...]:
        """The extents of the dimensions: iterators, then those of neighbours."""
        extents = list(self.extents)
        for axis, count in self._several:
            extents[axis.moved] //= count
            extents[axis.tap] = axis.seen(extents[axis.tap], count)
        return (*extents, *(count for _, count in self._several))

    def accesses(
        self, operands: Sequence[Accesses | None], result: Accesses
    ) -> tuple[Accesses, ...]:
        """
        Return the accesses to the two operand tiles and the result tile, by dimension.
        Tiles start with what their first iterations access.
        """
        return tuple(
            tuple(self._access(each, tile) for each in accesses or ())
            for tile, accesses in enumerate((*operands[:2], result))
        )

    @property
    def _several(self) -> list[tuple[Axis, int]]:
        """The axes of which several neighbours are columns, and how many."""
        pairs = zip(self.windows.axes, self.counts, strict=True)
        return [(axis, count) for axis, count in pairs if count > 1]

    def _access(self, access: Access, tile: int) -> Access:
        for number, (axis, count) in enumerate(self._several, len(self.extents)):
            moves, taps = access.uses({axis.moved}), access.uses({axis.tap})
            if tile == RESULT and moves:
                return Access(((axis.moved, count), (number, 1)))
            if tile == self.windows.filters and taps:
                zeros = (count - 1) * axis.stride
                return Access(((axis.tap, 1), (number, -axis.stride)), zeros)
            if tile != RESULT and moves:
                return Access(((axis.moved, axis.stride * count), (axis.tap, 1)))
        return Access(access.terms)


@lru_cache(maxsize=1 << 16)
def _counts(
    windows: Windows, extents: tuple[int, ...], array: SystolicArray
) -> Counts | None:
    """The numbers of neighbours with which an array takes the fewest steps."""
    moved = [extents[axis.moved] for axis in windows.axes]
    alone, *others = windows.choices(extents, array.longest)
    known = [
        counts
        for counts in others
        if not any(extent % n for extent, n in zip(moved, counts, strict=True))
        and windows.can_walk(extents, counts)
    ]
    best = min((alone, *known), key=partial(_rank, windows, extents, array))
    return None if best == alone else best


def _rank(
    windows: Windows, extents: tuple[int, ...], array: SystolicArray, counts: Counts
) -> tuple[int, int]:
    """The steps of some bands, and how much is summed for one result."""
    work = windows.banded(extents, counts)
    return array.steps(work), work.k
