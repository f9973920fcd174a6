"""Elements that indices name along an axis, as sums over it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.logic import Relation
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import ContractionInterface
from tlf.dialects.postorder import in_postorder
from tlf.dialects.replacement import is_planned
from tlf.dialects.rewriting import replace_op
from tlf.dialects.types import dtype_of, like, tensor_type
from tlf.passes.graph.pointwise import is_pointwise, leaves, varies_along


def is_summable(op: Operation) -> bool:
    """
    Return `True` if an operation gathers one element of each row of a contraction's
    result, possibly with elementwise operations behind it.
    """
    if not isinstance(op, graph.GatherOp) or is_planned(op):
        return False
    shape, axis = tensor_type(op.operand).get_shape(), op.axis.value.data
    wanted = (*shape[:axis], 1, *shape[axis + 1 :])
    if tensor_type(op.result).get_shape() != wanted:
        return False
    found = [
        leaf for leaf in leaves(op.operand) if varies_along(leaf, axis - len(shape))
    ]
    return all(tensor_type(leaf).element_type != i1 for leaf in found) and any(
        isinstance(leaf.owner, ContractionInterface) for leaf in found
    )


def sum_gathered(op: Operation) -> bool:
    """
    Replace an operation that gathers elements by sums over all places, of the elements
    at the places named and of zeros: in a loop over the axis, nothing need be in memory
    for it. Elementwise operations come behind the sums. Returns whether that is so.
    """
    if not is_summable(op):
        return False
    assert isinstance(op, graph.GatherOp)
    sums = _Sums(op, Builder(InsertPoint.before(op)))
    found = sums.of(op.operand)
    if is_pointwise(op.operand.owner):
        found = sums.where_named(found)
    found.name_hint = op.result.name_hint
    replace_op(op, [], [found])
    return True


class _Sums:
    """Builder of gathered values as sums."""

    def __init__(self, op: graph.GatherOp, builder: Builder) -> None:
        self.op = op
        self.axis = op.axis.value.data
        self.shape = tensor_type(op.operand).get_shape()
        self.builder = builder
        self._known: dict[SSAValue, SSAValue] = {}

    @property
    def place(self) -> int:
        """The axis, counted from the last one as -1."""
        return self.axis - len(self.shape)

    def of(self, value: SSAValue) -> SSAValue:
        """The elements of a value that are gathered."""
        return in_postorder(value, self._known, self._operands, self._of)

    def _operands(self, value: SSAValue) -> Sequence[SSAValue]:
        """The operands of what computes the elements of a value at the same place."""
        if not is_pointwise(value.owner) or not varies_along(value, self.place):
            return ()
        return value.owner.operands

    def _of(self, value: SSAValue) -> SSAValue:
        owner = value.owner
        if not varies_along(value, self.place):
            return value
        if not is_pointwise(owner):
            return self._chosen(value)
        operands = [self.of(each) for each in owner.operands]
        type_ = tensor_type(value)
        sizes = list(type_.get_shape())
        sizes[self.place] = 1
        result = like(type_, sizes, type_.element_type)
        return self._insert(owner.tiled(operands, [result]))

    def where_named(self, value: SSAValue) -> SSAValue:
        """A value where indices name an element, and 0 where they name none."""
        element = tensor_type(self.op.indices).element_type
        least = self._number(0, element)
        end = self._number(self.shape[self.axis], element)
        above = self._insert(graph.CompareOp(self.op.indices, least, Relation.GE))
        below = self._insert(graph.CompareOp(self.op.indices, end, Relation.LT))
        named = self._insert(graph.AndOp(above, below))
        zero = self._number(0, tensor_type(value).element_type)
        return self._insert(graph.SelectOp(named, value, zero))

    def _chosen(self, value: SSAValue) -> SSAValue:
        """The elements of a leaf: what is in memory is read where indices say."""
        is_stored = not isinstance(value.owner, ContractionInterface)
        if is_stored and tensor_type(value).get_shape() == self.shape:
            return self._insert(graph.GatherOp(value, self.op.indices, self.axis))
        return self._sum(value)

    def _sum(self, value: SSAValue) -> SSAValue:
        element = tensor_type(self.op.indices).element_type
        extent, behind = self.shape[self.axis], len(self.shape) - self.axis - 1
        places = np.arange(extent, dtype=dtype_of(element))
        places = places.reshape(extent, *[1] * behind)
        constant = self._insert(graph.ConstantOp(places))
        named = self._insert(graph.CompareOp(self.op.indices, constant, Relation.EQ))
        zero = self._number(0, tensor_type(value).element_type)
        chosen = self._insert(graph.SelectOp(named, value, zero))
        return self._insert(graph.ReduceOp(chosen, ReduceKind.SUM, [self.axis], True))

    def _number(self, value: int, element: Attribute) -> SSAValue:
        return self._insert(graph.ConstantOp.filled(value, TensorType(element, [])))

    def _insert(self, op: Operation) -> SSAValue:
        op.location = self.op.location
        return self.builder.insert(op).results[0]
