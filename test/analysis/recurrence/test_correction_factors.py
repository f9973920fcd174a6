"""Corrections of sums when the values that their terms depend on change."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block, SSAValue

from tlf.analysis.recurrence.correction_factors import correction_factor_of
from tlf.analysis.recurrence.formula import (
    ElementwiseFormula,
    Formula,
    ValueAfterIteration,
    ValueBeforeIteration,
)
from tlf.analysis.recurrence.sympy_access import Expr, Symbol, sympy
from tlf.analysis.recurrence.value_evolution import ValueEvolution

X, Y, R, T = (sympy.Symbol(name, real=True) for name in "xyrt")

VALUES = Block(arg_types=[TensorType(f32, [1])] * 2).args
STEPS: dict[SSAValue, Symbol] = {VALUES[0]: R, VALUES[1]: T}
COURSES: dict[SSAValue, ValueEvolution] = {
    VALUES[0]: ValueEvolution.INCREASING,
    VALUES[1]: ValueEvolution.DECREASING,
}

CORRECTED: dict[str, Expr] = {
    "softmax": sympy.exp(X - R),
    "its product": sympy.exp(X - R) * Y,
    "two steps": sympy.exp(2 * X - 3 * R + T) * (X + Y),
    "scaled": sympy.exp((X - R) / 8) * X,
    "square": X**2 * sympy.exp(-R),
}

NOT_CORRECTED: dict[str, Expr] = {
    "variance": (X - R) ** 2,
    "function of both": sympy.tanh(X - R),
    "sum": X + R,
    "unknown": sympy.Function("f")(X, R),
    "factor that may be 0": X * R,
    "divisor that may be 0": X / R,
}


Known: TypeAlias = Mapping[SSAValue, float]


def value_of(formula: Formula, before: Known, after: Known) -> float:
    """A correction, computed."""
    match formula:
        case ValueBeforeIteration(value):
            return before[value]
        case ValueAfterIteration(value):
            return after[value]
        case ElementwiseFormula(name, operands):
            known = [value_of(each, before, after) for each in operands]
            compute: Mapping[str, Any] = {
                "add": np.add,
                "sub": np.subtract,
                "mul": np.multiply,
                "div": np.divide,
                "exp": np.exp,
            }
            return compute[name](*known)
        case _:
            return formula


@pytest.mark.parametrize("name", CORRECTED)
def test_corrected_sum(name: str):
    body = CORRECTED[name]
    correction = correction_factor_of(body, STEPS, COURSES)
    assert correction is not None
    rng = np.random.default_rng(0)
    points = rng.uniform(0.5, 2.0, (2, 50))
    compute = sympy.lambdify([X, Y, R, T], body, "numpy")
    for _ in range(20):
        old, new = rng.uniform(0.5, 2.0, (2, 2))
        before, after = (
            dict(zip(STEPS, map(float, each), strict=True)) for each in (old, new)
        )
        factor = value_of(correction.formula, before, after)

        corrected = np.sum(compute(*points, *old)) * factor

        np.testing.assert_allclose(corrected, np.sum(compute(*points, *new)))


@pytest.mark.parametrize("name", NOT_CORRECTED)
def test_not_corrected(name: str):
    assert correction_factor_of(NOT_CORRECTED[name], STEPS, COURSES) is None


def test_steps_that_it_needs():
    correction = correction_factor_of(CORRECTED["softmax"], STEPS, COURSES)

    assert correction is not None
    assert correction.values == (VALUES[0],)


@pytest.mark.parametrize("name", CORRECTED)
def test_factors_that_are_never_above_one(name: str):
    correction = correction_factor_of(CORRECTED[name], STEPS, COURSES)
    assert correction is not None
    assert correction.is_bounded


def test_a_factor_that_grows():
    """The exponential of minus a minimum is larger the more it is the minimum of."""
    correction = correction_factor_of(sympy.exp(X - T), STEPS, COURSES)
    assert correction is not None
    assert not correction.is_bounded


def test_what_may_be_too_large_in_between():
    """A sum may be far below where it ends, and exponentials of less far above."""
    courses = dict(COURSES) | {VALUES[0]: ValueEvolution.ARBITRARY}
    assert correction_factor_of(sympy.exp(X - R), STEPS, courses) is None


@pytest.mark.parametrize("name", ["softmax", "its product", "two steps", "scaled"])
def test_quotients_of_exponentials_are_not_simplified(
    name: str, monkeypatch: pytest.MonkeyPatch
):
    """A simplification takes a tenth of a second, and has the same result."""
    term = CORRECTED[name].subs({X: Y, Y: X}, simultaneous=True)
    renamed = {symbol: sympy.Symbol(f"q{symbol}", real=True) for symbol in (R, T)}
    symbols = {value: renamed[symbol] for value, symbol in STEPS.items()}

    def keep(ratio: Expr) -> Expr:
        return ratio

    with monkeypatch.context() as without:
        without.setattr(sympy, "powsimp", keep)
        simplified = correction_factor_of(term, STEPS, COURSES)
    monkeypatch.delattr(sympy, "simplify")
    monkeypatch.delattr(sympy, "lambdify")
    correction = correction_factor_of(term.subs(renamed), symbols, COURSES)

    assert correction is not None
    assert correction == simplified
