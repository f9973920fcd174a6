"""Analysis of indices: congruences that hold in every iteration."""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from xdsl.dialects import affine, arith
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind

from tlf.analysis.buffers.normalized_loops import loop_range_of
from tlf.dialects.affine_values import constant_value_of
from tlf.dialects.mem import Index
from tlf.support.affine.affine_expressions import evaluate_expression

Congruence: TypeAlias = tuple[int, int]
"""Modulus and remainder of a value; (0, n) for the constant n."""

NO_CONGRUENCE: Congruence = (1, 0)


def congruence_of(value: Index) -> Congruence:
    """
    Return the congruence of a value as far as constants and loops determine it. The
    remainder of a positive modulus is less than the modulus.
    """
    if isinstance(value, int):
        return 0, value
    if (constant := constant_value_of(value)) is not None:
        return 0, constant
    if isinstance(owner := value.owner, Block):
        return _congruence_of_variable(value)
    return _congruence_of_op(owner)


def add_congruences(left: Congruence, right: Congruence) -> Congruence:
    """Return the congruence of a sum."""
    return _canonicalize_congruence(gcd(left[0], right[0]), left[1] + right[1])


def multiply_congruences(left: Congruence, right: Congruence) -> Congruence:
    """
    Return the congruence of the product of two values that have these congruences.
    """
    (modulus, remainder), (other_modulus, other_remainder) = left, right
    new_modulus = gcd(
        modulus * other_modulus, modulus * other_remainder, other_modulus * remainder
    )
    return _canonicalize_congruence(new_modulus, remainder * other_remainder)


def _canonicalize_congruence(modulus: int, remainder: int) -> Congruence:
    return modulus, remainder % modulus if modulus else remainder


def _congruence_of_variable(value: SSAValue) -> Congruence:
    """
    Return the congruence of an induction variable by its lower bound and step;
    `NO_CONGRUENCE` for other block arguments.
    """
    if (loop := loop_range_of(value)) is None:
        return NO_CONGRUENCE
    modulus, first = congruence_of(loop.lower)
    if loop.trips == 1:
        return modulus, first
    return _canonicalize_congruence(
        gcd(modulus, constant_value_of(loop.step) or 1), first
    )


def _congruence_of_op(op: Operation) -> Congruence:
    """
    Return the congruence of an affine map or an integer sum, difference, product or
    remainder; `NO_CONGRUENCE` for other operations.
    """
    if isinstance(op, affine.ApplyOp):
        return _congruence_of_apply(op)
    if len(op.operands) != 2:
        return NO_CONGRUENCE
    left, right = (congruence_of(each) for each in op.operands)
    match op:
        case arith.AddiOp():
            return add_congruences(left, right)
        case arith.SubiOp():
            return add_congruences(left, multiply_congruences(right, (0, -1)))
        case arith.MuliOp():
            return multiply_congruences(left, right)
        case arith.RemSIOp():
            return _congruence_of_remainder(left, right)
        case _:
            return NO_CONGRUENCE


def _congruence_of_remainder(left: Congruence, right: Congruence) -> Congruence:
    """
    Return the congruence of `left` modulo a constant `right`; `NO_CONGRUENCE` if
    `right` is not constant.
    """
    return (
        _canonicalize_congruence(gcd(left[0], right[1]), left[1])
        if right[0] == 0
        else NO_CONGRUENCE
    )


def _congruence_of_apply(op: affine.ApplyOp) -> Congruence:
    """Return the congruence of the first result of an applied affine map."""
    map_, operands = op.map.data, [congruence_of(each) for each in op.mapOperands]
    return evaluate_expression(
        map_.results[0],
        operands[: map_.num_dims],
        operands[map_.num_dims :],
        congruence_of,
        _congruence_of_expression,
    )


def _congruence_of_expression(
    expression: AffineBinaryOpExpr, left: Congruence, right: Congruence
) -> Congruence:
    """
    Return the congruence of an affine sum, product or modulo by those of its operands;
    `NO_CONGRUENCE` for divisions.
    """
    match expression.kind:
        case AffineBinaryOpKind.Add:
            return add_congruences(left, right)
        case AffineBinaryOpKind.Mul:
            return multiply_congruences(left, right)
        case AffineBinaryOpKind.Mod:
            return _congruence_of_remainder(left, right)
        case _:
            return NO_CONGRUENCE
