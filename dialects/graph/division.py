"""Operations `graph.div` and `graph.rem`: elementwise quotient and remainder."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition

from tlf.dialects.graph.comparison_and_logic import Relation
from tlf.dialects.graph.elementwise import BinaryOperation, insert_op
from tlf.dialects.graph.mask_builder import MaskBuilder
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_types import NUMBERS, element_type_of_value
from tlf.dialects.interfaces import Array
from tlf.dialects.mem.remainder import RemFOp
from tlf.dialects.types import is_float, scalar_attribute
from tlf.dialects.value_check_interface import ValueCheck, ValueCheckInterface


class DivisionOperation(BinaryOperation, ValueCheckInterface, abc.ABC):
    """Base of divisions. Integers are divided by 1 where the divisor is 0."""

    def build_value_checks(self, builder: Builder) -> Sequence[ValueCheck]:
        return build_divisor_checks(builder, self.operands[1])


@irdl_op_definition
class DivOp(DivisionOperation):
    """
    Elementwise quotient. Quotients of integers are truncated towards zero; the quotient
    by 0 is the dividend, and the quotient of the least integer by -1 is the least
    integer.

    ```mlir
    %quotient = graph.div %a, %b : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "graph.div"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        lhs, rhs = operands
        if is_float(self.result_element_type()):
            return np.divide(lhs, rhs)
        return divide_truncating_arrays(lhs, _replace_zero_divisors_in_array(rhs))

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        if is_float(lhs.type):
            return insert_op(builder, arith.DivfOp(lhs, rhs))
        divisor = _build_nonzero_scalar_divisor(builder, rhs)
        return insert_op(builder, arith.DivSIOp(lhs, divisor))

    def linear_operands(self) -> tuple[int, ...]:
        return (0,) if is_float(self.result_element_type()) else ()


@irdl_op_definition
class RemOp(DivisionOperation):
    """
    Elementwise remainder of the division truncated towards zero, with the sign of the
    dividend. Remainders of integers are 0 where the divisor is 0; remainders of floats
    are exact, and equal the dividend where the divisor is infinite.

    ```mlir
    %rest = graph.rem %a, %b : (tensor<4x8xi32>, tensor<8xi32>) -> tensor<4x8xi32>
    ```
    """

    name = "graph.rem"
    ACCEPTED_ELEMENT_TYPES: ClassVar = NUMBERS

    def compute_in_numpy(self, *operands: Array) -> Array:
        lhs, rhs = operands
        if is_float(self.result_element_type()):
            return np.fmod(lhs, rhs)
        return np.fmod(lhs, _replace_zero_divisors_in_array(rhs))

    def build_scalar_computation(
        self, builder: Builder, *elements: SSAValue
    ) -> SSAValue:
        lhs, rhs = elements
        if is_float(lhs.type):
            return insert_op(builder, RemFOp(lhs, rhs))
        divisor = _build_nonzero_scalar_divisor(builder, rhs)
        return insert_op(builder, arith.RemSIOp(lhs, divisor))


def build_divisor_checks(builder: Builder, divisor: SSAValue) -> Sequence[ValueCheck]:
    """Build the check that an integer divisor is not 0, unless it is a known splat."""
    if is_float(element_type_of_value(divisor)) or splat_scalar_of(divisor):
        return ()
    program = MaskBuilder(builder)
    zero = program.constant(0, element_type_of_value(divisor))
    is_nonzero = program.compare(divisor, zero, Relation.NE)
    values = program.cast(is_nonzero, i32)
    return (ValueCheck(values, 1, 1, "divisors other than 0"),)


def divide_truncating_arrays(lhs: Array, rhs: Array) -> Array:
    """Return the quotient of integers, truncated towards zero."""
    return np.floor_divide(np.subtract(lhs, np.fmod(lhs, rhs)), rhs)


def _replace_zero_divisors_in_array(divisor: Array) -> Array:
    """Return the divisor with 0 replaced by 1."""
    return np.where(np.equal(divisor, 0), divisor.dtype.type(1), divisor)


def _build_nonzero_scalar_divisor(builder: Builder, divisor: SSAValue) -> SSAValue:
    """
    Build the divisor with 0 replaced by 1: machines fault on 0, even in lanes outside
    of the elements of a tile.
    """
    zero, one = (
        builder.insert(arith.ConstantOp(scalar_attribute(number, divisor.type))).result
        for number in (0, 1)
    )
    is_zero = builder.insert(arith.CmpiOp(divisor, zero, "eq")).result
    return builder.insert(arith.SelectOp(is_zero, one, divisor)).result
