"""
Builder of operations of the `graph` dialect on tensors of one floating-point type.

Composites of 16-bit floats compute in f32, and round once at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.division import DivOp
from tlf.dialects.graph.elementwise import AddOp, MulOp, SubOp
from tlf.dialects.graph.movement import ReshapeOp
from tlf.dialects.graph.reduction import ReduceKind, ReduceOp
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.graph.unary_functions import ErfOp, ExpOp, RsqrtOp
from tlf.dialects.types import AnyTensor, accumulator_type_of, tensor_type_like


@dataclass(frozen=True)
class TensorBuilder:
    """Builder of `graph` operations on tensors of one floating-point type."""

    builder: Builder
    element: Attribute

    @staticmethod
    def for_operand(builder: Builder, operand: SSAValue) -> TensorBuilder:
        """Return a builder in the accumulator type of the elements of `operand`."""
        return TensorBuilder(
            builder, accumulator_type_of(element_type_of_value(operand))
        )

    def insert(self, op: Operation) -> SSAValue:
        """Insert an operation, and return its result."""
        return self.builder.insert(op).results[0]

    def constant(self, value: float) -> SSAValue:
        """Build a scalar constant."""
        return self.insert(ConstantOp.from_splat(value, TensorType(self.element, [])))

    def promote_to_builder_type(self, value: SSAValue) -> SSAValue:
        """Promote a value to the type of the builder."""
        if element_type_of_value(value) == self.element:
            return value
        return self.insert(CastOp(value, self.element))

    def cast_to_type(self, value: SSAValue, type_: Attribute) -> SSAValue:
        """Cast a value of the builder's type to `type_`."""
        if value.type == type_:
            return value
        return self.insert(CastOp.create(operands=[value], result_types=[type_]))

    def add(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the sum."""
        return self.insert(AddOp(lhs, rhs))

    def sub(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the difference."""
        return self.insert(SubOp(lhs, rhs))

    def mul(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the product."""
        return self.insert(MulOp(lhs, rhs))

    def div(self, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """Build the quotient."""
        return self.insert(DivOp(lhs, rhs))

    def exp(self, value: SSAValue) -> SSAValue:
        """Build the exponential."""
        return self.insert(ExpOp(value))

    def erf(self, value: SSAValue) -> SSAValue:
        """Build the error function."""
        return self.insert(ErfOp(value))

    def rsqrt(self, value: SSAValue) -> SSAValue:
        """Build the reciprocal of the square root."""
        return self.insert(RsqrtOp(value))

    def reduce(
        self, value: SSAValue, kind: ReduceKind, axes: Sequence[int], keepdims: bool
    ) -> SSAValue:
        """Build a reduction along axes."""
        return self.insert(ReduceOp(value, kind, axes, keepdims))

    def reshape(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        """Build a reshape."""
        return self.insert(ReshapeOp(value, shape))

    def build_with_result_type(
        self,
        operation_type: type[IRDLOperation],
        operands: Sequence[SSAValue],
        type_: Attribute,
    ) -> SSAValue:
        """
        Build the last operation, of class `operation_type`, and cast its result to
        `type_`.
        """
        tensor = cast(AnyTensor, type_)
        wide = tensor_type_like(tensor, tensor.get_shape(), self.element)
        last = self.insert(
            operation_type.create(operands=operands, result_types=[wide])
        )
        return self.cast_to_type(last, type_)
