"""
Tensors of whole numbers that grow evenly along every axis, as places often do.

What operations make of such numbers is known when compiling. The rules for those that
keep growth even are in `RULES`; movements need none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import TensorType, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.cuts import reshaped_strides
from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.constant import ConstantOp, dense_elements
from tlf.dialects.graph.elementwise import AddOp, MaximumOp, MinimumOp, MulOp, SubOp
from tlf.dialects.graph.iota import IotaOp
from tlf.dialects.graph.logic import CompareOp, Relation, SelectOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.tensors import INTEGERS, element_of, integer_limits, shape_of
from tlf.dialects.interfaces import MovementInterface
from tlf.dialects.types import broadcast_shape
from tlf.support.affine.access import Access, Accesses


@dataclass(frozen=True)
class Ramp:
    """The numbers `start + sum(factors[axis] * index[axis])` of a tensor."""

    start: int
    factors: tuple[int, ...]
    """One for each axis; 0 where its extent is 1."""
    shape: tuple[int, ...]

    @staticmethod
    def of(start: int, factors: Sequence[int], shape: Sequence[int]) -> Ramp:
        """A ramp; along axes of extent 1 factors say nothing."""
        pairs = zip(factors, shape, strict=True)
        used = tuple(factor if extent > 1 else 0 for factor, extent in pairs)
        return Ramp(start, used, tuple(shape))

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number."""
        pairs = zip(self.factors, self.shape, strict=True)
        ends = [factor * (extent - 1) for factor, extent in pairs]
        least, most = (sum(pick(end, 0) for end in ends) for pick in (min, max))
        return self.start + least, self.start + most

    @property
    def number(self) -> int | None:
        """The number that all elements are, if they are one."""
        return None if any(self.factors) else self.start

    def array(self) -> NDArray[np.int64]:
        """The numbers."""
        found = np.full((1,) * len(self.shape), self.start, np.int64)
        for axis, factor in enumerate(self.factors):
            ones = [1] * (len(self.shape) - axis - 1)
            found = found + np.arange(self.shape[axis]).reshape(-1, *ones) * factor
        return np.broadcast_to(found, self.shape)

    def read_by(self, accesses: Accesses) -> Access:
        """The number that an iteration reads, as an index of the iterators."""
        start, factors = self.start, dict[int, int]()
        for access, factor in zip(accesses, self.factors, strict=True):
            start += factor * access.offset
            for iterator, step in access.terms:
                factors[iterator] = factors.get(iterator, 0) + factor * step
        terms = ((iterator, factor) for iterator, factor in factors.items() if factor)
        return Access(tuple(terms), start)

    def spread(self, shape: Sequence[int]) -> Ramp:
        """The same, broadcast to a shape."""
        ones = len(shape) - len(self.shape)
        return Ramp(self.start, (0,) * ones + self.factors, tuple(shape))

    def __add__(self, other: Ramp) -> Ramp:
        shape = broadcast_shape(self.shape, other.shape)
        pair = self.spread(shape), other.spread(shape)
        factors = map(operator.add, pair[0].factors, pair[1].factors)
        return Ramp(self.start + other.start, tuple(factors), shape)

    def __sub__(self, other: Ramp) -> Ramp:
        return self + other.times(-1)

    def times(self, number: int) -> Ramp:
        """All numbers multiplied by one."""
        factors = tuple(number * factor for factor in self.factors)
        return replace(self, start=number * self.start, factors=factors)


Known: TypeAlias = dict[SSAValue, Ramp | None]
"""
Affine index tensors found so far, by value; `None` for values that are not known to be
one.
"""


def ramp_of(value: SSAValue, known: Known | None = None) -> Ramp | None:
    """The ramp that a tensor is, if it is known to be one."""
    known = {} if known is None else known
    if value not in known:
        known[value] = None
        known[value] = _found(value, known)
    return known[value]


def _found(value: SSAValue, known: Known) -> Ramp | None:
    op = value.owner
    if not isinstance(op, Operation) or not isinstance(value.type, TensorType):
        return None
    element = element_of(value)
    if element not in (*INTEGERS, i1) or len(known) > MOST:
        return None
    if (rule := RULES.get(type(op))) is None:
        rule = _moved if isinstance(op, MovementInterface) else None
    if rule is None or len(op.results) > 1:
        return None
    ramp = rule(op, [ramp_of(operand, known) for operand in op.operands])
    if ramp is None:
        return None
    ramp = ramp.spread(shape_of(value))
    return ramp if _holds(ramp, element) else None


MOST = 64
"""So many values are looked at for one."""


def _holds(ramp: Ramp, element: Attribute) -> bool:
    """
    Return `True` if an element type can hold all numbers of an affine index tensor.
    """
    (least, most), limits = ramp.bounds, integer_limits(element)
    return limits[0] <= least and most <= limits[1]


Rule: TypeAlias = Callable[[Operation, Sequence[Ramp | None]], Ramp | None]
"""
Transfer function of an operation: the affine index tensor of its result from those of
its operands, as far as these are known.
"""


def _moved(op: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    """A movement, each index of whose operand grows evenly with those of its result."""
    assert isinstance(op, MovementInterface)
    shape, ramp = shape_of(op.results[0]), operands[0]
    if ramp is None or len(operands) > 1 or op.border(0) is not None:
        return None
    if [access.plain for access in op.result_accesses()[0]] != [*range(len(shape))]:
        return None
    access = ramp.read_by(op.operand_accesses()[0] or ())
    factors = dict(access.terms)
    return Ramp.of(access.offset, [factors.get(n, 0) for n in range(len(shape))], shape)


def _constant(op: Operation, _: Sequence[Ramp | None]) -> Ramp | None:
    """Numbers written out, if they are what the first two along each axis promise."""
    constant = cast(ConstantOp, op)
    if dense_elements(constant.value) is None or not prod(shape_of(constant.result)):
        return None
    array = cast(NDArray[np.int64], constant.array())
    first, origin = int(array.flat[0]), (0,) * array.ndim
    factors = [0] * array.ndim
    for axis, extent in enumerate(array.shape):
        if extent > 1:
            factors[axis] = int(array[(*origin[:axis], 1, *origin[axis + 1 :])]) - first
    ramp = Ramp.of(first, factors, array.shape)
    if not _holds(ramp, i64):
        return None
    return ramp if np.array_equal(ramp.array(), array) else None


def _iota(op: Operation, _: Sequence[Ramp | None]) -> Ramp | None:
    shape, along = shape_of(op.results[0]), cast(IotaOp, op).axis.value.data
    return Ramp.of(0, [int(axis == along) for axis in range(len(shape))], shape)


def _reshaped(op: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    shape, (ramp,) = shape_of(op.results[0]), operands
    if ramp is None or not prod(shape):
        return None
    factors = reshaped_strides(ramp.shape, ramp.factors, shape)
    return None if factors is None else Ramp.of(ramp.start, factors, shape)


def _product(_: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    """A product with a number."""
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    shape = broadcast_shape(lhs.shape, rhs.shape)
    if rhs.number is None:
        lhs, rhs = rhs, lhs
    return None if rhs.number is None else lhs.spread(shape).times(rhs.number)


def _compared(op: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    """A comparison whose outcome is the same for all elements."""
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    relation, distance = cast(CompareOp, op).relation.data, lhs - rhs
    least, most = distance.bounds
    if relation in (Relation.EQ, Relation.NE) and least <= 0 <= most and least != most:
        return None
    outcome, other = (_HOLDS[relation](end, 0) for end in (least, most))
    if outcome != other:
        return None
    return Ramp.of(int(outcome), [0] * len(distance.shape), distance.shape)


_HOLDS: Mapping[Relation, Callable[[int, int], bool]] = {
    Relation.EQ: operator.eq,
    Relation.NE: operator.ne,
    Relation.LT: operator.lt,
    Relation.LE: operator.le,
    Relation.GT: operator.gt,
    Relation.GE: operator.ge,
}


def _selected(_: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    """A choice that is the same for all elements."""
    condition, lhs, rhs = operands
    if condition is None or condition.number is None:
        return None
    return lhs if condition.number else rhs


def _extreme(op: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    """The greater of two, or the lesser, where it is the same one for all elements."""
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    least, most = (lhs - rhs).bounds
    if least < 0 < most:
        return None
    takes_left = (least >= 0) == isinstance(op, MaximumOp)
    return lhs if takes_left else rhs


def _sum(_: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    lhs, rhs = operands
    return None if lhs is None or rhs is None else lhs + rhs


def _difference(_: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    lhs, rhs = operands
    return None if lhs is None or rhs is None else lhs - rhs


def _same(_: Operation, operands: Sequence[Ramp | None]) -> Ramp | None:
    return operands[0]


RULES: Mapping[type[Operation], Rule] = {
    AddOp: _sum,
    CastOp: _same,
    CompareOp: _compared,
    ConstantOp: _constant,
    IotaOp: _iota,
    MaximumOp: _extreme,
    MinimumOp: _extreme,
    MulOp: _product,
    ReshapeOp: _reshaped,
    SelectOp: _selected,
    SubOp: _difference,
}
"""By operation, for those that are no plain movements."""
