"""
Satisfiability of linear inequalities over bounded integers: exact, by branch and bound.

The systems that loops over boxes give are small: an inequality or two per axis, a
variable per loop. Bounds are propagated through the inequalities, a domain that is left
open is halved. The test of the greatest common divisor settles strides that never meet
(Allen and Kennedy, Optimizing Compilers for Modern Architectures, section 3.3).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from tlf.support.affine.access import Linear

Domains = dict[Hashable, tuple[int, int]]
"""The least and the greatest value of each variable."""

FAR = 1 << 40
"""Beyond every index: the bound of a variable of which nothing is known."""

BUDGET = 2000
"""So many domains are looked at before a system counts as undecided."""

ROUNDS = 16
"""Bounds are propagated so often, as they may creep, before a domain is halved."""


class UndecidedError(Exception):
    """A system is too large to be decided."""


@dataclass(frozen=True)
class Constraint:
    """`low <= form <= high`."""

    form: Linear
    low: int
    high: int


def solution(
    domains: Mapping[Hashable, tuple[int, int]], constraints: Sequence[Constraint]
) -> dict[Hashable, int] | None:
    """
    Values of the variables that satisfy all constraints, or None where there are none.
    Raises `UndecidedError` where this takes too long to find out.
    """
    forms = _merged([_reduced(each) for each in constraints])
    pending: list[Domains] = [dict(domains)]
    for _ in range(BUDGET):
        if not pending:
            return None
        current = pending.pop()
        if not all(low <= high for low, high in current.values()):
            continue
        if not _propagate(current, forms):
            continue
        split = _to_split(current, forms)
        if split is None:
            return {variable: low for variable, (low, _) in current.items()}
        low, high = current[split]
        middle = (low + high) // 2
        pending.append({**current, split: (middle + 1, high)})
        pending.append({**current, split: (low, middle)})
    raise UndecidedError


def _reduced(constraint: Constraint) -> Constraint:
    """The constraint with the common divisor of its factors taken out."""
    form = constraint.form
    divisor = gcd(*(factor for _, factor in form.terms)) if form.terms else 1
    low, high = constraint.low - form.constant, constraint.high - form.constant
    terms = tuple((symbol, factor // divisor) for symbol, factor in form.terms)
    return Constraint(Linear(0, terms), -(-low // divisor), high // divisor)


def _merged(constraints: Sequence[Constraint]) -> list[Constraint]:
    """One constraint for all that bound the same form, or its opposite."""
    found: dict[frozenset[tuple[Hashable, int]], Constraint] = {}
    for each in constraints:
        opposite = frozenset((each.form * -1).terms)
        if opposite in found:
            each = Constraint(each.form * -1, -each.high, -each.low)
        key = frozenset(each.form.terms)
        known = found.get(key, each)
        low, high = max(known.low, each.low), min(known.high, each.high)
        found[key] = Constraint(known.form, low, high)
    return list(found.values())


def _propagate(domains: Domains, constraints: Sequence[Constraint]) -> bool:
    """Narrow the domains, as far as is quick; whether none becomes empty."""
    changed, rounds = True, 0
    while changed and rounds < ROUNDS:
        changed, rounds = False, rounds + 1
        for each in constraints:
            least, greatest = each.form.bounds(domains)
            if least > each.high or greatest < each.low or each.low > each.high:
                return False
            if each.low <= least and greatest <= each.high:
                continue
            for variable, factor in each.form.terms:
                narrowed = _narrowed(each, factor, domains[variable], least, greatest)
                if narrowed == domains[variable]:
                    continue
                if narrowed[0] > narrowed[1]:
                    return False
                domains[variable] = narrowed
                least, greatest = each.form.bounds(domains)
                changed = True
    return True


def _narrowed(
    constraint: Constraint,
    factor: int,
    domain: tuple[int, int],
    least: int,
    greatest: int,
) -> tuple[int, int]:
    """
    Return the domain that a constraint leaves to one variable when the others take any
    of their values.
    """
    low, high = domain
    ends = (factor * low, factor * high)
    below = constraint.high - (least - min(ends))
    above = constraint.low - (greatest - max(ends))
    if factor > 0:
        return max(low, -(-above // factor)), min(high, below // factor)
    return max(low, -(below // -factor)), min(high, (-above) // -factor)


def _to_split(domains: Domains, constraints: Sequence[Constraint]) -> Hashable | None:
    """A variable of a constraint that not all values satisfy, the narrowest one."""
    found: Hashable | None = None
    width = 0
    for each in constraints:
        least, greatest = each.form.bounds(domains)
        if each.low <= least and greatest <= each.high:
            continue
        for variable, _ in each.form.terms:
            low, high = domains[variable]
            if high > low and (found is None or high - low < width):
                found, width = variable, high - low
    return found
