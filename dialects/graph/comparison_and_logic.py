"""
Operations `graph.compare`, `graph.select`, `graph.and`, `graph.or` and `graph.not`,
elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tlf.dialects.graph.elementwise import (
    BinaryOperation,
    ElementwiseOperation,
    UnaryOperation,
    insert_op,
)
from tlf.dialects.graph.tensor_types import (
    INTEGERS,
    NUMBERS,
    GraphTensorConstraint,
    element_type_of_value,
    infer_result_type,
    shape_of,
    verify_element_type,
)
from tlf.dialects.interfaces import Array
from tlf.dialects.keyword_params import parse_keyword_param
from tlf.dialects.types import (
    ELEMENT_TYPES,
    broadcast_shape,
    is_float,
    scalar_attribute,
)


class Relation(StrEnum):
    """Relation of the left to the right operand that a comparison tests."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


_COMPARE: Mapping[Relation, Callable[[Array, Array], Array]] = {
    Relation.EQ: np.equal,
    Relation.NE: np.not_equal,
    Relation.LT: np.less,
    Relation.LE: np.less_equal,
    Relation.GT: np.greater,
    Relation.GE: np.greater_equal,
}


@irdl_attr_definition
class RelationAttr(Data[Relation]):
    """
    Relation of the left to the right operand that a comparison tests.

    ```mlir
    #graph.relation<lt>
    ```
    """

    name = "graph.relation"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Relation:
        return parse_keyword_param(parser, Relation)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.data)


@irdl_op_definition
class CompareOp(BinaryOperation):
    """
    Elementwise comparison of `a` with `b`: equal (`eq`), not equal (`ne`), less (`lt`),
    less or equal (`le`), greater (`gt`), or greater or equal (`ge`). If an operand is
    NaN, only `ne` is true.

    ```mlir
    %y = graph.compare %a, %b <lt>
        : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xi1>
    ```
    """

    name = "graph.compare"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    relation = prop_def(RelationAttr)

    def __init__(
        self,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
        relation: Relation | str,
    ):
        operands = [SSAValue.get(lhs), SSAValue.get(rhs)]
        shape = broadcast_shape(*map(shape_of, operands))
        ElementwiseOperation.__init__(
            self,
            operands=operands,
            result_types=[infer_result_type(operands, shape, i1)],
            properties={"relation": RelationAttr(Relation(relation))},
        )

    @classmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        return {"relation": RelationAttr(RelationAttr.parse_parameter(parser))}

    def print_options(self, printer: Printer) -> None:
        printer.print_string(" ")
        self.relation.print_parameter(printer)

    def result_element_type(self) -> Attribute:
        return i1

    def compute_in_numpy(self, *operands: Array) -> Array:
        return _COMPARE[self.relation.data](*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        relation = self.relation.data
        if is_float(lhs.type):
            ordered = "u" if relation is Relation.NE else "o"
            return insert_op(builder, arith.CmpfOp(lhs, rhs, f"{ordered}{relation}"))
        signed = "" if relation in (Relation.EQ, Relation.NE) else "s"
        return insert_op(builder, arith.CmpiOp(lhs, rhs, f"{signed}{relation}"))


@irdl_op_definition
class SelectOp(ElementwiseOperation):
    """
    Elementwise selection: `a` where the condition is true, and `b` elsewhere. All three
    operands broadcast.

    ```mlir
    %y = graph.select %c, %a, %b
        : (tensor<4x1xi1>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.select"
    ACCEPTED_ELEMENT_TYPES: ClassVar = ELEMENT_TYPES

    condition = operand_def(GraphTensorConstraint())
    lhs = operand_def(GraphTensorConstraint())
    rhs = operand_def(GraphTensorConstraint())
    result = result_def(GraphTensorConstraint())

    def __init__(
        self,
        condition: SSAValue | Operation,
        lhs: SSAValue | Operation,
        rhs: SSAValue | Operation,
    ):
        operands = [SSAValue.get(each) for each in (condition, lhs, rhs)]
        shape = broadcast_shape(*map(shape_of, operands))
        super().__init__(
            operands=operands,
            result_types=[
                infer_result_type(operands, shape, element_type_of_value(operands[1]))
            ],
        )

    @property
    def numeric_operands(self) -> Sequence[SSAValue]:
        return (self.lhs, self.rhs)

    def verify_(self) -> None:
        verify_element_type(self.condition, i1, "condition")
        super().verify_()

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.where(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        return insert_op(builder, arith.SelectOp(*elements))


@irdl_op_definition
class AndOp(BinaryOperation):
    """
    Elementwise bitwise conjunction.

    ```mlir
    %y = graph.and %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    """

    name = "graph.and"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (*INTEGERS, i1)

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.bitwise_and(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        return insert_op(builder, arith.AndIOp(lhs, rhs))


@irdl_op_definition
class OrOp(BinaryOperation):
    """
    Elementwise bitwise disjunction.

    ```mlir
    %y = graph.or %a, %b : (tensor<4x8xi1>, tensor<8xi1>) -> tensor<4x8xi1>
    ```
    """

    name = "graph.or"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (*INTEGERS, i1)

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.bitwise_or(*operands)

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        return insert_op(builder, arith.OrIOp(lhs, rhs))


@irdl_op_definition
class NotOp(UnaryOperation):
    """
    Elementwise bitwise negation.

    ```mlir
    %y = graph.not %a : tensor<4x8xi1>
    ```
    """

    name = "graph.not"
    ACCEPTED_ELEMENT_TYPES: ClassVar = (*INTEGERS, i1)

    def compute_in_numpy(self, *operands: Array) -> Array:
        return np.bitwise_not(operands[0])

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        (element,) = elements
        ones = scalar_attribute(1 if element.type == i1 else -1, element.type)
        mask = insert_op(builder, arith.ConstantOp(ones))
        return insert_op(builder, arith.XOrIOp(element, mask))
