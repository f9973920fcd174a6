"""Residues of indices: congruences that always hold."""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from xdsl.dialects import affine, arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineSymExpr,
)

from tlf.analysis.buffers.counters import counters_of, number_of
from tlf.dialects.mem import Index

Residue: TypeAlias = tuple[int, int]
"""A modulus and the remainder that a value always has: (0, n) for the number n."""

UNKNOWN: Residue = (1, 0)


def residue_of(value: Index) -> Residue:
    """
    Return the residue of a value as far as constants and loops determine it. A
    remainder of a positive modulus is less than the modulus.
    """
    if isinstance(value, int):
        return 0, value
    if (number := number_of(value)) is not None:
        return 0, number
    if isinstance(owner := value.owner, Block):
        return _of_counter(value, owner)
    return _of_result(owner)


def added(left: Residue, right: Residue) -> Residue:
    """Return the residue of a sum."""
    return _least(gcd(left[0], right[0]), left[1] + right[1])


def multiplied(left: Residue, right: Residue) -> Residue:
    """Return the residue of a product."""
    (modulus, rest), (other, other_rest) = left, right
    steps = gcd(modulus * other, modulus * other_rest, other * rest)
    return _least(steps, rest * other_rest)


def _least(modulus: int, rest: int) -> Residue:
    return modulus, rest % modulus if modulus else rest


def _of_counter(value: SSAValue, block: Block) -> Residue:
    loop = block.parent_op()
    for counter in counters_of(loop) if loop else ():
        if counter.variable is value:
            modulus, first = residue_of(counter.lower)
            if counter.trips == 1:
                return modulus, first
            return _least(gcd(modulus, number_of(counter.step) or 1), first)
    return UNKNOWN


def _of_result(op: Operation) -> Residue:
    if isinstance(op, affine.ApplyOp):
        return _of_expression(op.map.data.results[0], op, op.map.data.num_dims)
    if len(op.operands) != 2:
        return UNKNOWN
    left, right = (residue_of(each) for each in op.operands)
    match op:
        case arith.AddiOp():
            return added(left, right)
        case arith.SubiOp():
            return added(left, multiplied(right, (0, -1)))
        case arith.MuliOp():
            return multiplied(left, right)
        case arith.RemSIOp():
            return _remainder(left, right)
        case _:
            return UNKNOWN


def _remainder(left: Residue, right: Residue) -> Residue:
    return _least(gcd(left[0], right[1]), left[1]) if right[0] == 0 else UNKNOWN


def _of_expression(expression: AffineExpr, op: affine.ApplyOp, dims: int) -> Residue:
    match expression:
        case AffineConstantExpr():
            return 0, expression.value
        case AffineDimExpr():
            return residue_of(op.mapOperands[expression.position])
        case AffineSymExpr():
            return residue_of(op.mapOperands[dims + expression.position])
        case AffineBinaryOpExpr():
            left = _of_expression(expression.lhs, op, dims)
            right = _of_expression(expression.rhs, op, dims)
            return _of_binary(expression.kind, left, right)
        case _:
            return UNKNOWN


def _of_binary(kind: AffineBinaryOpKind, left: Residue, right: Residue) -> Residue:
    match kind:
        case AffineBinaryOpKind.Add:
            return added(left, right)
        case AffineBinaryOpKind.Mul:
            return multiplied(left, right)
        case AffineBinaryOpKind.Mod:
            return _remainder(left, right)
        case _:
            return UNKNOWN
