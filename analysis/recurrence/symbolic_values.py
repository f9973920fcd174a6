"""Analysis of the values of a group: their symbolic formulae, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, log

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.recurrence.sympy_access import Expr, Symbol, sympy
from tlf.dialects import tile
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ElementwiseInterface,
    TilingInterface,
)
from tlf.dialects.types import scalar_value, tensor_type
from tlf.dialects.value_postorder import compute_in_postorder


def _symbolic_sum(left: Expr, right: Expr) -> Expr:
    return left + right


def _symbolic_difference(left: Expr, right: Expr) -> Expr:
    return left - right


def _symbolic_product(left: Expr, right: Expr) -> Expr:
    return left * right


def _symbolic_quotient(left: Expr, right: Expr) -> Expr:
    return left / right


def _symbolic_negation(value: Expr) -> Expr:
    return -value


def _symbolic_identity(value: Expr) -> Expr:
    return value


def _symbolic_exp2(value: Expr) -> Expr:
    # With a symbolic logarithm, SymPy would simplify the exponential to a power.
    return sympy.exp(value * sympy.Rational(LOG_2))


def _symbolic_rsqrt(value: Expr) -> Expr:
    return 1 / sympy.sqrt(value)


FORMULAE: Mapping[type[Operation], Callable[..., Expr]] = {
    arith.AddfOp: _symbolic_sum,
    arith.SubfOp: _symbolic_difference,
    arith.MulfOp: _symbolic_product,
    arith.DivfOp: _symbolic_quotient,
    arith.NegfOp: _symbolic_negation,
    arith.ExtFOp: _symbolic_identity,
    arith.TruncFOp: _symbolic_identity,
    math.ExpOp: sympy.exp,
    math.Exp2Op: _symbolic_exp2,
    math.LogOp: sympy.log,
    math.SqrtOp: sympy.sqrt,
    math.RsqrtOp: _symbolic_rsqrt,
}
"""
Formulae of scalar operations, ignoring rounding; other operations are opaque functions.
"""

LOG_2 = log(2)
"""Natural logarithm of 2 in f64, used as an exact rational in formulae."""

MAX_PARTS = 64
"""
Maximum number of subexpressions of a formula, counted with repetition. SymPy recurses
into subexpressions, and is slow if there are many.
"""

MAX_BITS = 512
"""
Maximum length in bits of the numbers in a formula, so that products of two are finite
in f64.
"""


@dataclass
class SymbolicValues:
    """
    Symbolic formulae of values in terms of running values and opaque symbols. A longer
    formula becomes an opaque function of its symbols.
    """

    running_symbols: Mapping[SSAValue, Symbol]
    """Symbols of the results of steps and rows."""
    dependent: frozenset[Operation]
    """Operations that depend on the results of steps."""
    opaque_symbols: dict[SSAValue, Symbol] = field(
        default_factory=dict[SSAValue, Symbol]
    )
    """Symbols of all other values."""
    _known: dict[SSAValue, Expr] = field(default_factory=dict[SSAValue, Expr])

    @staticmethod
    def of_running_operations(
        running_operations: Sequence[Operation], dependent: frozenset[Operation]
    ) -> SymbolicValues:
        """
        Return the formulae of a group in which the results of `running_operations` are
        running values.
        """
        symbols: dict[SSAValue, Symbol] = {
            op.results[0]: sympy.Symbol(f"r{index}", real=True)
            for index, op in enumerate(running_operations)
        }
        return SymbolicValues(symbols, dependent)

    def summand_of(self, op: AccumulatingInterface) -> Expr:
        """
        Return the summand of an operation, element by element: the product of its
        inputs.
        """
        return sympy.prod([self.formula_of(each) for each in op.inputs])

    def formula_of(self, value: SSAValue) -> Expr:
        """Return the formula of a value."""
        return compute_in_postorder(
            value, self._known, self._operands_in_formula_of, self._build_formula
        )

    def _operands_in_formula_of(self, value: SSAValue) -> Sequence[SSAValue]:
        """Return the operands whose formulae are needed for the formula of a value."""
        owner = value.owner
        if value in self.running_symbols or owner not in self.dependent:
            return ()
        return owner.operands if isinstance(owner, TilingInterface) else ()

    def _build_formula(self, value: SSAValue) -> Expr:
        """
        Return the symbol of a running value, the formula of a dependent operation, the
        number of a splat, or a new opaque symbol.
        """
        if (symbol := self.running_symbols.get(value)) is not None:
            return symbol
        owner = value.owner
        if owner in self.dependent and isinstance(owner, TilingInterface):
            return self._formula_of_op(
                owner, [self.formula_of(each) for each in owner.operands]
            )
        constant = splat_scalar_of(value)
        if isinstance(constant, float) and isfinite(constant):
            return sympy.Rational(constant)
        symbol = self.opaque_symbols[value] = sympy.Symbol(
            f"x{len(self.opaque_symbols)}", real=True
        )
        return symbol

    def _formula_of_op(self, op: TilingInterface, operands: Sequence[Expr]) -> Expr:
        """
        Return the formula of a mask or an elementwise operation; an uninterpreted
        function for other operations and long formulae.
        """
        if isinstance(op, tile.MaskOp) and isfinite(fill := scalar_value(op.fill)):
            inside = sympy.Symbol(f"inside{id(op)}", real=True)
            return fill + inside * (operands[0] - fill)
        if not isinstance(op, ElementwiseInterface):
            return _uninterpreted_function_of(op, operands)
        formula = self._formula_of_elementwise(op, operands)
        if _is_short_formula(formula):
            return formula
        return _uninterpreted_function_of(op, sorted(formula.free_symbols, key=str))

    @staticmethod
    def _formula_of_elementwise(
        op: ElementwiseInterface, operands: Sequence[Expr]
    ) -> Expr:
        """
        Build the scalar body of `op` in a temporary block, and return its formula in
        terms of `operands`.
        """
        types = [tensor_type(each).element_type for each in op.operands]
        block = Block(arg_types=types)
        result = op.build_scalar_computation(
            Builder(InsertPoint.at_end(block)), *block.args
        )
        known = dict[SSAValue, Expr](zip(block.args, operands, strict=True))
        for each in block.ops:
            known[each.results[0]] = _formula_of_scalar(
                each, [known[v] for v in each.operands]
            )
        return known[result]


def _formula_of_scalar(op: Operation, operands: Sequence[Expr]) -> Expr:
    """
    Return the formula of a finite float constant or of an operation in `FORMULAE`; else
    an uninterpreted function.
    """
    if isinstance(op, arith.ConstantOp):
        value = op.value
        if isinstance(value, FloatAttr) and isfinite(value.value.data):
            return sympy.Rational(value.value.data)
    if (formula := FORMULAE.get(type(op))) is not None:
        return formula(*operands)
    return _uninterpreted_function_of(op, operands)


def _is_short_formula(formula: Expr) -> bool:
    """
    Return `True` if a formula has at most `MAX_PARTS` subexpressions and no number
    longer than `MAX_BITS`.
    """
    pending, count = [formula], 0
    while pending and count <= MAX_PARTS:
        expression = pending.pop()
        if (
            expression.is_Rational
            and max(abs(expression.p), expression.q).bit_length() > MAX_BITS
        ):
            return False
        pending += expression.args
        count += 1
    return count <= MAX_PARTS


def _uninterpreted_function_of(op: Operation, operands: Sequence[Expr]) -> Expr:
    """Return an uninterpreted function of the operands."""
    return sympy.Function(f"{op.name}_{id(op)}")(*operands)
