"""Formulae of operations on single elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, log

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.algebra import Expr, Symbol, sympy
from tlf.dialects import tile
from tlf.dialects.graph.splats import splat_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ElementwiseInterface,
    TilingInterface,
)
from tlf.dialects.postorder import in_postorder
from tlf.dialects.types import scalar_value, tensor_type


def _sum(left: Expr, right: Expr) -> Expr:
    return left + right


def _difference(left: Expr, right: Expr) -> Expr:
    return left - right


def _product(left: Expr, right: Expr) -> Expr:
    return left * right


def _quotient(left: Expr, right: Expr) -> Expr:
    return left / right


def _negative(value: Expr) -> Expr:
    return -value


def _same(value: Expr) -> Expr:
    return value


def _power_of_two(value: Expr) -> Expr:
    # Exponents of a symbolic logarithm would become powers, which are no exponentials.
    return sympy.exp(value * sympy.Rational(LOG_2))


def _reciprocal_root(value: Expr) -> Expr:
    return 1 / sympy.sqrt(value)


FORMULAE: Mapping[type[Operation], Callable[..., Expr]] = {
    arith.AddfOp: _sum,
    arith.SubfOp: _difference,
    arith.MulfOp: _product,
    arith.DivfOp: _quotient,
    arith.NegfOp: _negative,
    arith.ExtFOp: _same,
    arith.TruncFOp: _same,
    math.ExpOp: sympy.exp,
    math.Exp2Op: _power_of_two,
    math.LogOp: sympy.log,
    math.SqrtOp: sympy.sqrt,
    math.RsqrtOp: _reciprocal_root,
}
"""
Formulae of scalar operations, leaving rounding aside; others are unknown functions.
"""

LOG_2 = log(2)
"""The natural logarithm of 2 in f64, which formulae take for it."""

MOST = 64
"""
Maximum number of parts of a formula, each counted as often as it occurs. Computing with
formulae recurses into their parts, and takes long where they are many.
"""

BITS = 512
"""
Maximum length in bits of the numbers in a formula: products of two are finite in f64.
"""


@dataclass
class Bodies:
    """
    The formulae of values: symbols of what is `running`, and of what does not depend on
    it. Of what would be longer nothing is known but what it depends on.
    """

    running: Mapping[SSAValue, Symbol]
    """The symbols of what steps accumulate, and of what is computed of this alone."""
    dependent: frozenset[Operation]
    """Operations that are computed from the results of steps."""
    opaque: dict[SSAValue, Symbol] = field(default_factory=dict[SSAValue, Symbol])
    """The symbols of all else."""
    _known: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])

    @staticmethod
    def of_running(
        running: Sequence[Operation], dependent: frozenset[Operation]
    ) -> Bodies:
        """The formulae of a group in which the results of operations are running."""
        symbols: dict[SSAValue, Symbol] = {
            op.results[0]: sympy.Symbol(f"r{number}", real=True)
            for number, op in enumerate(running)
        }
        return Bodies(symbols, dependent)

    def of_step(self, op: AccumulatingInterface) -> Expr:
        """
        Return the summand of an operation, element by element: the product of its
        inputs.
        """
        return sympy.prod([self.of(each) for each in op.inputs])

    def of(self, value: SSAValue) -> Expr:
        """The formula of a value."""
        return in_postorder(value, self._known, self._operands, self._of)

    def _operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """The operands whose formulae that of a value is made of."""
        owner = value.owner
        if value in self.running or owner not in self.dependent:
            return ()
        return owner.operands if isinstance(owner, TilingInterface) else ()

    def _of(self, value: SSAValue) -> Expr:
        if (symbol := self.running.get(value)) is not None:
            return symbol
        owner = value.owner
        if owner in self.dependent and isinstance(owner, TilingInterface):
            return self._computed(owner, [self.of(each) for each in owner.operands])
        number = splat_of(value)
        if isinstance(number, float) and isfinite(number):
            return sympy.Rational(number)
        symbol = self.opaque[value] = sympy.Symbol(f"x{len(self.opaque)}", real=True)
        return symbol

    def _computed(self, op: TilingInterface, operands: Sequence[Expr]) -> Expr:
        if isinstance(op, tile.MaskOp) and isfinite(fill := scalar_value(op.fill)):
            inside = sympy.Symbol(f"inside{id(op)}", real=True)
            return fill + inside * (operands[0] - fill)
        if not isinstance(op, ElementwiseInterface):
            return _unknown(op, operands)
        formula = self._elementwise(op, operands)
        if _is_short(formula):
            return formula
        return _unknown(op, sorted(formula.free_symbols, key=str))

    @staticmethod
    def _elementwise(op: ElementwiseInterface, operands: Sequence[Expr]) -> Expr:
        types = [tensor_type(each).element_type for each in op.operands]
        block = Block(arg_types=types)
        result = op.scalar(Builder(InsertPoint.at_end(block)), *block.args)
        known = dict[SSAValue, Expr](zip(block.args, operands, strict=True))
        for each in block.ops:
            known[each.results[0]] = _scalar(each, [known[v] for v in each.operands])
        return known[result]


def _scalar(op: Operation, operands: Sequence[Expr]) -> Expr:
    if isinstance(op, arith.ConstantOp):
        value = op.value
        if isinstance(value, FloatAttr) and isfinite(value.value.data):
            return sympy.Rational(value.value.data)
    if (formula := FORMULAE.get(type(op))) is not None:
        return formula(*operands)
    return _unknown(op, operands)


def _is_short(formula: Expr) -> bool:
    """
    Return `True` if a formula exceeds neither the maximum number of parts nor the
    maximum length of numbers.
    """
    pending, count = [formula], 0
    while pending and count <= MOST:
        part = pending.pop()
        if part.is_Rational and max(abs(part.p), part.q).bit_length() > BITS:
            return False
        pending += part.args
        count += 1
    return count <= MOST


def _unknown(op: Operation, operands: Sequence[Expr]) -> Expr:
    """A function of which nothing is known."""
    return sympy.Function(f"{op.name}_{id(op)}")(*operands)
