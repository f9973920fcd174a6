"""Maxima and minima of affine sums and of their quotients, without IR."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tlf.support.affine.index_access import AffineSum

Numbers: TypeAlias = NDArray[np.int64] | int

Ranges: TypeAlias = Mapping[Hashable, tuple[int, int]]
"""Least and greatest value of each symbol."""


@dataclass(frozen=True)
class RoundedSum:
    """Affine sum, rounded down to a multiple, and scaled: `sum // divisor * factor`."""

    numerator: AffineSum
    divisor: int
    factor: int


@dataclass(frozen=True)
class Extremum:
    """Greatest or least of several terms."""

    is_maximum: bool
    operands: tuple[Term, ...]


Term: TypeAlias = AffineSum | RoundedSum | Extremum


def round_down_sum(
    numerator: AffineSum, divisor: int, factor: int, steps: Mapping[Hashable, int]
) -> Term:
    """
    Return `numerator // divisor * factor`, as an affine sum if it is one. The values of
    a symbol are multiples of its step.
    """
    whole = tuple(
        (symbol, each * factor // divisor)
        for symbol, each in numerator.terms
        if each * steps.get(symbol, 1) % divisor == 0 and each * factor % divisor == 0
    )
    known = {symbol for symbol, _ in whole}
    rest = tuple(term for term in numerator.terms if term[0] not in known)
    if rest:
        return RoundedSum(numerator, divisor, factor)
    return AffineSum(numerator.constant // divisor * factor, whole)


def maximum_of(operands: Iterable[Term]) -> Term:
    """Return the greatest of some terms; there must be at least one."""
    return _extremum_of(operands, is_maximum=True)


def minimum_of(operands: Iterable[Term]) -> Term:
    """Return the least of some terms; there must be at least one."""
    return _extremum_of(operands, is_maximum=False)


def _extremum_of(operands: Iterable[Term], *, is_maximum: bool) -> Term:
    """Return an extremum, merged with operands of its kind and without equal sums."""
    constants = dict[tuple[tuple[Hashable, int], ...], AffineSum]()
    others = dict[Term, None]()
    pick = max if is_maximum else min
    for each in _flatten_operands(operands, is_maximum=is_maximum):
        if isinstance(each, AffineSum):
            known = constants.get(each.terms, each)
            constants[each.terms] = pick(known, each, key=lambda e: e.constant)
        else:
            others[each] = None
    terms: list[Term] = [*constants.values(), *others]
    return terms[0] if len(terms) == 1 else Extremum(is_maximum, tuple(terms))


def _flatten_operands(operands: Iterable[Term], *, is_maximum: bool) -> Iterator[Term]:
    for each in operands:
        if isinstance(each, Extremum) and each.is_maximum is is_maximum:
            yield from each.operands
        else:
            yield each


def negate_term(term: Term) -> Term:
    """Return the negative of a term without quotients."""
    return _map_sums(term, lambda each: each * -1, is_reversed=True)


def shift_term(term: Term, distance: AffineSum | int) -> Term:
    """Return the sum of a term without quotients and an affine sum."""
    return _map_sums(term, lambda each: each + distance)


def add_terms(left: Term, right: Term) -> Term:
    """Return the sum of two terms without quotients."""
    if isinstance(left, AffineSum):
        return shift_term(right, left)
    assert isinstance(left, Extremum)
    sums = (add_terms(each, right) for each in left.operands)
    return _extremum_of(sums, is_maximum=left.is_maximum)


def _map_sums(
    term: Term,
    function: Callable[[AffineSum], AffineSum],
    *,
    is_reversed: bool = False,
) -> Term:
    """
    Apply a function to each sum of a term without quotients; `is_reversed` if it
    reverses the order of numbers.
    """
    if isinstance(term, AffineSum):
        return function(term)
    assert isinstance(term, Extremum)
    mapped = (_map_sums(e, function, is_reversed=is_reversed) for e in term.operands)
    return _extremum_of(mapped, is_maximum=term.is_maximum is not is_reversed)


def sums_of_term(term: Term) -> Iterator[AffineSum]:
    """Yield the affine sums that a term is built from."""
    if isinstance(term, AffineSum):
        yield term
    elif isinstance(term, RoundedSum):
        yield term.numerator
    else:
        for each in term.operands:
            yield from sums_of_term(each)


def symbols_of_term(term: Term) -> set[Hashable]:
    """Return the symbols that a term depends on."""
    return {symbol for each in sums_of_term(term) for symbol, _ in each.terms}


def bounds_of_term(term: Term, ranges: Ranges) -> tuple[int, int]:
    """Return a lower and an upper bound of a term, given the range of each symbol."""
    if isinstance(term, AffineSum):
        return term.value_bounds(ranges)
    if isinstance(term, RoundedSum):
        low, high = term.numerator.value_bounds(ranges)
        return low // term.divisor * term.factor, high // term.divisor * term.factor
    bounds = [bounds_of_term(each, ranges) for each in term.operands]
    pick = max if term.is_maximum else min
    return pick(low for low, _ in bounds), pick(high for _, high in bounds)


def simplify_term(term: Term, ranges: Ranges) -> Term:
    """Return a term without operands that never decide, given the symbol ranges."""
    if not isinstance(term, Extremum):
        return term
    simplified = [simplify_term(each, ranges) for each in term.operands]
    merged = _extremum_of(simplified, is_maximum=term.is_maximum)
    if not isinstance(merged, Extremum):
        return merged
    kept = list(merged.operands)
    for each in merged.operands:
        others = [other for other in kept if other is not each]
        if any(_is_decided_by(each, e, term.is_maximum, ranges) for e in others):
            kept = others
    return _extremum_of(kept, is_maximum=term.is_maximum)


def _is_decided_by(left: Term, right: Term, is_maximum: bool, ranges: Ranges) -> bool:
    """Return `True` if the extremum of two terms is always the right one."""
    low, high = _bounds_of_difference(left, right, ranges)
    return high <= 0 if is_maximum else low >= 0


def _bounds_of_difference(left: Term, right: Term, ranges: Ranges) -> tuple[int, int]:
    """Return bounds of the difference of two terms."""
    if isinstance(left, Extremum):
        pick = max if left.is_maximum else min
        bounds = [_bounds_of_difference(e, right, ranges) for e in left.operands]
        return pick(low for low, _ in bounds), pick(high for _, high in bounds)
    if isinstance(right, Extremum):
        low, high = _bounds_of_difference(right, left, ranges)
        return -high, -low
    if isinstance(left, AffineSum) and isinstance(right, AffineSum):
        return (left - right).value_bounds(ranges)
    (low, high), (least, most) = (bounds_of_term(e, ranges) for e in (left, right))
    return low - most, high - least


def evaluate_term(term: Term, values: Mapping[Hashable, Numbers]) -> Numbers:
    """Return the value of a term for numbers, or arrays of numbers, of its symbols."""
    if isinstance(term, AffineSum):
        products = (values[symbol] * factor for symbol, factor in term.terms)
        return sum(products, term.constant)
    if isinstance(term, RoundedSum):
        return evaluate_term(term.numerator, values) // term.divisor * term.factor
    pick = np.maximum if term.is_maximum else np.minimum
    return reduce(pick, (evaluate_term(each, values) for each in term.operands))
