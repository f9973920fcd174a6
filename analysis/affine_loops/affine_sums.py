"""Conversion of index values to affine sums of SSA values, and back."""

from __future__ import annotations

from collections.abc import Hashable
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.affine import ApplyOp
from xdsl.dialects.builtin import AffineMapAttr, IntegerAttr
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.tile import Index
from tlf.support.affine.index_access import AffineSum
from tlf.support.affine.linear_access import Linear as Row


def affine_sum_of(index: Index) -> AffineSum:
    """
    Return an index as an affine sum of SSA values. A value that is not computed by
    affine operations becomes a symbol.
    """
    if isinstance(index, int):
        return AffineSum(index)
    owner = index.owner
    found = _affine_sum_of_op(owner) if isinstance(owner, Operation) else None
    return AffineSum.of(index) if found is None else found


def _affine_sum_of_op(op: Operation) -> AffineSum | None:
    match op:
        case arith.ConstantOp(value=IntegerAttr() as value):
            return AffineSum(value.value.data)
        case ApplyOp():
            return _affine_sum_of_apply(op)
        case arith.AddiOp():
            return affine_sum_of(op.lhs) + affine_sum_of(op.rhs)
        case arith.SubiOp():
            return affine_sum_of(op.lhs) - affine_sum_of(op.rhs)
        case arith.MuliOp():
            left, right = affine_sum_of(op.lhs), affine_sum_of(op.rhs)
            if not left.terms:
                return right * left.constant
            return left * right.constant if not right.terms else None
        case _:
            return None


def _affine_sum_of_apply(op: ApplyOp) -> AffineSum | None:
    map_ = op.map.data
    if map_.num_symbols:
        return None
    try:
        row = Row.of(map_.results[0], map_.num_dims)
    except VerifyException:
        return None
    total = AffineSum(row.constant)
    for operand, factor in zip(op.mapOperands, row.coefficients, strict=True):
        total += affine_sum_of(operand) * factor
    return total


def value_of_symbol(symbol: Hashable) -> SSAValue:
    """Return the SSA value of a symbol."""
    assert isinstance(symbol, SSAValue)
    return cast(SSAValue, symbol)


def materialize_index(builder: Builder, form: AffineSum) -> Index:
    """Build an index from an affine sum: an integer or an `affine.apply`."""
    if not form.terms:
        return form.constant
    symbols = [value_of_symbol(symbol) for symbol, _ in form.terms]
    if form.constant == 0 and form.terms[0][1] == 1 and len(symbols) == 1:
        return symbols[0]
    total: AffineExpr | None = None
    for position, (_, factor) in enumerate(form.terms):
        dimension = AffineExpr.dimension(position)
        term = dimension if factor == 1 else dimension * factor
        total = term if total is None else total + term
    assert total is not None
    total = total + form.constant if form.constant else total
    map_ = AffineMapAttr(AffineMap(len(symbols), 0, (total,)))
    return builder.insert(ApplyOp(symbols, map_)).result
