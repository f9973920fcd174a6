"""
Building programs that choose elements by their indices.

What is not chosen is replaced, never multiplied by 0, so that infinities and NaN stay
where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i1, i8, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.iota import IotaOp
from tlf.dialects.graph.logic import AndOp, CompareOp, Relation, SelectOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp, neutral_of
from tlf.dialects.graph.tensors import element_of, shape_of
from tlf.dialects.interfaces import Array, Scalar


def with_axis(shape: Sequence[int], axis: int, extent: int) -> tuple[int, ...]:
    """The shape with another extent along an axis."""
    return (*shape[:axis], extent, *shape[axis + 1 :])


def inside(indices: Array, extent: int) -> Array:
    """Return the mask of the indices that lie within an axis of some extent."""
    known = np.logical_and(np.greater_equal(indices, 0), np.less(indices, extent))
    return np.asarray(known)


@dataclass(frozen=True)
class ChoiceProgram:
    """Builds operations that choose elements, one method each."""

    builder: Builder

    def insert(self, op: Operation) -> SSAValue:
        """The result of an operation, put into the program."""
        return self.builder.insert(op).results[0]

    def number(self, value: Scalar, element: Attribute) -> SSAValue:
        """A scalar."""
        return self.insert(ConstantOp.filled(value, TensorType(element, [])))

    def positions(self, extent: int, after: int, element: Attribute = i32) -> SSAValue:
        """The indices of an axis that has `after` axes behind it."""
        return self.insert(IotaOp(TensorType(element, [extent, *[1] * after]), 0))

    def spread(self, value: SSAValue, axis: int, count: int = 1) -> SSAValue:
        """The value with `count` axes of extent 1 before one of its own, or the end."""
        shape = shape_of(value)
        if count == 0:
            return value
        spread = (*shape[:axis], *[1] * count, *shape[axis:])
        return self.insert(ReshapeOp(value, spread))

    def compare(self, lhs: SSAValue, rhs: SSAValue, relation: Relation) -> SSAValue:
        """A comparison."""
        return self.insert(CompareOp(lhs, rhs, relation))

    def select(self, chosen: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """The first value where it is chosen, and the second elsewhere."""
        return self.insert(SelectOp(chosen, lhs, rhs))

    def reduce(
        self,
        chosen: SSAValue,
        value: SSAValue,
        kind: ReduceKind,
        axis: int,
        keepdims: bool = False,
    ) -> SSAValue:
        """Build the reduction of the chosen elements of a value along an axis."""
        other = self.number(neutral_of(kind, element_of(value)), element_of(value))
        return self.insert(
            ReduceOp(self.select(chosen, value, other), kind, [axis], keepdims)
        )

    def pick(self, chosen: SSAValue, value: SSAValue, axis: int) -> SSAValue:
        """The one element that is chosen along an axis; any number if none is."""
        return self.reduce(chosen, value, ReduceKind.MAX, axis)

    def inside(self, indices: SSAValue, extent: int) -> SSAValue:
        """Build the mask of the indices that lie within an axis of some extent."""
        element = element_of(indices)
        bounds = ((0, Relation.GE), (extent, Relation.LT))
        return reduce(
            lambda lhs, rhs: self.insert(AndOp(lhs, rhs)),
            [
                self.compare(indices, self.number(bound, element), relation)
                for bound, relation in bounds
            ],
        )

    def numeric(self, value: SSAValue) -> SSAValue:
        """The value as numbers: true is 1."""
        return self.cast(value, i8) if element_of(value) == i1 else value

    def cast(self, value: SSAValue, element: Attribute) -> SSAValue:
        """The value in another element type."""
        return self.insert(CastOp(value, element))

    def finish(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """The value as one of type `type_`, whose shape it has."""
        if value.type == type_:
            return value
        return self.insert(CastOp.create(operands=[value], result_types=[type_]))
