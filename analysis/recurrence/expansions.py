"""
Additive corrections of partial sums whose terms are polynomials in other results.

Terms `body(x, r)` of a part are added up with what the part alone has of r. With that
of all parts, `s`, each term is off by its Taylor series in `s - r`, which ends. So the
squares of distances from the mean of a part become those from the mean of all. This is
the updating formula of T. F. Chan, G. H. Golub and R. J. LeVeque, Algorithms for
computing the sample variance (1983), with the term of first order, which is 0 but for
rounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axes import Places
from tlf.dialects import graph
from tlf.dialects.graph.splats import splat_of
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.postorder import in_postorder
from tlf.dialects.types import is_float, is_half, tensor_type

MOST = 8
"""So many terms has a series at most."""

Powers: TypeAlias = tuple[SSAValue, ...]
"""Values in a fixed order, each as often as its change is a factor."""

Polynomial: TypeAlias = Mapping[Powers, float]
"""Products of values, each times a number."""

Series: TypeAlias = Mapping[Powers, Polynomial]
"""Coefficients, by the changes of values that they are multiplied by."""


@dataclass(frozen=True)
class Change:
    """The sum of a number times some values, times what others change by."""

    number: float
    terms: tuple[SSAValue, ...]
    """Factors that are multiplied and summed along the axis; ones if there are none."""
    powers: Powers
    """One value or more."""


@dataclass(frozen=True)
class Expansion:
    """Change of a sum when the values that its terms depend on change."""

    changes: Sequence[Change]
    places: Mapping[SSAValue, Places] = field(default_factory=dict[SSAValue, Places])
    """
    For each value that it depends on, the axes of the sum that its axes run along.
    """

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The values that it depends on."""
        return tuple(dict.fromkeys(v for each in self.changes for v in each.powers))


def expansion_of(
    op: AccumulatingInterface,
    running: Collection[SSAValue],
    dependent: Collection[Operation],
) -> Expansion | None:
    """
    Return the change of a sum with running values, where others are computed from these
    by `dependent` operations alone; None if its terms are not polynomials.
    """
    if not isinstance(op, graph.ReduceOp) or not op.linear_in():
        return None
    try:
        series = _Expander(running, dependent).of(op.operand)
    except _NoSeriesError:
        return None
    changes = [
        Change(number, terms, powers)
        for powers, polynomial in series.items()
        for terms, number in polynomial.items()
        if powers and number
    ]
    shape = tensor_type(op.operand).get_shape()
    read = {value for change in changes for value in change.terms}
    if any(tensor_type(value).get_shape() != shape for value in read):
        return None
    return Expansion(changes)


class _NoSeriesError(Exception):
    """A value is no polynomial in running ones."""


@dataclass
class _Expander:
    """Finds the series of values."""

    running: Collection[SSAValue]
    dependent: Collection[Operation]
    """Operations that are computed from running values."""
    _known: dict[SSAValue, Series] = field(default_factory=dict[SSAValue, Series])
    _places: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Order of values in products."""

    def of(self, value: SSAValue) -> Series:
        """The series of a value, which is the only term without changes."""
        return in_postorder(value, self._known, self._operands, self._of)

    def _operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the operands that a value is computed from element by element."""
        owner = value.owner
        if value in self.running or not isinstance(owner, Operation):
            return ()
        return owner.operands if owner in self.dependent else ()

    def _of(self, value: SSAValue) -> Series:
        if value in self.running:
            return {(): {(value,): 1.0}, (value,): {(): 1.0}}
        if (number := splat_of(value)) is not None:
            return {(): {(): float(number)}}
        itself: Series = {(): {(value,): 1.0}}
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in self.dependent:
            return itself
        if (rule := RULES.get(type(owner))) is None:
            raise _NoSeriesError
        found = rule(self, owner, *map(self.of, owner.operands))
        if sum(map(len, found.values())) > MOST:
            raise _NoSeriesError
        return {**found, **itself}

    def sum(self, _: Operation, left: Series, right: Series) -> Series:
        """The series of a sum."""
        return _sum(left, right, 1.0)

    def difference(self, _: Operation, left: Series, right: Series) -> Series:
        """The series of a difference."""
        return _sum(left, right, -1.0)

    def negative(self, _: Operation, operand: Series) -> Series:
        """The series of what is subtracted from 0."""
        return _sum({}, operand, -1.0)

    def product(self, _: Operation, left: Series, right: Series) -> Series:
        """The series of a product."""
        found = _empty()
        for (powers, ours), (more, theirs) in product(left.items(), right.items()):
            made = found[self._ordered(*powers, *more)]
            for (terms, number), (others, times) in product(
                ours.items(), theirs.items()
            ):
                made[self._ordered(*terms, *others)] += number * times
        return found

    def cast(self, op: Operation, operand: Series) -> Series:
        """The series of what is not rounded to a narrower type."""
        assert isinstance(op, graph.CastOp)
        before, after = (tensor_type(e).element_type for e in (op.operand, op.result))
        if not is_float(before) or (is_half(after) and before != after):
            raise _NoSeriesError
        return operand

    def _ordered(self, *values: SSAValue) -> Powers:
        for value in values:
            self._places.setdefault(value, len(self._places))
        return tuple(sorted(values, key=self._places.__getitem__))


def _empty() -> dict[Powers, dict[Powers, float]]:
    return defaultdict(lambda: defaultdict(float))


def _sum(left: Series, right: Series, times: float) -> Series:
    found = _empty()
    for series, factor in ((left, 1.0), (right, times)):
        for powers, polynomial in series.items():
            for terms, number in polynomial.items():
                found[powers][terms] += factor * number
    return found


RULES: Mapping[type[Operation], Callable[..., Series]] = {
    graph.AddOp: _Expander.sum,
    graph.SubOp: _Expander.difference,
    graph.NegOp: _Expander.negative,
    graph.MulOp: _Expander.product,
    graph.CastOp: _Expander.cast,
}
"""Functions that compute the series of an operation from those of its operands."""
