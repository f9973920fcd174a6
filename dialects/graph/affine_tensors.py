"""
IR utility of the `graph` dialect: query for integer tensors that are affine in their
indices.

Elements of affine tensors are known at compile time. `TRANSFER_FUNCTIONS` lists the
rule of each operation that derives an affine result from affine operands; plain
movements are derived from their indexing maps.
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

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.comparison_and_logic import CompareOp, Relation, SelectOp
from tlf.dialects.graph.constant import ConstantOp, dense_elements_of
from tlf.dialects.graph.elementwise import AddOp, MaximumOp, MinimumOp, MulOp, SubOp
from tlf.dialects.graph.iota import IotaOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.tensor_types import (
    INTEGERS,
    element_type_of_value,
    integer_limits,
    shape_of,
)
from tlf.dialects.interfaces import MovementInterface
from tlf.dialects.slice_views import strides_of_reshaped_view
from tlf.dialects.types import broadcast_shape
from tlf.support.affine.index_access import Accesses, IndexAccess, identity_accesses


@dataclass(frozen=True)
class AffineTensor:
    """
    An integer tensor with elements `start + sum(coefficients[axis] * index[axis])`.
    """

    constant_term: int
    coefficients: tuple[int, ...]
    """Coefficient of each axis; 0 for an axis of extent 1."""
    shape: tuple[int, ...]

    @staticmethod
    def from_coefficients(
        constant_term: int, axis_coefficients: Sequence[int], shape: Sequence[int]
    ) -> AffineTensor:
        """Return an affine tensor; coefficients of axes of extent 1 are dropped."""
        pairs = zip(axis_coefficients, shape, strict=True)
        used = tuple(factor if extent > 1 else 0 for factor, extent in pairs)
        return AffineTensor(constant_term, used, tuple(shape))

    @property
    def value_range(self) -> tuple[int, int]:
        """Least and greatest element."""
        access = self.compose_with_accesses(identity_accesses(len(self.shape)))
        return access.index_bounds(self.shape)

    @property
    def uniform_value(self) -> int | None:
        """Value of all elements; `None` if they differ."""
        return None if any(self.coefficients) else self.constant_term

    def to_array(self) -> NDArray[np.int64]:
        """Return all elements as a read-only i64 numpy array."""
        elements = np.full((1,) * len(self.shape), self.constant_term, np.int64)
        for axis, factor in enumerate(self.coefficients):
            ones = [1] * (len(self.shape) - axis - 1)
            elements = (
                elements + np.arange(self.shape[axis]).reshape(-1, *ones) * factor
            )
        return np.broadcast_to(elements, self.shape)

    def compose_with_accesses(self, accesses: Accesses) -> IndexAccess:
        """Return the accessed element as an affine function of the iterators."""
        start, factors = self.constant_term, dict[int, int]()
        for access, factor in zip(accesses, self.coefficients, strict=True):
            start += factor * access.offset
            for iterator, step in access.terms:
                factors[iterator] = factors.get(iterator, 0) + factor * step
        terms = ((iterator, factor) for iterator, factor in factors.items() if factor)
        return IndexAccess(tuple(terms), start)

    def broadcast_to(self, shape: Sequence[int]) -> AffineTensor:
        """Return a new affine tensor, broadcast to `shape`; no operation is built."""
        ones = len(shape) - len(self.shape)
        return AffineTensor(
            self.constant_term, (0,) * ones + self.coefficients, tuple(shape)
        )

    def __add__(self, other: AffineTensor) -> AffineTensor:
        shape = broadcast_shape(self.shape, other.shape)
        pair = self.broadcast_to(shape), other.broadcast_to(shape)
        factors = map(operator.add, pair[0].coefficients, pair[1].coefficients)
        return AffineTensor(
            self.constant_term + other.constant_term, tuple(factors), shape
        )

    def __sub__(self, other: AffineTensor) -> AffineTensor:
        return self + other.multiply_by_constant(-1)

    def multiply_by_constant(self, multiplier: int) -> AffineTensor:
        """Return a new affine tensor, with all elements multiplied by `multiplier`."""
        factors = tuple(multiplier * factor for factor in self.coefficients)
        return replace(
            self, constant_term=multiplier * self.constant_term, coefficients=factors
        )


KnownTensors: TypeAlias = dict[SSAValue, AffineTensor | None]
"""Affine tensors by value (a cache); `None` for values not known to be affine."""


def affine_tensor_of(
    value: SSAValue, known_tensors: KnownTensors | None = None
) -> AffineTensor | None:
    """Return the affine tensor of a value; `None` if it is not known to be affine."""
    known_tensors = {} if known_tensors is None else known_tensors
    if value not in known_tensors:
        known_tensors[value] = None
        known_tensors[value] = _derive_affine_tensor(value, known_tensors)
    return known_tensors[value]


def _derive_affine_tensor(
    value: SSAValue, known_tensors: KnownTensors
) -> AffineTensor | None:
    """
    Apply the transfer function of the operation that defines `value`; `None` if there
    is none, if elements overflow, or beyond `MAX_VISITED_VALUES` values.
    """
    op = value.owner
    if not isinstance(op, Operation) or not isinstance(value.type, TensorType):
        return None
    element = element_type_of_value(value)
    if element not in (*INTEGERS, i1) or len(known_tensors) > MAX_VISITED_VALUES:
        return None
    if (rule := TRANSFER_FUNCTIONS.get(type(op))) is None:
        rule = _transfer_movement if isinstance(op, MovementInterface) else None
    if rule is None or len(op.results) > 1:
        return None
    affine = rule(
        op, [affine_tensor_of(operand, known_tensors) for operand in op.operands]
    )
    if affine is None:
        return None
    affine = affine.broadcast_to(shape_of(value))
    return affine if _is_representable_in_type(affine, element) else None


MAX_VISITED_VALUES = 64
"""Maximum number of values that one query visits."""


def _is_representable_in_type(tensor: AffineTensor, element_type: Attribute) -> bool:
    """Return `True` if an element type represents all elements of an affine tensor."""
    (least, most), limits = tensor.value_range, integer_limits(element_type)
    return limits[0] <= least and most <= limits[1]


TransferFunction: TypeAlias = Callable[
    [Operation, Sequence[AffineTensor | None]], AffineTensor | None
]
"""
Transfer function of an operation: maps the affine tensors of its operands, `None` where
unknown, to the affine tensor of its result.
"""


def _transfer_movement(
    op: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """
    Apply a movement whose operand indices are affine in its result indices; `None` for
    others.
    """
    assert isinstance(op, MovementInterface)
    shape, affine = shape_of(op.results[0]), operands[0]
    if affine is None or len(operands) > 1 or op.padding_value(0) is not None:
        return None
    if [access.loop_dim for access in op.result_indexing_maps()[0]] != [
        *range(len(shape))
    ]:
        return None
    accesses = op.indexing_maps()[0] or ()
    if any(access.width != 1 for access in accesses):
        return None
    access = affine.compose_with_accesses(accesses)
    factors = dict(access.terms)
    return AffineTensor.from_coefficients(
        access.offset, [factors.get(n, 0) for n in range(len(shape))], shape
    )


def _transfer_constant(
    op: Operation, _: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """Convert a dense constant, if its elements are affine in their indices."""
    constant = cast(ConstantOp, op)
    if dense_elements_of(constant.value) is None or not prod(shape_of(constant.result)):
        return None
    array = cast(NDArray[np.int64], constant.to_array())
    first, origin = int(array.flat[0]), (0,) * array.ndim
    factors = [0] * array.ndim
    for axis, extent in enumerate(array.shape):
        if extent > 1:
            factors[axis] = int(array[(*origin[:axis], 1, *origin[axis + 1 :])]) - first
    affine = AffineTensor.from_coefficients(first, factors, array.shape)
    if not _is_representable_in_type(affine, i64):
        return None
    return affine if np.array_equal(affine.to_array(), array) else None


def _transfer_iota(
    op: Operation, _: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """Return the affine tensor of an iota: coefficient 1 along its axis, else 0."""
    shape, iota_axis = shape_of(op.results[0]), cast(IotaOp, op).axis.value.data
    return AffineTensor.from_coefficients(
        0, [int(axis == iota_axis) for axis in range(len(shape))], shape
    )


def _transfer_reshape(
    op: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """
    Return the reshaped affine tensor; `None` if it is empty, or if no coefficients
    express it in the new shape.
    """
    shape, (affine,) = shape_of(op.results[0]), operands
    if affine is None or not prod(shape):
        return None
    factors = strides_of_reshaped_view(affine.shape, affine.coefficients, shape)
    return (
        None
        if factors is None
        else AffineTensor.from_coefficients(affine.constant_term, factors, shape)
    )


def _transfer_product(
    _: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """
    Return the product of two affine tensors; `None` unless both are known and one of
    them is uniform.
    """
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    shape = broadcast_shape(lhs.shape, rhs.shape)
    if rhs.uniform_value is None:
        lhs, rhs = rhs, lhs
    return (
        None
        if rhs.uniform_value is None
        else lhs.broadcast_to(shape).multiply_by_constant(rhs.uniform_value)
    )


def _transfer_comparison(
    op: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """Compare; `None` unless the outcome is the same for all elements."""
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    relation, distance = cast(CompareOp, op).relation.data, lhs - rhs
    least, most = distance.value_range
    if relation in (Relation.EQ, Relation.NE) and least <= 0 <= most and least != most:
        return None
    outcome, other = (_RELATION_TESTS[relation](end, 0) for end in (least, most))
    if outcome != other:
        return None
    return AffineTensor.from_coefficients(
        int(outcome), [0] * len(distance.shape), distance.shape
    )


_RELATION_TESTS: Mapping[Relation, Callable[[int, int], bool]] = {
    Relation.EQ: operator.eq,
    Relation.NE: operator.ne,
    Relation.LT: operator.lt,
    Relation.LE: operator.le,
    Relation.GT: operator.gt,
    Relation.GE: operator.ge,
}


def _transfer_select(
    _: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """
    Return the operand that a uniform condition selects; `None` if that operand is
    unknown, or the condition is not uniform.
    """
    condition, lhs, rhs = operands
    if condition is None or condition.uniform_value is None:
        return None
    return lhs if condition.uniform_value else rhs


def _transfer_extremum(
    op: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    """Return the maximum or minimum, if one operand is the extremum everywhere."""
    lhs, rhs = operands
    if lhs is None or rhs is None:
        return None
    least, most = (lhs - rhs).value_range
    if least < 0 < most:
        return None
    takes_left = (least >= 0) == isinstance(op, MaximumOp)
    return lhs if takes_left else rhs


def _transfer_sum(
    _: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    lhs, rhs = operands
    return None if lhs is None or rhs is None else lhs + rhs


def _transfer_difference(
    _: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    lhs, rhs = operands
    return None if lhs is None or rhs is None else lhs - rhs


def _transfer_identity(
    _: Operation, operands: Sequence[AffineTensor | None]
) -> AffineTensor | None:
    return operands[0]


TRANSFER_FUNCTIONS: Mapping[type[Operation], TransferFunction] = {
    AddOp: _transfer_sum,
    CastOp: _transfer_identity,
    CompareOp: _transfer_comparison,
    ConstantOp: _transfer_constant,
    IotaOp: _transfer_iota,
    MaximumOp: _transfer_extremum,
    MinimumOp: _transfer_extremum,
    MulOp: _transfer_product,
    ReshapeOp: _transfer_reshape,
    SelectOp: _transfer_select,
    SubOp: _transfer_difference,
}
"""Transfer functions by operation; plain movements use `_transfer_movement`."""
