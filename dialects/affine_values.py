"""Conversion of SSA index values to affine sums, and back by `affine.apply`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.dialects.mixed_offsets import Index
from tlf.support.affine.affine_expressions import evaluate_expression
from tlf.support.affine.index_access import AffineSum, combine_affine_sums

SymbolRule: TypeAlias = Callable[[SSAValue], AffineSum | None]
"""
Maps a value that is not computed by affine operations to its affine sum; None if it has
none.
"""


AFFINE_OPS = ApplyOp | arith.AddiOp | arith.SubiOp | arith.MuliOp | arith.FloorDivSIOp
"""Operations whose result may be affine in their operands."""


def constant_value_of(index: Index) -> int | None:
    """
    Return `index` if it is an `int`, or the number of its `arith.constant`; `None` for
    other values.
    """
    if isinstance(index, int):
        return index
    match index.owner:
        case arith.ConstantOp(value=IntegerAttr(value=number)):
            return number.data
        case _:
            return None


def affine_sum_of(index: Index) -> AffineSum:
    """
    Return an index as an affine sum of SSA values. A value that is not computed by
    affine operations becomes a symbol.
    """
    form = affine_sum_over(index, AffineSum.of_symbol)
    assert form is not None
    return form


def affine_sum_over(index: Index, symbol_rule: SymbolRule) -> AffineSum | None:
    """
    Return an index as an affine sum over the symbols of a rule; None if it has none.
    """
    if (constant := constant_value_of(index)) is not None:
        return AffineSum(constant)
    assert isinstance(index, SSAValue)
    owner = index.owner
    found = (
        _affine_sum_of_op(owner, symbol_rule) if isinstance(owner, Operation) else None
    )
    return symbol_rule(index) if found is None else found


def _affine_sum_of_op(op: Operation, symbol_rule: SymbolRule) -> AffineSum | None:
    """
    Return the result of `op` as an affine sum of symbols; `None` if it is not affine.
    """
    if not isinstance(op, AFFINE_OPS):
        return None
    operands = [affine_sum_over(each, symbol_rule) for each in op.operands]
    if isinstance(op, ApplyOp):
        return affine_sum_of_map(op.map.data, operands)
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    match op:
        case arith.AddiOp():
            return lhs + rhs
        case arith.SubiOp():
            return lhs - rhs
        case arith.MuliOp():
            return lhs.multiply(rhs)
        case arith.FloorDivSIOp():
            return lhs.floor_divide(rhs)


def affine_sum_of_map(
    map_: AffineMap, operands: Sequence[AffineSum | None]
) -> AffineSum | None:
    """
    Return the only result of a map as an affine sum; None if it is not affine in the
    symbols of its operands.
    """
    (expression,) = map_.results
    dims, symbols = operands[: map_.num_dims], operands[map_.num_dims :]
    return evaluate_expression(
        expression, dims, symbols, AffineSum, combine_affine_sums
    )


def value_of_symbol(symbol: Hashable) -> SSAValue:
    """Return the SSA value of a symbol."""
    assert isinstance(symbol, SSAValue)
    return cast(SSAValue, symbol)


def materialize_index(builder: Builder, affine_sum: AffineSum) -> Index:
    """Build an index from an affine sum: an integer or an `affine.apply`."""
    if not affine_sum.terms:
        return affine_sum.constant
    symbols = [value_of_symbol(symbol) for symbol, _ in affine_sum.terms]
    if affine_sum.constant == 0 and affine_sum.terms[0][1] == 1 and len(symbols) == 1:
        return symbols[0]
    total: AffineExpr | None = None
    for position, (_, factor) in enumerate(affine_sum.terms):
        dimension = AffineExpr.dimension(position)
        term = dimension if factor == 1 else dimension * factor
        total = term if total is None else total + term
    assert total is not None
    total = total + affine_sum.constant if affine_sum.constant else total
    return insert_affine_apply(builder, total, symbols)


def insert_affine_apply(
    builder: Builder, expression: AffineExpr, operands: Sequence[SSAValue]
) -> SSAValue:
    """Insert an `affine.apply` of an expression and return its result."""
    map_ = AffineMapAttr(AffineMap(len(operands), 0, (expression,)))
    return builder.insert(ApplyOp(operands, map_)).result
