"""
Operation base of the `graph` dialect: movements that fill elements outside of their
operand.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    i1,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.graph.movement import MovementOperation
from tlf.dialects.graph.tensor_types import element_type_of_value, verify_element_type
from tlf.dialects.interfaces import Array, Scalar
from tlf.dialects.types import dtype_of, is_float, scalar_attribute, scalar_value

FillAttribute: TypeAlias = FloatAttr[AnyFloat] | IntegerAttr[IntegerType | IndexType]


def parse_map(parser: Parser) -> AffineMapAttr:
    """Parse the keyword `map` and an affine map."""
    parser.parse_keyword("map")
    position = parser.pos
    map_ = parser.parse_attribute()
    if not isinstance(map_, AffineMapAttr):
        parser.raise_error(f"expected a map, got {map_}", position)
    return map_


def parse_number(parser: Parser) -> float:
    """
    Parse a number, `true`, `false`, `inf`, `-inf` or `nan`, and return its Python
    value.
    """
    if parser.parse_optional_keyword("nan") is not None:
        return math.nan
    if parser.parse_optional_keyword("inf") is not None:
        return math.inf
    is_negative = parser.parse_optional_punctuation("-") is not None
    if is_negative and parser.parse_optional_keyword("inf") is not None:
        return -math.inf
    number = parser.parse_number(allow_boolean=True)
    return -number if is_negative else number


def print_fill_number(printer: Printer, fill: FillAttribute) -> None:
    """Print the number of an attribute in the syntax of `parse_number`."""
    if isinstance(fill, FloatAttr) and math.isfinite(fill.value.data):
        printer.print_float(fill.value.data, fill.type)
    elif fill.type == i1:
        printer.print_string("true" if fill.value.data else "false")
    else:
        printer.print_string(str(fill.value.data))


class FilledMovementOperation(MovementOperation, abc.ABC):
    """
    Base of movements that read outside of their operand, where all elements are `fill`.

    The assembly format ends in `fill`, a number, and a functional type.
    """

    fill = prop_def(FloatAttr | IntegerAttr)

    @property
    def fill_value(self) -> Scalar:
        """Value of elements outside of the operand."""
        return scalar_value(self.fill)

    @classmethod
    @abc.abstractmethod
    def parse_options(cls, parser: Parser) -> dict[str, Attribute]:
        """Parse the properties other than the fill, which follow the operand."""

    @abc.abstractmethod
    def print_options(self, printer: Printer) -> None:
        """Print the properties other than the fill, each with a leading space."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operand = parser.parse_unresolved_operand()
        options = cls.parse_options(parser)
        parser.parse_keyword("fill")
        position = parser.pos
        number = parse_number(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        operands = parser.resolve_operands([operand], types.inputs.data, position)
        options["fill"] = _to_fill_attribute(parser, position, number, operands[0])
        return cls.create(
            operands=operands,
            result_types=types.outputs.data,
            properties=options,
            attributes=attributes,
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        self.print_options(printer)
        printer.print_string(" fill ")
        print_fill_number(printer, self.fill)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def verify_fill_element_type(self) -> None:
        """
        Raise `VerifyException` unless operand, result and fill have the same element
        type.
        """
        element = element_type_of_value(self.operand)
        verify_element_type(self.result, element)
        if self.fill.type != element:
            raise VerifyException(f"expected a fill of {element}, got {self.fill.type}")

    def make_filled_array(self, shape: Sequence[int]) -> Array:
        """Return an array of the fill value."""
        return np.full(
            tuple(shape), self.fill_value, dtype_of(element_type_of_value(self.operand))
        )

    def linear_operands(self) -> tuple[int, ...]:
        return () if self.fill_value else (0,)


def _to_fill_attribute(
    parser: Parser, position: int, fill_value: float, operand: SSAValue
) -> FillAttribute:
    """Convert a number to an attribute of the operand's element type, or raise."""
    element = element_type_of_value(operand)
    is_whole = math.isfinite(fill_value) and fill_value == int(fill_value)
    if not is_float(element) and not is_whole:
        parser.raise_error(f"expected a whole number, got {fill_value}", position)
    return scalar_attribute(fill_value, element)
