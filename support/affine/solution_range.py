"""
Ranges of a symbol in which a condition on maxima and minima of affine sums holds,
without IR.

A condition is a term that is at least 0. Several conditions hold if their minimum is at
least 0, and one of them if their maximum is.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tlf.support.affine.affine_extrema import (
    Extremum,
    Term,
    maximum_of,
    minimum_of,
    round_down_sum,
)
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class SteppedSymbol:
    """Symbol to solve for; the values of symbols are multiples of their steps."""

    symbol: Hashable
    steps: Mapping[Hashable, int]

    @property
    def step(self) -> int:
        """Step of the symbol."""
        return self.steps[self.symbol]


@dataclass(frozen=True)
class SolutionRange:
    """
    Values of a symbol from `first` on and below `end`, which are multiples of its step;
    None where there is no bound. `is_empty` if there are none.
    """

    first: Term | None = None
    end: Term | None = None
    is_empty: bool = False


NOTHING = SolutionRange(is_empty=True)
EVERYTHING = SolutionRange()


def range_containing_solutions(
    condition: Term, unknown: SteppedSymbol
) -> SolutionRange:
    """
    Return a range that contains all values of a symbol for which a condition may hold.
    """
    if isinstance(condition, AffineSum):
        return _solve_inequality(condition, unknown, EVERYTHING)
    assert isinstance(condition, Extremum)
    ranges = [range_containing_solutions(e, unknown) for e in condition.operands]
    if condition.is_maximum:
        return _hull_of_ranges(ranges)
    return _intersect_ranges(ranges)


def range_within_solutions(condition: Term, unknown: SteppedSymbol) -> SolutionRange:
    """Return a range of values of a symbol for all of which a condition holds."""
    if isinstance(condition, AffineSum):
        return _solve_inequality(condition, unknown, NOTHING)
    assert isinstance(condition, Extremum)
    ranges = [range_within_solutions(each, unknown) for each in condition.operands]
    if condition.is_maximum:
        return next((each for each in ranges if not each.is_empty), NOTHING)
    return _intersect_ranges(ranges)


def _solve_inequality(
    total: AffineSum, unknown: SteppedSymbol, undecided: SolutionRange
) -> SolutionRange:
    """
    Return the range in which a sum is at least 0; `undecided` if that depends only on
    other symbols.
    """
    factor = total.factor_of(unknown.symbol)
    if factor == 0:
        known = EVERYTHING if total.constant >= 0 else NOTHING
        return undecided if total.terms else known
    rest = total - AffineSum.of_symbol(unknown.symbol) * factor
    divisor = abs(factor) * unknown.step
    if factor > 0:
        # The least multiple of the step is the quotient, rounded up.
        rest = rest * -1 + (divisor - 1)
        return SolutionRange(first=_round_to_step(rest, divisor, unknown))
    return SolutionRange(end=_round_to_step(rest + divisor, divisor, unknown))


def _round_to_step(numerator: AffineSum, divisor: int, unknown: SteppedSymbol) -> Term:
    return round_down_sum(numerator, divisor, unknown.step, unknown.steps)


def _intersect_ranges(ranges: Sequence[SolutionRange]) -> SolutionRange:
    if any(each.is_empty for each in ranges):
        return NOTHING
    first = [each.first for each in ranges if each.first is not None]
    end = [each.end for each in ranges if each.end is not None]
    return SolutionRange(
        maximum_of(first) if first else None, minimum_of(end) if end else None
    )


def _hull_of_ranges(ranges: Sequence[SolutionRange]) -> SolutionRange:
    """Return the smallest range that contains all ranges."""
    filled = [each for each in ranges if not each.is_empty]
    if not filled:
        return NOTHING
    first = [each.first for each in filled if each.first is not None]
    end = [each.end for each in filled if each.end is not None]
    return SolutionRange(
        minimum_of(first) if len(first) == len(filled) else None,
        maximum_of(end) if len(end) == len(filled) else None,
    )


def clamp_term(term: Term, least: Term, most: Term) -> Term:
    """Return a term, at least `least` and at most `most`, which wins if both apply."""
    return minimum_of([maximum_of([term, least]), most])


def is_constant_term(term: Term) -> bool:
    """Return `True` if a term is a number."""
    return isinstance(term, AffineSum) and not term.terms
