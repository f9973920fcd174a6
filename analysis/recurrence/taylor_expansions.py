"""
Analysis of partial sums of polynomials in other results: their additive corrections.

The terms `body(x, r)` of a part are summed with the result `r` of this part only. With
the result `s` of all parts, each term differs by its Taylor series in `s - r`, which is
finite. For example, squared distances from the mean of a part become squared distances
from the total mean. This is the updating formula of T. F. Chan, G. H. Golub and R. J.
LeVeque, Algorithms for computing the sample variance (1983), with the first-order term,
which is 0 except for rounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.dialects import graph
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import is_16_bit_float, is_float, tensor_type
from tlf.dialects.value_postorder import compute_in_postorder

MAX_TERMS = 8
"""Maximum number of terms of a series."""

Powers: TypeAlias = tuple[SSAValue, ...]
"""Values in a fixed order, each repeated as often as its change is a factor."""

Polynomial: TypeAlias = Mapping[Powers, float]
"""Products of values, with numeric coefficients."""

Series: TypeAlias = Mapping[Powers, Polynomial]
"""Coefficient polynomials, by the changes of values that they are multiplied by."""


@dataclass(frozen=True)
class ExpansionTerm:
    """Term of an expansion: a coefficient, factors, and powers of changes."""

    coefficient: float
    factors: tuple[SSAValue, ...]
    """
    Factors that are multiplied and summed along the axis; empty means a factor of one.
    """
    powers: Powers
    """Values whose changes are multiplied; not empty."""


@dataclass(frozen=True)
class Expansion:
    """Change of a sum when the values that its terms depend on change."""

    terms: Sequence[ExpansionTerm]
    axis_matches: Mapping[SSAValue, AxisMatch] = field(
        default_factory=dict[SSAValue, AxisMatch]
    )
    """
    For each value that the change depends on, the axes of the sum that its axes run
    along.
    """

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """Values that the change depends on."""
        return tuple(dict.fromkeys(v for each in self.terms for v in each.powers))


def taylor_expansion_of(
    op: AccumulatingInterface,
    running_values: Collection[SSAValue],
    dependent: Collection[Operation],
) -> Expansion | None:
    """
    Return the change of a sum with running values. Other values depend on running
    values only through `dependent` operations. None if the terms are not polynomials.
    """
    if not isinstance(op, graph.ReduceOp) or not op.linear_operands():
        return None
    try:
        series = _Expander(running_values, dependent).series_of(op.operand)
    except _NoSeriesError:
        return None
    changes = [
        ExpansionTerm(coefficient, product_terms, powers)
        for powers, polynomial in series.items()
        for product_terms, coefficient in polynomial.items()
        if powers and coefficient
    ]
    shape = tensor_type(op.operand).get_shape()
    factors = {value for change in changes for value in change.factors}
    if any(tensor_type(value).get_shape() != shape for value in factors):
        return None
    return Expansion(changes)


class _NoSeriesError(Exception):
    """Error: a value is not a polynomial in running values."""


@dataclass
class _Expander:
    """Memoized builder of the series of values in changes of running values."""

    running_values: Collection[SSAValue]
    dependent: Collection[Operation]
    """Operations that depend on running values."""
    _known: dict[SSAValue, Series] = field(default_factory=dict[SSAValue, Series])
    _factor_order: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    """Order of values in products."""

    def series_of(self, value: SSAValue) -> Series:
        """
        Return the series of a value. The value itself is the term without changes.
        """
        return compute_in_postorder(
            value, self._known, self._elementwise_operands_of, self._build_series
        )

    def _elementwise_operands_of(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the operands that a value is computed from element by element."""
        owner = value.owner
        if value in self.running_values or not isinstance(owner, Operation):
            return ()
        return owner.operands if owner in self.dependent else ()

    def _build_series(self, value: SSAValue) -> Series:
        """
        Return the series of a value in changes of running values. Raises
        `_NoSeriesError` without a rule or beyond `MAX_TERMS` terms.
        """
        if value in self.running_values:
            return {(): {(value,): 1.0}, (value,): {(): 1.0}}
        if (constant := splat_scalar_of(value)) is not None:
            return {(): {(): float(constant)}}
        itself: Series = {(): {(value,): 1.0}}
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in self.dependent:
            return itself
        if (rule := RULES.get(type(owner))) is None:
            raise _NoSeriesError
        series = rule(self, owner, *map(self.series_of, owner.operands))
        if sum(map(len, series.values())) > MAX_TERMS:
            raise _NoSeriesError
        return {**series, **itself}

    def series_of_sum(self, _: Operation, left: Series, right: Series) -> Series:
        """Return the series of a sum."""
        return _add_scaled_series(left, right, 1.0)

    def series_of_difference(self, _: Operation, left: Series, right: Series) -> Series:
        """Return the series of a difference."""
        return _add_scaled_series(left, right, -1.0)

    def series_of_negation(self, _: Operation, operand: Series) -> Series:
        """Return the series of a negation."""
        return _add_scaled_series({}, operand, -1.0)

    def series_of_product(self, _: Operation, left: Series, right: Series) -> Series:
        """Return the product of two series as a new series, without truncation."""
        found = _create_empty_series()
        for (powers, left_polynomial), (other_powers, right_polynomial) in product(
            left.items(), right.items()
        ):
            target = found[self._sort_factors(*powers, *other_powers)]
            for (terms, coefficient), (other_terms, other_coefficient) in product(
                left_polynomial.items(), right_polynomial.items()
            ):
                target[self._sort_factors(*terms, *other_terms)] += (
                    coefficient * other_coefficient
                )
        return found

    def series_of_cast(self, op: Operation, operand: Series) -> Series:
        """
        Return the series of a cast. Raises `_NoSeriesError` if the cast rounds to a
        narrower type or from integers.
        """
        assert isinstance(op, graph.CastOp)
        before, after = (tensor_type(e).element_type for e in (op.operand, op.result))
        if not is_float(before) or (is_16_bit_float(after) and before != after):
            raise _NoSeriesError
        return operand

    def _sort_factors(self, *values: SSAValue) -> Powers:
        for value in values:
            self._factor_order.setdefault(value, len(self._factor_order))
        return tuple(sorted(values, key=self._factor_order.__getitem__))


def _create_empty_series() -> dict[Powers, dict[Powers, float]]:
    return defaultdict(lambda: defaultdict(float))


def _add_scaled_series(left: Series, right: Series, scale: float) -> Series:
    """Return the series of `left + scale * right`, with equal terms combined."""
    found = _create_empty_series()
    for series, factor in ((left, 1.0), (right, scale)):
        for powers, polynomial in series.items():
            for terms, coefficient in polynomial.items():
                found[powers][terms] += factor * coefficient
    return found


RULES: Mapping[type[Operation], Callable[..., Series]] = {
    graph.AddOp: _Expander.series_of_sum,
    graph.SubOp: _Expander.series_of_difference,
    graph.NegOp: _Expander.series_of_negation,
    graph.MulOp: _Expander.series_of_product,
    graph.CastOp: _Expander.series_of_cast,
}
"""Functions that compute the series of an operation from the series of its operands."""
