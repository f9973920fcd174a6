"""
Analysis of running sums whose terms depend on values that change: their correction
factors.

Terms `body(x, r)` of a sum depend on results `r` of earlier reductions. If `body(x,
new) / body(x, old)` is the same for all x, the sum of the terms with the old results
times this factor is the sum with the new ones. The criterion, with factors as the only
corrections, is that of RedFuser (Wu et al., 2025); for softmax it gives the recurrence
of M. Milakov and N. Gimelshein, Online normalizer calculation for softmax (2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from xdsl.ir import SSAValue

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.analysis.recurrence.formula import (
    ElementwiseFormula,
    Formula,
    Name,
    ValueAfterIteration,
    ValueBeforeIteration,
)
from tlf.analysis.recurrence.sympy_access import Expr, Symbol, sympy
from tlf.analysis.recurrence.value_evolution import ValueEvolution

TEST_POINTS = 64
"""Number of random points at which an identity is tested."""


@dataclass(frozen=True)
class Correction:
    """
    Correction factor of a running sum, applied when values that its terms depend on
    change.
    """

    formula: Formula
    values: tuple[SSAValue, ...]
    """Values that the factor depends on."""
    is_bounded: bool
    """True if the factor never exceeds 1, for any change."""
    axis_matches: Mapping[SSAValue, AxisMatch] = field(
        default_factory=dict[SSAValue, AxisMatch]
    )
    """For each of the values, the axes of the sum that its axes run along."""


def correction_factor_of(
    term: Expr,
    running_symbols: Mapping[SSAValue, Symbol],
    value_evolutions: Mapping[SSAValue, ValueEvolution],
) -> Correction | None:
    """
    Return the correction of a sum of terms that depend on running values. None if there
    is no such factor, or if a value evolves arbitrarily before its reduction is
    complete: terms may then overflow in between although the final terms do not.
    """
    symbols = term.free_symbols
    used = {value: each for value, each in running_symbols.items() if each in symbols}
    if any(value_evolutions[value] is ValueEvolution.ARBITRARY for value in used):
        return None
    if (ratio := _ratio_of_changed_terms(term, tuple(used.values()))) is None:
        return None
    leaves: dict[Symbol, Formula] = {}
    for value, symbol in used.items():
        leaves[_symbol_named(symbol, "before")] = ValueBeforeIteration(value)
        leaves[_symbol_named(symbol, "after")] = ValueAfterIteration(value)
    formula = _formula_of_expression(ratio, leaves)
    if formula is None:
        return None
    evolutions = {symbol: value_evolutions[value] for value, symbol in used.items()}
    return Correction(formula, tuple(used), _is_bounded_ratio(ratio, evolutions))


def _is_bounded_ratio(ratio: Expr, evolutions: Mapping[Symbol, ValueEvolution]) -> bool:
    """Return `True` if a ratio is an exponential whose exponent is never positive."""
    if not isinstance(ratio, sympy.exp):
        return False
    remainder = exponent = sympy.expand(ratio.args[0])
    for symbol, evolution in evolutions.items():
        before = _symbol_named(symbol, "before")
        factor = exponent.coeff(before)
        required = (
            ValueEvolution.INCREASING
            if factor.is_positive
            else ValueEvolution.DECREASING
        )
        if evolution is not required:
            return False
        remainder -= factor * (before - _symbol_named(symbol, "after"))
    return sympy.expand(remainder) == 0


@cache
def _ratio_of_changed_terms(term: Expr, symbols: Sequence[Symbol]) -> Expr | None:
    """
    Return the ratio of terms after a change to terms before it; None if it differs
    between elements.
    """
    unknown = term.atoms(sympy.core.function.AppliedUndef)
    if any(each.free_symbols & set(symbols) for each in unknown):
        return None
    before, after = (
        term.subs(
            {each: _symbol_named(each, name) for each in symbols}, simultaneous=True
        )
        for name in ("before", "after")
    )
    known_symbols = {
        _symbol_named(each, name) for each in symbols for name in ("before", "after")
    }
    ratio = sympy.powsimp(after / before)
    if isinstance(ratio, sympy.exp) and ratio.free_symbols <= known_symbols:
        # Exponentials of elements cancel by this rule alone.
        return ratio
    # Test numerically first: simplification is slow, and useless for most terms.
    if not _is_same_ratio_for_elements(before, after, known_symbols):
        return None
    ratio = sympy.simplify(after / before)
    if not ratio.free_symbols <= known_symbols:
        return None
    return ratio if _is_ratio_identity(before, after, ratio) else None


def _symbol_named(symbol: Symbol, name: str) -> Symbol:
    return sympy.Symbol(f"{symbol.name}_{name}", real=True)


def _is_same_ratio_for_elements(
    term_before: Expr, term_after: Expr, known_symbols: AbstractSet[Symbol]
) -> bool:
    """
    Return `True` if a ratio is the same for random elements, with random known values.
    """
    symbols = sorted({*term_before.free_symbols, *term_after.free_symbols}, key=str)
    rng = np.random.default_rng(1)
    points = [
        np.full(TEST_POINTS, rng.uniform(0.5, 2.0))
        if each in known_symbols
        else rng.uniform(0.5, 2.0, TEST_POINTS)
        for each in symbols
    ]
    compute = sympy.lambdify(symbols, [term_before, term_after], "numpy")
    with np.errstate(all="ignore"):
        left, right = map(np.asarray, compute(*points))
        ratios = np.broadcast_to(right / left, TEST_POINTS)
    return bool(np.allclose(ratios, ratios[0], rtol=1e-6, atol=0.0))


def _is_ratio_identity(term_before: Expr, term_after: Expr, ratio: Expr) -> bool:
    """
    Return `True` if `term_after` equals `term_before * ratio` at random points, in f64.
    """
    symbols = sorted({*term_before.free_symbols, *term_after.free_symbols}, key=str)
    compute = sympy.lambdify(symbols, [term_after, term_before * ratio], "numpy")
    points = np.random.default_rng(0).uniform(0.5, 2.0, (len(symbols), TEST_POINTS))
    with np.errstate(all="ignore"):
        left, right = compute(*points)
    return bool(np.allclose(left, right, rtol=1e-9, atol=0.0))


def _formula_of_expression(
    expression: Expr, leaves: Mapping[Symbol, Formula]
) -> Formula | None:
    """
    Return a formula of sums, products, quotients and exponentials; None for any other.
    """
    match expression:
        case sympy.Symbol():
            return leaves[expression]
        case sympy.Rational() | sympy.Float():
            return float(expression)
        case sympy.exp():
            operand = _formula_of_expression(expression.args[0], leaves)
            return None if operand is None else ElementwiseFormula("exp", (operand,))
        case sympy.Add():
            subtracted = [
                -each for each in expression.args if each.could_extract_minus_sign()
            ]
            added = [each for each in expression.args if -each not in subtracted]
            return _chain_formulas("add", added, "sub", subtracted, 0.0, leaves)
        case sympy.Mul() | sympy.Pow():
            factors = sympy.Mul.make_args(expression)
            denominators = [1 / each for each in factors if _is_reciprocal(each)]
            numerators = [each for each in factors if not _is_reciprocal(each)]
            # The running value of a step may be 0.
            if expression in numerators or any(
                each.free_symbols for each in denominators
            ):
                return None
            return _chain_formulas("mul", numerators, "div", denominators, 1.0, leaves)
        case _:
            return None


def _is_reciprocal(factor: Expr) -> bool:
    return isinstance(factor, sympy.Pow) and factor.args[1] == -1


def _chain_formulas(
    operation_name: Name,
    operands: Sequence[Expr],
    inverse_name: Name,
    inverse_operands: Sequence[Expr],
    neutral: float,
    leaves: Mapping[Symbol, Formula],
) -> Formula | None:
    """
    Return the left-to-right chain of `operands` combined by `operation_name` and
    `inverse_operands` by `parts`.
    """
    first, *remaining = [_formula_of_expression(each, leaves) for each in operands] or [
        neutral
    ]
    operations: list[tuple[Name, Formula | None]] = [
        *((operation_name, each) for each in remaining),
        *(
            (inverse_name, _formula_of_expression(each, leaves))
            for each in inverse_operands
        ),
    ]
    total: Formula | None = first
    for name, operand in operations:
        if total is None or operand is None:
            return None
        total = ElementwiseFormula(name, (total, operand))
    return total
