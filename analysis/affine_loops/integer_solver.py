"""
Analysis of linear inequalities over bounded integers: satisfiability by branch and
bound, without IR.

The systems of loops over boxes are small: one or two inequalities per axis, one
variable per loop. Bounds are propagated through the inequalities; a domain that remains
undecided is halved. The GCD test resolves strides that never meet (Allen and Kennedy,
Optimizing Compilers for Modern Architectures, section 3.3).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from tlf.support.affine.index_access import AffineSum

Domains = dict[Hashable, tuple[int, int]]
"""Smallest and largest value of each variable."""

UNBOUNDED = 1 << 40
"""Bound of an unconstrained variable, beyond every index."""

MAX_BRANCHES = 2000
"""Maximum number of domains examined before a system counts as undecided."""

MAX_PROPAGATIONS = 16
"""Maximum number of bound propagations before a domain is halved."""


class UndecidedError(Exception):
    """Error: a system is too large to be decided."""


@dataclass(frozen=True)
class Constraint:
    """Affine constraint `low <= affine_sum <= high`, with inclusive bounds."""

    affine_sum: AffineSum
    low: int
    high: int


def find_solution(
    domains: Mapping[Hashable, tuple[int, int]], constraints: Sequence[Constraint]
) -> dict[Hashable, int] | None:
    """
    Return an assignment that satisfies all constraints; None if there is none. Raises
    `UndecidedError` after `MAX_BRANCHES` domains.
    """
    forms = _merge_constraints([_divide_by_gcd(each) for each in constraints])
    pending: list[Domains] = [dict(domains)]
    for _ in range(MAX_BRANCHES):
        if not pending:
            return None
        current = pending.pop()
        if not all(low <= high for low, high in current.values()):
            continue
        if not _propagate_bounds(current, forms):
            continue
        split = _select_branch_variable(current, forms)
        if split is None:
            return {variable: low for variable, (low, _) in current.items()}
        low, high = current[split]
        middle = (low + high) // 2
        pending.append({**current, split: (middle + 1, high)})
        pending.append({**current, split: (low, middle)})
    raise UndecidedError


def _divide_by_gcd(constraint: Constraint) -> Constraint:
    """Return the constraint divided by the greatest common divisor of its factors."""
    form = constraint.affine_sum
    divisor = gcd(*(factor for _, factor in form.terms)) if form.terms else 1
    low, high = constraint.low - form.constant, constraint.high - form.constant
    terms = tuple((symbol, factor // divisor) for symbol, factor in form.terms)
    return Constraint(AffineSum(0, terms), -(-low // divisor), high // divisor)


def _merge_constraints(constraints: Sequence[Constraint]) -> list[Constraint]:
    """Return one new constraint per form, up to its sign, with intersected bounds."""
    merged: dict[frozenset[tuple[Hashable, int]], Constraint] = {}
    for each in constraints:
        opposite = frozenset((each.affine_sum * -1).terms)
        if opposite in merged:
            each = Constraint(each.affine_sum * -1, -each.high, -each.low)
        key = frozenset(each.affine_sum.terms)
        known = merged.get(key, each)
        low, high = max(known.low, each.low), min(known.high, each.high)
        merged[key] = Constraint(known.affine_sum, low, high)
    return list(merged.values())


def _propagate_bounds(domains: Domains, constraints: Sequence[Constraint]) -> bool:
    """
    Narrow the domains in at most `MAX_PROPAGATIONS` rounds. Return `False` if one
    becomes empty.
    """
    changed, rounds = True, 0
    while changed and rounds < MAX_PROPAGATIONS:
        changed, rounds = False, rounds + 1
        for each in constraints:
            least, greatest = each.affine_sum.value_bounds(domains)
            if least > each.high or greatest < each.low or each.low > each.high:
                return False
            if each.low <= least and greatest <= each.high:
                continue
            for variable, factor in each.affine_sum.terms:
                narrowed = _narrow_domain(
                    each, factor, domains[variable], least, greatest
                )
                if narrowed == domains[variable]:
                    continue
                if narrowed[0] > narrowed[1]:
                    return False
                domains[variable] = narrowed
                least, greatest = each.affine_sum.value_bounds(domains)
                changed = True
    return True


def _narrow_domain(
    constraint: Constraint,
    factor: int,
    domain: tuple[int, int],
    form_minimum: int,
    form_maximum: int,
) -> tuple[int, int]:
    """
    Return the domain of one variable under a constraint, for any values of the others.
    """
    low, high = domain
    ends = (factor * low, factor * high)
    max_term = constraint.high - (form_minimum - min(ends))
    min_term = constraint.low - (form_maximum - max(ends))
    if factor > 0:
        return max(low, -(-min_term // factor)), min(high, max_term // factor)
    return max(low, -(max_term // -factor)), min(high, (-min_term) // -factor)


def _select_branch_variable(
    domains: Domains, constraints: Sequence[Constraint]
) -> Hashable | None:
    """
    Return the variable with the narrowest domain in constraints that not all values
    satisfy; None if there is none.
    """
    narrowest: Hashable | None = None
    width = 0
    for each in constraints:
        least, greatest = each.affine_sum.value_bounds(domains)
        if each.low <= least and greatest <= each.high:
            continue
        for variable, _ in each.affine_sum.terms:
            low, high = domains[variable]
            if high > low and (narrowest is None or high - low < width):
                narrowest, width = variable, high - low
    return narrowest
