"""
Operations of elementwise arithmetic of the `graph` dialect, such as `graph.add`, and
their bases, with numpy broadcasting.

16-bit floats are computed in f32 and rounded once per operation.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.canonicalizable import SimplifiableOperation
from tlf.dialects.graph.tensor_types import (
    FLOATS,
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    promote_to_f32,
    round_to_type,
    shape_of,
    verify_element_type,
    verify_same_element_types,
    verify_shape,
)
from tlf.dialects.interfaces import Array, ElementwiseInterface
from tlf.dialects.types import broadcast_shape, is_float


class ElementwiseOperation(
    IRDLOperation, ElementwiseInterface, SimplifiableOperation, abc.ABC
):
    """
    Base of elementwise operations, whose operands share an element type, except for the
    condition of a select.

    The assembly format ends in a functional type, or in a single type if a unary
    operation has equal operand and result types.
    """

    ACCEPTED_ELEMENT_TYPES: ClassVar[tuple[Attribute, ...]] = FLOATS

    traits = traits_def(Pure())

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(
            parser.Delimiter.NONE, parser.parse_unresolved_operand
        )
        options = cls.parse_options(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        position = parser.pos
        if (types := parser.parse_optional_function_type()) is None:
            type_ = parser.parse_type()
            inputs, outputs = [type_] * len(operands), [type_]
        else:
            inputs, outputs = list(types.inputs), list(types.outputs)
        resolved = parser.resolve_operands(operands, inputs, position)
        return cls.create(
            operands=resolved,
            result_types=outputs,
            properties=options,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list(self.operands, printer.print_ssa_value)
        self.print_options(printer)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        if self.operand_types == self.result_types:
            printer.print_attribute(self.result_types[0])
        else:
            printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the properties, which follow the operands."""
        return {}

    def print_options(self, printer: Printer) -> None:
        """Print the properties, each with a leading space."""

    @property
    def numeric_operands(self) -> Sequence[SSAValue]:
        """Operands of the arithmetic, all of one element type."""
        return self.operands

    def verify_(self) -> None:
        for operand in self.numeric_operands:
            if element_type_of_value(operand) not in self.ACCEPTED_ELEMENT_TYPES:
                listed = ", ".join(map(str, self.ACCEPTED_ELEMENT_TYPES))
                raise VerifyException(
                    f"expected elements of {listed}, got "
                    f"{element_type_of_value(operand)}"
                )
        verify_same_element_types(self.numeric_operands)
        verify_shape(self.results[0], broadcast_shape(*map(shape_of, self.operands)))
        verify_element_type(self.results[0], self.result_element_type())

    def result_element_type(self) -> Attribute:
        """Return the element type that the result must have."""
        return element_type_of_value(self.numeric_operands[0])

    def compute_reference(self, *operands: Array) -> tuple[Array, ...]:
        with np.errstate(all="ignore"):
            value = self.compute_in_numpy(
                *(promote_to_f32(operand) for operand in operands)
            )
        return (round_to_type(value, element_type_of_value(self.results[0])),)

    @abc.abstractmethod
    def compute_in_numpy(self, *operands: Array) -> Array:
        """Compute in numpy; 16-bit floats are promoted to f32 by the caller."""


class UnaryOperation(ElementwiseOperation):
    """Base of elementwise operations on one tensor."""

    operand = operand_def(GraphTensorConstraint())
    result = result_def(GraphTensorConstraint())

    def __init__(
        self,
        operand: SSAValue | Operation,
        properties: Mapping[str, Attribute] | None = None,
    ):
        super().__init__(
            operands=[operand],
            result_types=[SSAValue.get(operand).type],
            properties=properties,
        )


class BinaryOperation(ElementwiseOperation):
    """Base of elementwise operations on two tensors, with numpy broadcasting."""

    lhs = operand_def(GraphTensorConstraint())
    rhs = operand_def(GraphTensorConstraint())
    result = result_def(GraphTensorConstraint())

    def __init__(self, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        operands = [SSAValue.get(lhs), SSAValue.get(rhs)]
        shape = broadcast_shape(*map(shape_of, operands))
        super().__init__(
            operands=operands,
            result_types=[
                infer_result_type(operands, shape, element_type_of_value(operands[0]))
            ],
        )


def insert_op(builder: Builder, op: Operation) -> SSAValue:
    """Insert an operation, and return its result."""
    return builder.insert(op).results[0]


@irdl_op_definition
class AddOp(BinaryOperation):
    """
    Elementwise sum.

    ```mlir
    %sum = graph.add %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.add"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.add(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        kind = arith.AddfOp if is_float(lhs.type) else arith.AddiOp
        return insert_op(builder, kind(lhs, rhs))


@irdl_op_definition
class SubOp(BinaryOperation):
    """
    Elementwise difference: the first operand minus the second.

    ```mlir
    %difference = graph.sub %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.sub"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.subtract(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        kind = arith.SubfOp if is_float(lhs.type) else arith.SubiOp
        return insert_op(builder, kind(lhs, rhs))


@irdl_op_definition
class MulOp(BinaryOperation):
    """
    Elementwise product; of i1, the conjunction.

    ```mlir
    %product = graph.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.mul"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (*NUMBERS, i1)

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.multiply(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        if is_float(lhs.type):
            return insert_op(builder, arith.MulfOp(lhs, rhs))
        kind = arith.AndIOp if lhs.type == i1 else arith.MuliOp
        return insert_op(builder, kind(lhs, rhs))

    def linear_operands(self) -> tuple[int, ...]:
        return (0, 1)


@irdl_op_definition
class MaximumOp(BinaryOperation):
    """
    Elementwise maximum, NaN where an operand is NaN; of i1, the disjunction.

    ```mlir
    %y = graph.maximum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.maximum"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (*NUMBERS, i1)

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.maximum(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        if is_float(lhs.type):
            return insert_op(builder, arith.MaximumfOp(lhs, rhs))
        kind = arith.OrIOp if lhs.type == i1 else arith.MaxSIOp
        return insert_op(builder, kind(lhs, rhs))


@irdl_op_definition
class MinimumOp(BinaryOperation):
    """
    Elementwise minimum, NaN where an operand is NaN; of i1, the conjunction.

    ```mlir
    %y = graph.minimum %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.minimum"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (*NUMBERS, i1)

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.minimum(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        if is_float(lhs.type):
            return insert_op(builder, arith.MinimumfOp(lhs, rhs))
        kind = arith.AndIOp if lhs.type == i1 else arith.MinSIOp
        return insert_op(builder, kind(lhs, rhs))


@irdl_op_definition
class PowOp(BinaryOperation):
    """
    Elementwise power, `a ** b`: 1 where b is 0, NaN where a is negative and b is not an
    integer.

    ```mlir
    %power = graph.pow %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.pow"

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.power(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        base, exponent = elements
        return insert_op(builder, math.PowFOp(base, exponent))
