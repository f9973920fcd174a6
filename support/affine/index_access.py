"""
Affine index accesses, without IR: map a box of iterations to the box of an operand, and
back.

Plain arithmetic without IR. An operation's interface describes each dimension of each
operand and result by an `IndexAccess`; tiling composes accesses backwards through a
group, and the composed offsets may depend on induction variables, as an `AffineSum`
does.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind


@dataclass(slots=True, unsafe_hash=True)
class AffineSum:
    """
    Constant plus integer multiples of symbols, such as `2 * i + k - 1`. Instances are
    immutable by convention; a frozen dataclass takes four times as long to construct.
    """

    constant: int = 0
    terms: tuple[tuple[Hashable, int], ...] = ()

    @staticmethod
    def of_symbol(symbol: Hashable) -> AffineSum:
        """Return the symbol itself as a sum."""
        return AffineSum(0, ((symbol, 1),))

    def __add__(self, other: AffineSum | int) -> AffineSum:
        if not isinstance(other, AffineSum):
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

    def multiply(self, other: AffineSum) -> AffineSum | None:
        """Return the product, or None if neither factor is constant."""
        if other.terms:
            return None if self.terms else other * self.constant
        return self * other.constant

    def floor_divide(self, other: AffineSum) -> AffineSum | None:
        """Return the quotient, rounded down, or None if it is not affine."""
        divisor = other.constant
        if other.terms or divisor <= 0:
            return None
        rest = self.constant % divisor
        return (self - rest).divide_exactly(divisor)

    def modulo(self, divisor: int) -> AffineSum:
        """Return the sum with its constant and its factors modulo a divisor."""
        rests = ((symbol, factor % divisor) for symbol, factor in self.terms)
        terms = tuple((symbol, rest) for symbol, rest in rests if rest)
        return AffineSum(self.constant % divisor, terms)

    def factor_of(self, symbol: Hashable) -> int:
        """Return the factor of a symbol; 0 if the sum does not contain it."""
        return dict(self.terms).get(symbol, 0)

    def divide_exactly(self, divisor: int) -> AffineSum | None:
        """Return the exact quotient, or None if a coefficient is not a multiple."""
        factors = (self.constant, *(factor for _, factor in self.terms))
        if any(factor % divisor for factor in factors):
            return None
        terms = tuple((symbol, factor // divisor) for symbol, factor in self.terms)
        return AffineSum(self.constant // divisor, terms)

    def value_bounds(
        self, ranges: Mapping[Hashable, tuple[int, int]]
    ) -> tuple[int, int]:
        """Return the minimum and the maximum value, given the range of each symbol."""
        minimum = maximum = self.constant
        for symbol, factor in self.terms:
            ends = [factor * end for end in ranges[symbol]]
            minimum += min(ends)
            maximum += max(ends)
        return minimum, maximum

    def substitute(self, values: Mapping[Hashable, AffineSum]) -> AffineSum:
        """Return a new sum in which the symbols in `values` are replaced by sums."""
        result = AffineSum(self.constant)
        for symbol, factor in self.terms:
            result += values.get(symbol, AffineSum.of_symbol(symbol)) * factor
        return result


ZERO = AffineSum()


@dataclass(slots=True, unsafe_hash=True)
class Interval:
    """
    `size` consecutive indices from `offset` on. The size is static. A tile that
    contains them may be larger. Instances are immutable by convention, as of
    `AffineSum`.
    """

    offset: AffineSum
    size: int
    capacity: int = 0
    """Extent of the tile if that is more than `size`, else 0."""

    @property
    def tile_extent(self) -> int:
        """Extent of a tile that contains the interval."""
        return self.capacity if self.capacity > self.size else self.size

    @staticmethod
    @lru_cache(maxsize=1 << 12)
    def whole(size: int) -> Interval:
        """Return all indices of an axis of `size` elements."""
        return Interval(AffineSum(), size)

    def hull(self, other: Interval) -> Interval | None:
        """
        Return the smallest interval that contains both, or None if their distance is
        not constant.
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
    Indices of one axis that an iteration accesses: `width` indices from
    `offset + sum(coefficient * iterator)` on. Coefficients are not 0.
    """

    terms: tuple[tuple[int, int], ...] = ()
    offset: int = 0
    width: int = 1
    index: int | None = None
    """Operand whose element selects one of these indices, for indirect accesses."""

    @staticmethod
    def of_iterator(iterator: int) -> IndexAccess:
        """Return the access whose index is the iterator itself."""
        return IndexAccess(((iterator, 1),))

    @cached_property
    def loop_dim(self) -> int | None:
        """Iterator that is equal to the index, or None if there is none."""
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
        Return an indirect access: the index is an element read from another operand.
        """
        return IndexAccess(width=extent, index=operand)

    def coefficient_of(self, iterator: int) -> int:
        """Return the coefficient of an iterator; 0 if the index is independent."""
        return dict(self.terms).get(iterator, 0)

    def index_bounds(self, extents: Sequence[int]) -> tuple[int, int]:
        """
        Return the minimum and the maximum index that iterations of the given extents
        access.
        """
        least = greatest = self.offset
        for iterator, coefficient in self.terms:
            distance = coefficient * (extents[iterator] - 1)
            least += min(distance, 0)
            greatest += max(distance, 0)
        return least, greatest + self.width - 1

    def rebase_to_origin(self, extents: Sequence[int]) -> IndexAccess:
        """Return the access of a tile that starts at the minimum index accessed."""
        return replace(self, offset=self.offset - self.index_bounds(extents)[0])

    def accessed_interval(self, box: Box) -> Interval:
        """
        Return the smallest interval that contains the indices accessed by all
        iterations of `box`.
        """
        if (loop_dim := self.loop_dim) is not None:
            return box[loop_dim]
        first, size, capacity = self.offset, self.width, self.width
        offset = ZERO
        for iterator, coefficient in self.terms:
            extent = box[iterator]
            offset += extent.offset * coefficient
            if coefficient < 0:
                # Padding of the tile comes first for a negative coefficient.
                first += coefficient * (extent.tile_extent - 1)
                size -= coefficient * (extent.tile_extent - extent.size)
            size += abs(coefficient) * (extent.size - 1)
            capacity += abs(coefficient) * (extent.tile_extent - 1)
        return Interval(offset + first, size, capacity if capacity > size else 0)

    def depends_on(self, iterators: set[int]) -> bool:
        """Return `True` if the index depends on one of `iterators`."""
        return any(iterator in iterators for iterator, _ in self.terms)


Accesses = tuple[IndexAccess, ...]
"""One access per axis of an operand or a result."""


@cache
def identity_accesses(rank: int) -> Accesses:
    """
    Return the accesses that index axis `i` by iterator `i`; always the same object for
    a rank.
    """
    return tuple(IndexAccess.of_iterator(axis) for axis in range(rank))


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
        else IndexAccess.of_iterator(first + axis)
        for axis, extent in enumerate(shape)
    )


@lru_cache(maxsize=1 << 12)
def _box_of_whole_extents(extents: tuple[int, ...]) -> Box:
    return tuple(map(Interval.whole, extents))


def accessed_box(accesses: Accesses, box: Box) -> Box:
    """Return the box of an operand or result that a box of iterations accesses."""
    if accesses is identity_accesses(len(box)):
        return box
    return tuple([access.accessed_interval(box) for access in accesses])


def producing_iterations(
    accesses: Accesses, extents: Sequence[int], result_box: Box
) -> Box:
    """
    Return the smallest box of iterations that computes the box `result_box` of a
    result.

    Iterators that do not index the result, such as reductions, cover their whole range.
    So does an iterator for which `result_box` is not aligned to the elements of one
    iteration; the iterations then cover more than `result_box`, which is always legal.
    """
    if accesses is identity_accesses(len(extents)):
        return result_box
    box = [*_box_of_whole_extents(tuple(extents))]
    for access, interval in zip(accesses, result_box, strict=True):
        if (loop_dim := access.loop_dim) is not None:
            box[loop_dim] = interval
            continue
        terms = sorted(access.terms, key=lambda term: (-term[1], extents[term[0]] == 1))
        offset = interval.offset - access.offset
        size = interval.size
        for position, (iterator, coefficient) in enumerate(terms):
            start = offset.divide_exactly(coefficient)
            if start is not None and size % coefficient == 0:
                capacity = -(-interval.tile_extent // coefficient)
                count = size // coefficient
                box[iterator] = Interval(
                    start, count, capacity if capacity > count else 0
                )
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


def combine_affine_sums(
    expression: AffineBinaryOpExpr, lhs: AffineSum | None, rhs: AffineSum | None
) -> AffineSum | None:
    """Return the result of a binary expression; None if it is not affine."""
    if lhs is None or rhs is None:
        return None
    match expression.kind:
        case AffineBinaryOpKind.Add:
            return lhs + rhs
        case AffineBinaryOpKind.Mul:
            return lhs.multiply(rhs)
        case AffineBinaryOpKind.FloorDiv:
            return lhs.floor_divide(rhs)
        case _:
            return None
