"""
Rewrite of the pass `graph-hoist-scales`: search for the weights of which a part is
scaled, instead of a slice of what is computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.graph.tensor_types import shape_of
from tlf.dialects.interfaces import AccumulatingInterface, TilingInterface
from tlf.dialects.types import dtype_of, is_float, tensor_type
from tlf.passes.op_replacement import is_in_planned_group


@dataclass(frozen=True)
class AxisPart:
    """Elements of a tensor at consecutive positions along one axis."""

    axis: int
    offset: int
    extent: int

    @staticmethod
    def read_by_slice(op: graph.SliceOp) -> AxisPart | None:
        """Return the part of its operand that a slice along one axis reads, or None."""
        shape, sizes = shape_of(op.operand), shape_of(op.result)
        axes = [axis for axis, size in enumerate(sizes) if size != shape[axis]]
        if len(axes) != 1 or op.steps[axes[0]] != 1:
            return None
        return AxisPart(axes[0], op.starts[axes[0]], sizes[axes[0]])

    def overlaps(self, other: AxisPart) -> bool:
        """Return `True` if both may have an element in common."""
        return self.axis != other.axis or max(self.offset, other.offset) < min(
            self.offset + self.extent, other.offset + other.extent
        )

    def before_reshape(self, op: graph.ReshapeOp) -> AxisPart | None:
        """Return the same elements of a reshape's operand, or None if that has none."""
        source, result = shape_of(op.operand), shape_of(op.result)
        stride = prod(result[self.axis + 1 :])
        for axis, size in enumerate(source):
            step = prod(source[axis + 1 :])
            if size * step != result[self.axis] * stride:
                continue
            bounds = self.offset * stride, self.extent * stride
            if all(bound % step == 0 for bound in bounds):
                return AxisPart(axis, bounds[0] // step, bounds[1] // step)
        return None

    def before_operation(self, op: TilingInterface, index: int) -> AxisPart | None:
        """
        Return the part of an operand on which the part of the result depends, and no
        other element of the result; None if there is none.
        """
        iterator = op.result_indexing_maps()[0][self.axis].loop_dim
        accesses = op.indexing_maps()[index]
        if iterator is None or accesses is None:
            return None
        axes = [n for n, each in enumerate(accesses) if each.depends_on({iterator})]
        if len(axes) != 1 or accesses[axes[0]].loop_dim != iterator:
            return None
        return AxisPart(axes[0], self.offset, self.extent)


@dataclass(frozen=True)
class ScaledOperand:
    """An operand of an operation, or a part of it, that is to be scaled."""

    op: Operation
    index: int
    part: AxisPart | None = None

    @property
    def before_broadcasts(self) -> ScaledOperand:
        """Operand to scale instead, before it is repeated for this one alone."""
        value = self.op.operands[self.index]
        producer = value.owner
        if not isinstance(producer, graph.BroadcastOp) or not value.has_one_use():
            return self
        part = self.part and self.part.before_operation(producer, 0)
        if self.part is not None and part is None:
            return self
        return ScaledOperand(producer, 0, part).before_broadcasts

    def build_factor(self, builder: Builder, factor: float) -> SSAValue:
        """Build the factors: a scalar, or a row with 1 outside of the part."""
        value = tensor_type(self.op.operands[self.index])
        if self.part is None:
            return TensorBuilder(builder, value.element_type).constant(factor)
        axis, extent = self.part.axis, value.get_shape()[self.part.axis]
        factors = np.ones(extent, dtype_of(value.element_type))
        factors[self.part.offset :][: self.part.extent] = factor
        shape = [extent] + [1] * (value.get_num_dims() - axis - 1)
        type_ = TensorType(value.element_type, shape)
        constant = graph.ConstantOp(factors.reshape(shape), type_)
        return builder.insert(constant).results[0]


def find_scalable_operands(op: TilingInterface) -> Sequence[int]:
    """Return the operands in each of which a result is linear, with zeros around it."""
    if isinstance(op, AccumulatingInterface) and op.init_value is not None:
        return ()
    operands = op.linear_operands()
    return [each for each in operands if op.padding_value(each) in (None, 0)]


def find_weights_before_slice(
    op: graph.SliceOp, invariant: AbstractSet[SSAValue], depth: int
) -> Sequence[ScaledOperand] | None:
    """
    Return the call-invariant operands to scale in part instead of a slice of what is
    computed from them; None if there are none.
    """
    part = AxisPart.read_by_slice(op)
    return None if part is None else _find_weights(op, 0, part, invariant, depth)


def _find_weights(
    op: Operation,
    index: int,
    part: AxisPart,
    invariant: AbstractSet[SSAValue],
    depth: int,
) -> Sequence[ScaledOperand] | None:
    """Return the call-invariant operands to scale instead of a part of an operand."""
    value, producer = op.operands[index], op.operands[index].owner
    if not is_float(tensor_type(value).element_type):
        return None
    if value in invariant:
        return (ScaledOperand(op, index, part).before_broadcasts,)
    if (
        not depth
        or not isinstance(producer, TilingInterface)
        or is_in_planned_group(producer)
        or _has_other_readers(value, op, part)
    ):
        return None
    return _find_weights_before_result(producer, part, invariant, depth - 1)


def _find_weights_before_result(
    op: TilingInterface, part: AxisPart, invariant: AbstractSet[SSAValue], depth: int
) -> Sequence[ScaledOperand] | None:
    """Return the call-invariant operands to scale instead of a part of the result."""
    if isinstance(op, graph.ReshapeOp):
        before = part.before_reshape(op)
        return before and _find_weights(op, 0, before, invariant, depth)
    is_sum = isinstance(op, graph.AddOp | graph.SubOp)
    operands = (0,) if isinstance(op, graph.CastOp) else find_scalable_operands(op)
    found: list[Sequence[ScaledOperand] | None] = []
    for index in (0, 1) if is_sum else operands:
        before = part.before_operation(op, index)
        found.append(before and _find_weights(op, index, before, invariant, depth))
    if not is_sum:
        return next((each for each in found if each is not None), None)
    terms = [each for each in found if each is not None]
    return [each for term in terms for each in term] if len(terms) == 2 else None


def _has_other_readers(value: SSAValue, op: Operation, part: AxisPart) -> bool:
    """Return `True` if an operation other than `op` may read a part of a value."""
    for reader in {use.operation for use in value.uses} - {op}:
        if not isinstance(reader, graph.SliceOp):
            return True
        other = AxisPart.read_by_slice(reader)
        if other is None or part.overlaps(other):
            return True
    return False
