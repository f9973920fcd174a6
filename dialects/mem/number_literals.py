"""
Number literals in the assembly formats of operations of the `mem` and `npu` dialects,
without the element type.
"""

import math
from typing import TypeAlias

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    f64,
    i64,
)
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

NumberAttr: TypeAlias = FloatAttr | IntegerAttr


def to_number_attribute(value: float) -> NumberAttr:
    """
    Return a number as a property: an i64 for an `int` or `bool`, an f64 for a `float`.
    """
    if isinstance(value, int):
        return IntegerAttr(int(value), i64)
    return FloatAttr(value, f64)


def number_of_attribute(attribute: Attribute) -> float:
    """Return the Python number of a property from `to_number_attribute`."""
    if isinstance(attribute, IntegerAttr):
        return attribute.value.data
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    raise VerifyException(f"expected a number, got {attribute}")


def verify_number(attribute: Attribute, element_type: Attribute) -> None:
    """
    Raise `VerifyException` unless an attribute is a valid element of a buffer.

    Floating-point numbers are valid for floating-point elements, integers for integers.
    """
    if isinstance(attribute, FloatAttr) and AnyFloatConstr.verifies(element_type):
        return
    if isinstance(attribute, IntegerAttr) and isinstance(element_type, IntegerType):
        return
    raise VerifyException(
        f"expected a value of element type {element_type}, got {attribute}"
    )


def format_number(value: float) -> str:
    """Format a number so that it parses to the same bits: `3`, `0.5`, `-inf`, `nan`."""
    if isinstance(value, int) or not math.isfinite(value):
        return str(value)
    text = repr(value)
    if "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text


def parse_number(parser: Parser) -> float:
    """
    Parse an integer, a float, `inf`, `-inf` or `nan`, and return its Python value.
    """
    if parser.parse_optional_keyword("inf"):
        return math.inf
    if parser.parse_optional_keyword("nan"):
        return math.nan
    if parser.parse_optional_punctuation("-") is None:
        return parser.parse_number()
    if parser.parse_optional_keyword("inf"):
        return -math.inf
    return -parser.parse_number()


@irdl_custom_directive
class Number(CustomDirective):
    """Assembly directive for a number literal without a type: `0`, `0.0`, `-inf`."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, to_number_attribute(parse_number(parser)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attribute = self.value.get(op)
        assert attribute is not None
        state.print_whitespace(printer)
        printer.print_string(format_number(number_of_attribute(attribute)))
        state.last_was_punctuation = False
        state.should_emit_space = True

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.get(op) is not None

    def is_anchorable(self) -> bool:
        return True

    def set_empty(self, state: ParsingState) -> None:
        pass
