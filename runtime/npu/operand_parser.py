"""Simulator: parser of the operands of an NPU instruction, `key=value` in any order."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tlf.machine.machine_spec import Machine
from tlf.runtime.npu import dtypes
from tlf.runtime.npu.npu_errors import NPUParseError
from tlf.runtime.npu.npu_lexer import TokenCursor
from tlf.runtime.npu.npu_program import Address, Condition, Immediate, Register, Value


@dataclass(frozen=True)
class AddressText:
    """Address operand as written, parsed; `dtype` is `None` if no type is written."""

    level: str
    base: Value
    strides: tuple[int, ...]
    dtype: str | None


@dataclass(frozen=True)
class ImmediateText:
    """A constant as written."""

    value: float
    dtype: str | None


@dataclass
class OperandFields:
    """
    Parsed operands of one instruction by key, with defaults for absent ones.

    Methods raise `NPUParseError` for operands of another kind than requested.
    """

    line: int
    operands: dict[str, AddressText | ImmediateText] = field(
        default_factory=dict[str, AddressText | ImmediateText]
    )
    groups: dict[str, tuple[Value, ...]] = field(
        default_factory=dict[str, tuple[Value, ...]]
    )
    shape: tuple[Value, ...] = ()
    dtype: str = ""
    inside: tuple[tuple[Value, Value], ...] | None = None
    fill: ImmediateText = ImmediateText(0, None)
    axes: tuple[int, ...] = ()
    accumulate: Condition = False
    precision: str = "ieee"
    keys: set[str] = field(default_factory=set[str])
    """Keys that are present."""
    table: tuple[int, ...] = ()
    """Step and bound of the indexed table."""

    def address_under_key(
        self, key: str, rank: int, dtype: str | None = None
    ) -> Address:
        """
        Return the address under `key`, with a stride per dimension. The element type is
        `dtype`, or else the one written after the address.
        """
        operand = self.operands[key]
        if not isinstance(operand, AddressText):
            raise NPUParseError(
                self.line, f"expected an address for `{key}`, got an immediate"
            )
        if dtype is None and operand.dtype is None:
            raise NPUParseError(
                self.line, f"expected an element type after the address of `{key}`"
            )
        if dtype is not None and operand.dtype not in (None, dtype):
            raise NPUParseError(
                self.line, f"expected `{key}` of {dtype}, got {operand.dtype}"
            )
        if len(operand.strides) != rank:
            raise NPUParseError(
                self.line,
                f"expected {rank} strides of `{key}`, one per dimension, "
                f"got {len(operand.strides)}",
            )
        element_type = dtype or operand.dtype or ""
        return Address(operand.level, operand.base, operand.strides, element_type)

    def immediate_with_type(self, operand: ImmediateText, dtype: str) -> Immediate:
        """Return an immediate, of type `dtype` unless it has an explicit type."""
        target = operand.dtype or dtype
        try:
            with np.errstate(all="ignore"):
                return Immediate(
                    dtypes.make_scalar_array(operand.value, target), target
                )
        except ValueError as error:
            raise NPUParseError(self.line, str(error)) from None


@dataclass
class OperandParser:
    """Parser of operands, with the machine and the registers defined so far."""

    machine: Machine
    registers: set[str] = field(default_factory=set[str])
    """Registers defined on earlier lines."""
    used_dtypes: set[str] = field(default_factory=set[str])
    """Element types used so far."""

    def parse_fields(
        self, cursor: TokenCursor, required: tuple[str, ...], optional: tuple[str, ...]
    ) -> OperandFields:
        """
        Parse the operands `key=value` to the end of the line, in any order, each key
        once and all `required` ones present.
        """
        fields = OperandFields(cursor.line)
        missing = list(required)
        present = fields.keys
        while cursor.peek_token_kind() != "end":
            names = [name for name in (*required, *optional) if name not in present]
            key = cursor.take_word_choice(names, "an operand")
            present.add(key)
            if key in missing:
                missing.remove(key)
            if key == "accumulate":
                fields.accumulate = self._parse_condition(cursor)
                continue
            cursor.expect_token("=")
            self._parse_field(cursor, key, fields)
        if missing:
            cursor.raise_unexpected_token(f"`{missing[0]}=`")
        return fields

    def _parse_field(
        self, cursor: TokenCursor, key: str, fields: OperandFields
    ) -> None:
        """
        Parse the value of `key` into its attribute of `fields`, else as an operand.
        """
        match key:
            case "shape":
                fields.shape = self._parse_sizes(cursor)
            case "type":
                fields.dtype = self._parse_dtype(cursor)
            case "inside":
                fields.inside = self._parse_ranges(cursor)
            case "fill":
                fields.fill = ImmediateText(parse_number(cursor), None)
            case "axes":
                fields.axes = parse_integers(cursor)
            case "gather" | "scatter":
                fields.table = parse_integers(cursor)
            case "batch" | "m" | "n" | "k":
                fields.groups[key] = self._parse_sizes(cursor)
            case "precision":
                fields.precision = cursor.take_word_choice(
                    ("ieee", "tf32"), "a precision"
                )
            case _:
                fields.operands[key] = self._parse_operand(cursor)

    def _parse_operand(self, cursor: TokenCursor) -> AddressText | ImmediateText:
        """Parse `#value:type` or `level[base](strides):type`; types are optional."""
        if cursor.accept_token("#"):
            value = parse_number(cursor)
            dtype = self._parse_dtype(cursor) if cursor.accept_token(":") else None
            return ImmediateText(value, dtype)
        level = cursor.take_word_choice(
            tuple(self.machine.levels), "a level or an immediate"
        )
        cursor.expect_token("[")
        base = self.parse_value(cursor)
        cursor.expect_token("]")
        strides = parse_integers(cursor) if cursor.peek_token_text() == "(" else ()
        dtype = self._parse_dtype(cursor) if cursor.accept_token(":") else None
        return AddressText(level, base, strides, dtype)

    def _parse_dtype(self, cursor: TokenCursor) -> str:
        dtype = cursor.take_word_choice(tuple(dtypes.DTYPES), "an element type")
        self.used_dtypes.add(dtype)
        return dtype

    def parse_scalar(self, cursor: TokenCursor) -> Value:
        """
        Parse a register that an earlier line defines, without offset, or an integer.
        """
        if cursor.peek_token_kind() != "register":
            return cursor.take_integer("a register or an integer")
        if cursor.peek_token_text() not in self.registers:
            cursor.raise_unexpected_token("a register that an earlier line defines")
        return Register(cursor.take_token("register", "a register"))

    def parse_value(self, cursor: TokenCursor) -> Value:
        """Parse a defined register with an optional signed offset, or an integer."""
        value = self.parse_scalar(cursor)
        if isinstance(value, int) or cursor.peek_token_kind() != "number":
            return value
        if cursor.peek_token_text()[0] in "+-":
            return Register(value.name, cursor.take_integer())
        return value

    def _parse_condition(self, cursor: TokenCursor) -> Condition:
        """
        Parse the optional value of a flag: `=` and a value that is true if it is not 0.
        """
        if not cursor.accept_token("="):
            return True
        value = self.parse_value(cursor)
        return value if isinstance(value, Register) else value != 0

    def _parse_sizes(self, cursor: TokenCursor) -> tuple[Value, ...]:
        """
        Parse a parenthesised list of registers and non-negative integers; it may be
        empty.
        """
        cursor.expect_token("(")
        sizes: list[Value] = []
        while not cursor.accept_token(")"):
            if sizes:
                cursor.expect_token(",")
                if cursor.accept_token(")"):
                    break
            size = self.parse_value(cursor)
            if isinstance(size, int) and size < 0:
                raise NPUParseError(
                    cursor.line, f"expected a size of at least 0, got {size}"
                )
            sizes.append(size)
        return tuple(sizes)

    def _parse_ranges(self, cursor: TokenCursor) -> tuple[tuple[Value, Value], ...]:
        """Parse ranges `lower:upper` of registers or integers in parentheses."""
        cursor.expect_token("(")
        ranges: list[tuple[Value, Value]] = []
        while not cursor.accept_token(")"):
            if ranges:
                cursor.expect_token(",")
                if cursor.accept_token(")"):
                    break
            lower = self.parse_value(cursor)
            cursor.expect_token(":")
            ranges.append((lower, self.parse_value(cursor)))
        return tuple(ranges)


def parse_number(cursor: TokenCursor) -> float:
    """Take a number: an `int` if it is written as an integer, else a `float`."""
    text = cursor.take_token("number", "a number")
    try:
        return int(text)
    except ValueError:
        return float(text)


def parse_integers(cursor: TokenCursor) -> tuple[int, ...]:
    """Take a list of integers in parentheses."""
    cursor.expect_token("(")
    numbers: list[int] = []
    while not cursor.accept_token(")"):
        if numbers:
            cursor.expect_token(",")
            if cursor.accept_token(")"):
                break
        numbers.append(cursor.take_integer())
    return tuple(numbers)


def format_integer_tuple(numbers: Sequence[int]) -> str:
    """Return the text of a list of integers."""
    return f"({', '.join(map(str, numbers))})"
