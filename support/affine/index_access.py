"""
Affine index accesses: map a box of iterations to the box of an operand, and back.

Plain arithmetic without IR. An operation's interface describes each dimension of each
operand and result by an `Access`; tiling composes accesses backwards through a group,
and the offsets it composes may depend on induction variables, as a `Linear` does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache


@dataclass(slots=True, unsafe_hash=True)
class AffineSum:
    """
    A constant plus integer multiples of symbols, such as `2 * i + k - 1`. It is never
    changed; a frozen class would take four times as long to make.
    """

    constant: int = 0
    terms: tuple[tuple[Hashable, int], ...] = ()

    @staticmethod
    def of(symbol: Hashable) -> AffineSum:
        """The symbol itself."""
        return AffineSum(0, ((symbol, 1),))

    def __add__(self, other: AffineSum | int) -> AffineSum:
        if isinstance(other, int):
            return AffineSum(self.constant + other, self.terms) if other else self
        if not self.terms:
            return other + self.constant
        if not other.terms:
            return self + other.constant
        sums = dict(self.terms)
        for symbol, factor in other.terms:
            sums[symbol] = sums.get(symbol, 0) + factor
        terms = tuple((symbol, factor) for symbol, factor in sums.items() if factor)
        return AffineSum(self.constant + other.constant, terms)

    def __sub__(self, other: AffineSum | int) -> AffineSum:
        return self + other * -1

    def __mul__(self, factor: int) -> AffineSum:
        if factor == 1:
            return self
        if factor == 0:
            return AffineSum()
        terms = tuple((symbol, each * factor) for symbol, each in self.terms)
        return AffineSum(self.constant * factor, terms)

    def divide_exactly(self, divisor: int) -> AffineSum | None:
        """Return the exact quotient, or None if a coefficient is not a multiple."""
        factors = (self.constant, *(factor for _, factor in self.terms))
        if any(factor % divisor for factor in factors):
            return None
        terms = tuple((symbol, factor // divisor) for symbol, factor in self.terms)
        return AffineSum(self.constant // divisor, terms)

    def bounds(self, ranges: Mapping[Hashable, tuple[int, int]]) -> tuple[int, int]:
        """The least and the greatest value, given those of each symbol."""
        least = greatest = self.constant
        for symbol, factor in self.terms:
            ends = [factor * end for end in ranges[symbol]]
            least += min(ends)
            greatest += max(ends)
        return least, greatest

    def substitute(self, values: Mapping[Hashable, AffineSum]) -> AffineSum:
        """Replace the symbols that `values` names."""
        result = AffineSum(self.constant)
        for symbol, factor in self.terms:
            result += values.get(symbol, AffineSum.of(symbol)) * factor
        return result


ZERO = AffineSum()


@dataclass(slots=True, unsafe_hash=True)
class Interval:
    """
    `size` consecutive indices from `offset` on. The size is static. A tile that holds
    them may have room for more. It is never changed, as `Linear`.
    """

    offset: AffineSum
    size: int
    capacity: int = 0
    """The extent of the tile where that is more than `size`."""

    @property
    def tile_extent(self) -> int:
        """The extent of a tile that holds the interval."""
        return self.capacity if self.capacity > self.size else self.size

    @staticmethod
    @lru_cache(maxsize=1 << 12)
    def whole(size: int) -> Interval:
        """All indices of an axis of `size` elements."""
        return Interval(AffineSum(), size)

    def hull(self, other: Interval) -> Interval | None:
        """
        The least interval over both, or None where their distance is not constant.
        """
        distance = other.offset - self.offset
        if distance.terms:
            return None
        first = min(0, distance.constant)
        last = max(self.size, distance.constant + other.size)
        capacity = max(self.capacity, other.capacity)
        return Interval(self.offset + first, last - first, capacity)


Box = tuple[Interval, ...]
"""One interval per axis."""


@dataclass(frozen=True)
class IndexAccess:
    """
    The indices of one axis that an iteration touches: `width` of them from
    `offset + sum(coefficient * iterator)` on. Coefficients are not 0.
    """

    terms: tuple[tuple[int, int], ...] = ()
    offset: int = 0
    width: int = 1
    index: int | None = None
    """The operand whose element says which one of these an iteration touches."""

    @staticmethod
    def of(iterator: int) -> IndexAccess:
        """The index is the iterator itself."""
        return IndexAccess(((iterator, 1),))

    @cached_property
    def loop_dim(self) -> int | None:
        """The iterator that the index is, if it is one."""
        if self.width != 1 or self.offset != 0 or len(self.terms) != 1:
            return None
        ((iterator, coefficient),) = self.terms
        return iterator if coefficient == 1 else None

    @property
    def is_loop_dim(self) -> bool:
        """True if the index is a single iterator."""
        return self.loop_dim is not None

    @staticmethod
    def indirect(operand: int, extent: int) -> IndexAccess:
        """
        Return an indirect access: the index is an element that is read of another
        operand.
        """
        return IndexAccess(width=extent, index=operand)

    def interval(self, box: Box) -> Interval:
        """The least interval over what all iterations of `box` touch."""
        if (plain := self.loop_dim) is not None:
            return box[plain]
        first, size, room = self.offset, self.width, self.width
        offset = ZERO
        for iterator, coefficient in self.terms:
            moved = box[iterator]
            offset += moved.offset * coefficient
            if coefficient < 0:
                # What room there is beyond comes first.
                first += coefficient * (moved.tile_extent - 1)
                size -= coefficient * (moved.tile_extent - moved.size)
            size += abs(coefficient) * (moved.size - 1)
            room += abs(coefficient) * (moved.tile_extent - 1)
        return Interval(offset + first, size, room if room > size else 0)

    def depends_on(self, iterators: set[int]) -> bool:
        """Return `True` if the index depends on one of `iterators`."""
        return any(iterator in iterators for iterator, _ in self.terms)


Accesses = tuple[IndexAccess, ...]
"""One access per axis of an operand or a result."""


@cache
def identity_accesses(rank: int) -> Accesses:
    """Axis `i` is indexed by iterator `i`: always the same object for a rank."""
    return tuple(IndexAccess.of(axis) for axis in range(rank))


def intern_accesses(accesses: Accesses) -> Accesses:
    """Return the shared object for identity accesses, or the accesses themselves."""
    same = identity_accesses(len(accesses))
    return same if accesses == same else accesses


def broadcast_accesses(shape: Sequence[int], result: Sequence[int]) -> Accesses:
    """Return the accesses to an operand of `shape` that is broadcast to `result`."""
    first = len(result) - len(shape)
    return tuple(
        IndexAccess()
        if extent == 1 and result[first + axis] != 1
        else IndexAccess.of(first + axis)
        for axis, extent in enumerate(shape)
    )


@lru_cache(maxsize=1 << 12)
def _full_box(extents: tuple[int, ...]) -> Box:
    return tuple(map(Interval.whole, extents))


def accessed_box(accesses: Accesses, box: Box) -> Box:
    """Return the box of an operand or result that a box of iterations accesses."""
    if accesses is identity_accesses(len(box)):
        return box
    return tuple([access.interval(box) for access in accesses])


def producing_iterations(
    accesses: Accesses, extents: Sequence[int], wanted: Box
) -> Box:
    """
    Return the smallest box of iterations that computes the box `wanted` of a result.

    Iterators that do not move the result, reductions among them, run whole. So does
    an iterator for which `wanted` is not aligned to what one iteration computes; the
    iterations then cover more than was wanted, which is always right.
    """
    if accesses is identity_accesses(len(extents)):
        return wanted
    box = [*_full_box(tuple(extents))]
    for access, interval in zip(accesses, wanted, strict=True):
        if (plain := access.loop_dim) is not None:
            box[plain] = interval
            continue
        terms = sorted(access.terms, key=lambda term: (-term[1], extents[term[0]] == 1))
        offset = interval.offset - access.offset
        size = interval.size
        for position, (iterator, coefficient) in enumerate(terms):
            start = offset.divide_exactly(coefficient)
            if start is not None and size % coefficient == 0:
                room = -(-interval.tile_extent // coefficient)
                count = size // coefficient
                box[iterator] = Interval(start, count, room if room > count else 0)
                break
            inner = terms[position + 1 :]
            if offset.terms or not inner:
                break
            quotient, remainder = divmod(offset.constant, coefficient)
            if remainder + size > coefficient:
                break
            box[iterator] = Interval(AffineSum(quotient), 1)
            offset = AffineSum(remainder)
    return tuple(box)
