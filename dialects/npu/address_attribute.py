"""
Attribute `npu.access`: level, base, offset and strides in bytes of an instruction
operand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_attr_definition
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tlf.dialects.mem.number_literals import (
    format_number,
    number_of_attribute,
    parse_number,
    to_number_attribute,
)


@irdl_attr_definition
class AccessAttr(ParametrizedAttribute):
    """
    Address of elements: level, first byte, strides in bytes, and element type.

    The first byte is `offset`, plus an operand of the operation if `dynamic`.

    ```mlir
    #npu.access<"L1", 64 : i64, array<i64: 256, 4>, f32, false>
    ```
    """

    name = "npu.access"

    level: StringAttr
    offset: IntegerAttr
    strides: DenseArrayBase[IntegerType]
    element_type: Attribute
    dynamic: BoolAttr


@dataclass(frozen=True)
class Access:
    """Address of elements, with the value that its offset is relative to."""

    level: str
    base: SSAValue | None
    """`index` value that is added to `offset`, or None."""
    offset: int
    """First byte, or its distance from `base` in bytes."""
    strides: tuple[int, ...]
    """Bytes between adjacent elements, per dimension. 0 repeats an element."""
    element_type: Attribute

    @property
    def access_attribute(self) -> AccessAttr:
        """Address as `#npu.access`, in which the flag `dynamic` stands for the base."""
        return AccessAttr(
            StringAttr(self.level),
            IntegerAttr(self.offset, i64),
            DenseArrayBase.from_list(i64, self.strides),
            self.element_type,
            BoolAttr.from_bool(self.base is not None),
        )

    def with_strides(self, strides: Sequence[int]) -> "Access":
        return Access(
            self.level, self.base, self.offset, tuple(strides), self.element_type
        )


def read_accesses(
    attributes: ArrayAttr[Attribute], bases: Sequence[SSAValue]
) -> tuple[Access | float, ...]:
    """
    Return an instruction's addresses, dynamic ones with the SSA value of their base,
    and immediate numbers, in the order of `attributes`.

    Raises `VerifyException` unless there is one base per dynamic address.
    """
    dynamic = [a for a in attributes if isinstance(a, AccessAttr) and bool(a.dynamic)]
    if len(dynamic) != len(bases):
        raise VerifyException(
            f"expected {len(dynamic)} bases, one per dynamic address, got {len(bases)}"
        )
    remaining = iter(bases)
    accesses: list[Access | float] = []
    for attribute in attributes:
        if not isinstance(attribute, AccessAttr):
            accesses.append(number_of_attribute(attribute))
            continue
        base = next(remaining) if bool(attribute.dynamic) else None
        accesses.append(
            Access(
                attribute.level.data,
                base,
                attribute.offset.value.data,
                tuple(attribute.strides.get_values()),
                attribute.element_type,
            )
        )
    return tuple(accesses)


def split_attributes_and_bases(
    accesses: Sequence[Access | float],
) -> tuple[ArrayAttr[Attribute], list[SSAValue]]:
    """Return the attributes and bases of accesses: the inverse of `read_accesses`."""
    attributes = [
        each.access_attribute if isinstance(each, Access) else to_number_attribute(each)
        for each in accesses
    ]
    bases = [
        each.base
        for each in accesses
        if isinstance(each, Access) and each.base is not None
    ]
    return ArrayAttr[Attribute](attributes), bases


@irdl_custom_directive
class Accesses(CustomDirective):
    """
    Operands of an instruction: `L1[%b + 64](256, 4):f32 from L1[0](0, 4):f32, 2.0`.
    """

    bases: VariadicOperandVariable
    accesses: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        bases: list[UnresolvedOperand] = []
        attributes: list[Attribute] = [_parse_access(parser, bases)]
        if parser.parse_optional_keyword("from"):
            attributes.append(_parse_operand(parser, bases))
            while parser.parse_optional_punctuation(","):
                attributes.append(_parse_operand(parser, bases))
        self.bases.set(state, bases)
        self.accesses.set(state, ArrayAttr(attributes))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        attributes = cast(ArrayAttr[Attribute], self.accesses.get(op))
        remaining = iter(self.bases.get(op))
        state.print_whitespace(printer)
        for index, attribute in enumerate(attributes):
            printer.print_string(("", " from ", ", ")[min(index, 2)])
            if not isinstance(attribute, AccessAttr):
                printer.print_string(format_number(number_of_attribute(attribute)))
                continue
            base = next(remaining) if bool(attribute.dynamic) else None
            _print_access(printer, attribute, base)
        state.last_was_punctuation = False
        state.should_emit_space = True


def _parse_operand(parser: Parser, bases: list[UnresolvedOperand]) -> Attribute:
    """Parse an immediate number, or an address, whose base is appended to `bases`."""
    if (word := parser.parse_optional_keyword_in(("inf", "nan"))) is not None:
        return to_number_attribute(float(word))
    if (level := parser.parse_optional_identifier()) is not None:
        return _parse_address(parser, bases, level)
    return to_number_attribute(parse_number(parser))


def _parse_access(parser: Parser, bases: list[UnresolvedOperand]) -> AccessAttr:
    level = parser.parse_identifier(" naming a memory level")
    return _parse_address(parser, bases, level)


def _parse_address(
    parser: Parser, bases: list[UnresolvedOperand], level: str
) -> AccessAttr:
    """
    Parse `[base + offset](strides):type` after a level; append the base to `bases`.
    """
    parser.parse_punctuation("[")
    base = parser.parse_optional_unresolved_operand()
    offset = 0
    if base is None:
        offset = parser.parse_integer(allow_boolean=False)
    else:
        bases.append(base)
        if parser.parse_optional_punctuation("+"):
            offset = parser.parse_integer(allow_boolean=False)
    parser.parse_punctuation("]")
    strides = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, parser.parse_integer
    )
    parser.parse_punctuation(":")
    return AccessAttr(
        StringAttr(level),
        IntegerAttr(offset, i64),
        DenseArrayBase.from_list(i64, strides),
        parser.parse_type(),
        BoolAttr.from_bool(base is not None),
    )


def _print_access(printer: Printer, access: AccessAttr, base: SSAValue | None) -> None:
    """Print an address as `level[base + offset](strides):type`, or without a base."""
    offset = access.offset.value.data
    printer.print_string(f"{access.level.data}[")
    if base is not None:
        printer.print_ssa_value(base)
        printer.print_string(f" + {offset}" if offset else "")
    else:
        printer.print_string(str(offset))
    strides = ", ".join(str(stride) for stride in access.strides.get_values())
    printer.print_string(f"]({strides}):")
    printer.print_attribute(access.element_type)
