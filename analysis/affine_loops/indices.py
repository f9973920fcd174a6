"""Index values as linear expressions of what they depend on, and back."""

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
from tlf.support.affine.access import Linear
from tlf.support.affine.linear_map import Linear as Row


def linear_of(index: Index) -> Linear:
    """
    An index as a linear expression of values. Where it is not computed linearly, a
    value stands for itself.
    """
    if isinstance(index, int):
        return Linear(index)
    owner = index.owner
    found = _computed(owner) if isinstance(owner, Operation) else None
    return Linear.of(index) if found is None else found


def _computed(op: Operation) -> Linear | None:
    match op:
        case arith.ConstantOp(value=IntegerAttr() as value):
            return Linear(value.value.data)
        case ApplyOp():
            return _applied(op)
        case arith.AddiOp():
            return linear_of(op.lhs) + linear_of(op.rhs)
        case arith.SubiOp():
            return linear_of(op.lhs) - linear_of(op.rhs)
        case arith.MuliOp():
            left, right = linear_of(op.lhs), linear_of(op.rhs)
            if not left.terms:
                return right * left.constant
            return left * right.constant if not right.terms else None
        case _:
            return None


def _applied(op: ApplyOp) -> Linear | None:
    map_ = op.map.data
    if map_.num_symbols:
        return None
    try:
        row = Row.of(map_.results[0], map_.num_dims)
    except VerifyException:
        return None
    total = Linear(row.constant)
    for operand, factor in zip(op.mapOperands, row.coefficients, strict=True):
        total += linear_of(operand) * factor
    return total


def value_of(symbol: Hashable) -> SSAValue:
    """The value that a symbol is."""
    assert isinstance(symbol, SSAValue)
    return cast(SSAValue, symbol)


def index_of(builder: Builder, form: Linear) -> Index:
    """A linear expression of index values as a number or as an index value."""
    if not form.terms:
        return form.constant
    symbols = [value_of(symbol) for symbol, _ in form.terms]
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
