"""
Emission of Triton code for scalar operations, as Python expressions on tiles.

Each scalar value of a region is represented by a tile. 16-bit floats are computed in
f32 and rounded after each operation, or by packed arithmetic. The results are correctly
rounded, since f32 has more than twice their precision.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from tlf.dialects.types import is_16_bit_float
from tlf.lowering.mem_to_triton.device_functions import (
    device_function_of,
    rounding_function_to,
)
from tlf.lowering.mem_to_triton.element_types import (
    bit_width,
    is_supported_by_triton,
    promoted_arithmetic_type,
    python_literal_of,
    round_to_type,
    triton_type_name,
)
from tlf.lowering.mem_to_triton.packed_arithmetic import broadcast_shape
from tlf.lowering.mem_to_triton.round_to_nearest import round_to_nearest_call

_FLOAT_INFIX = {
    "arith.addf": "{} + {}",
    "arith.subf": "{} - {}",
    "arith.mulf": "{} * {}",
    "arith.divf": "{} / {}",
    "arith.negf": "-1.0 * {}",
}

_NARROWED = frozenset(_FLOAT_INFIX) - {"arith.divf"}
"""Arithmetic in f32 that LLVM narrows to 16 bits, with the rounding that follows it."""

_FLOAT_CALLS = {
    "arith.maximumf": "maximum_nan({}, {})",
    "arith.minimumf": "minimum_nan({}, {})",
    "arith.maxnumf": "maximum_num({}, {})",
    "arith.minnumf": "minimum_num({}, {})",
    "mem.remf": "libdevice.fmod({}, {})",
    "math.absf": "tl.abs({})",
    "math.ceil": "tl.ceil({})",
    "math.cos": "tl.cos({})",
    "math.erf": "tl.erf({})",
    "math.exp": "tl.exp2({} * 1.4426950408889634)",
    "math.exp2": "tl.exp2({})",
    "math.floor": "tl.floor({})",
    "math.fma": "tl.fma({}, {}, {})",
    "math.log": "tl.log({})",
    "math.log2": "tl.log2({})",
    "math.rsqrt": "tl.rsqrt({})",
    "math.sin": "tl.sin({})",
    "math.sqrt": "tl.sqrt({})",
    "math.acos": "libdevice.acos({})",
    "math.acosh": "libdevice.acosh({})",
    "math.asin": "libdevice.asin({})",
    "math.asinh": "libdevice.asinh({})",
    "math.atan": "libdevice.atan({})",
    "math.atan2": "libdevice.atan2({}, {})",
    "math.atanh": "libdevice.atanh({})",
    "math.cbrt": "libdevice.cbrt({})",
    "math.copysign": "libdevice.copysign({}, {})",
    "math.cosh": "libdevice.cosh({})",
    "math.expm1": "libdevice.expm1({})",
    "math.log10": "libdevice.log10({})",
    "math.log1p": "libdevice.log1p({})",
    "math.powf": "libdevice.pow({}, {})",
    "math.round": "libdevice.round({})",
    "math.roundeven": "libdevice.rint({})",
    "math.sinh": "libdevice.sinh({})",
    "math.tan": "libdevice.tan({})",
    "math.tanh": "libdevice.tanh({})",
    "math.trunc": "libdevice.trunc({})",
}

_INTEGER_INFIX = {
    "arith.addi": "{} + {}",
    "arith.subi": "{} - {}",
    "arith.muli": "{} * {}",
    "arith.andi": "{} & {}",
    "arith.ori": "{} | {}",
    "arith.xori": "{} ^ {}",
    "arith.divsi": "{} // {}",
    "arith.remsi": "{} % {}",
    "arith.shli": "{} << {}",
    "arith.shrsi": "{} >> {}",
}

_INTEGER_CALLS = {
    "arith.maxsi": "tl.maximum({}, {})",
    "arith.minsi": "tl.minimum({}, {})",
    "math.absi": "tl.abs({})",
}

_UNSIGNED = {
    "arith.divui": "{} // {}",
    "arith.remui": "{} % {}",
    "arith.shrui": "{} >> {}",
    "arith.maxui": "tl.maximum({}, {})",
    "arith.minui": "tl.minimum({}, {})",
}

_FLOAT_PREDICATES = (
    "False",
    "{0} == {1}",
    "{0} > {1}",
    "{0} >= {1}",
    "{0} < {1}",
    "{0} <= {1}",
    "({0} < {1}) | ({0} > {1})",
    "({0} == {0}) & ({1} == {1})",
    "({0} == {1}) | ({0} != {0}) | ({1} != {1})",
    "({0} > {1}) | ({0} != {0}) | ({1} != {1})",
    "({0} >= {1}) | ({0} != {0}) | ({1} != {1})",
    "({0} < {1}) | ({0} != {0}) | ({1} != {1})",
    "({0} <= {1}) | ({0} != {0}) | ({1} != {1})",
    "{0} != {1}",
    "({0} != {0}) | ({1} != {1})",
    "True",
)
"""Templates in `arith.cmpf` order: false, ordered, unordered, true."""

_INTEGER_PREDICATES = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
"""Operators in `arith.cmpi` order; the last four are unsigned."""

_CASTS = (
    "arith.bitcast",
    "arith.extf",
    "arith.extsi",
    "arith.extui",
    "arith.fptosi",
    "arith.fptoui",
    "arith.sitofp",
    "arith.truncf",
    "arith.trunci",
    "arith.uitofp",
)

_OTHERS = ("arith.cmpf", "arith.cmpi", "arith.constant", "arith.select")

SUPPORTED_OPERATIONS = frozenset(
    (
        *_FLOAT_INFIX,
        *_FLOAT_CALLS,
        *_INTEGER_INFIX,
        *_INTEGER_CALLS,
        *_UNSIGNED,
        *_CASTS,
        *_OTHERS,
    )
)
"""Scalar operations that a region may contain."""


@dataclass(frozen=True)
class ScalarTile:
    """
    A scalar of a region as a tile: text, element type and shape. A literal has shape
    `()`.
    """

    text: str
    element_type: Attribute
    shape: tuple[int, ...]
    literal_value: float | None = None
    """Value of a literal; `None` for a tile."""

    @property
    def is_literal(self) -> bool:
        """`True` if the scalar is a literal."""
        return self.literal_value is not None

    @property
    def tile_text(self) -> str:
        """Text as a tile of the element type, also for a literal."""
        if not self.is_literal:
            return self.text
        return f"tl.full([], {self.text}, {triton_type_name(self.element_type)})"

    @property
    def infix_text(self) -> str:
        """
        Text as an operand of an infix operator; 16-bit floats are promoted to f32.
        """
        if (
            wider := promoted_arithmetic_type(self.element_type)
        ) is None or self.is_literal:
            return f"({self.text})" if self.text.startswith("-") else self.text
        return f"{self.text}.to({wider})"

    @property
    def argument_text(self) -> str:
        """
        Text as a typed argument, also for a literal; 16-bit floats are promoted to f32.
        """
        if not self.is_literal:
            return self.infix_text
        exact = promoted_arithmetic_type(self.element_type) or triton_type_name(
            self.element_type
        )
        return f"tl.full([], {self.text}, {exact})"

    @property
    def unsigned_text(self) -> str:
        """Text with the bits reinterpreted as an unsigned integer."""
        bits = max(bit_width(self.element_type), 8)
        return f"{self.tile_text}.to(tl.uint{bits}, bitcast=True)"


def constant_literal(op: arith.ConstantOp) -> ScalarTile:
    """Return the literal of a scalar constant."""
    value = cast(FloatAttr | IntegerAttr, op.value)
    return scalar_literal(value.value.data, op.result.type)


def scalar_literal(value: float, element_type: Attribute) -> ScalarTile:
    """Return a number, rounded to the element type, as a literal `ScalarTile`."""
    rounded = round_to_type(value, element_type)
    return ScalarTile(
        python_literal_of(rounded, element_type), element_type, (), rounded
    )


def scalar_expression(op: Operation, operands: Sequence[ScalarTile]) -> str:
    """
    Return the expression of a scalar operation, in the element type of its result.

    Raises `DiagnosticException` if Triton does not support the operation.
    """
    for operand in operands:
        if not is_supported_by_triton(operand.element_type):
            raise DiagnosticException(
                f"{op.name}: triton has no element type {operand.element_type}"
            )
    result_type = op.results[0].type
    shapes = [operand.shape for operand in operands]
    if (name := device_function_of(op, shapes)) is not None:
        return f"{name}({', '.join(operand.tile_text for operand in operands)})"
    if (text := _float_expression(op, operands)) is not None:
        return _rounding_expression(op, text, broadcast_shape(shapes))
    if (template := _INTEGER_INFIX.get(op.name)) is not None:
        return template.format(*_infix_texts(operands))
    if (template := _INTEGER_CALLS.get(op.name)) is not None:
        return template.format(*_argument_texts(operands))
    if (template := _UNSIGNED.get(op.name)) is not None:
        text = template.format(*(operand.unsigned_text for operand in operands))
        return f"({text}).to({triton_type_name(result_type)}, bitcast=True)"
    if op.name in _CASTS:
        return _cast_expression(op, operands[0])
    return _express_comparison_or_select(op, operands)


def _float_expression(op: Operation, operands: Sequence[ScalarTile]) -> str | None:
    """
    Return the expression of float arithmetic or of a function, with 16-bit floats in
    f32, or `None`.
    """
    if (inverse := _reciprocal_of_literal_divisor(op, operands)) is not None:
        return f"{operands[0].infix_text} * {inverse}"
    if (template := round_to_nearest_call(op)) is not None:
        return template.format(*_argument_texts(operands))
    if (template := _FLOAT_INFIX.get(op.name)) is not None:
        return template.format(*_infix_texts(operands))
    if (template := _FLOAT_CALLS.get(op.name)) is not None:
        return template.format(*_argument_texts(operands))
    return None


def _express_comparison_or_select(op: Operation, operands: Sequence[ScalarTile]) -> str:
    """Return the Triton text of an `arith` comparison or select; raises for others."""
    match op:
        case arith.CmpfOp():
            texts = _infix_texts(operands)
            text = _FLOAT_PREDICATES[op.predicate.value.data].format(*texts)
            return f"tl.full([], {text}, tl.int1)" if text[0] in "TF" else text
        case arith.CmpiOp():
            return _comparison_expression(op.predicate.value.data, operands)
        case arith.SelectOp():
            condition, first, second = (operand.tile_text for operand in operands)
            return f"tl.where({condition}, {first}, {second})"
        case _:
            raise DiagnosticException(f"triton does not support {op.name}")


def _reciprocal_of_literal_divisor(
    op: Operation, operands: Sequence[ScalarTile]
) -> float | None:
    """
    Return the reciprocal of the divisor of a 16-bit division by a literal, or `None`. A
    product with it in f32 is exact to 16 bits.
    """
    if op.name != "arith.divf" or not is_16_bit_float(op.results[0].type):
        return None
    dividend, divisor = operands
    if dividend.is_literal or divisor.literal_value is None:
        return None
    return (
        1 / divisor.literal_value
        if 2.0**-120 < abs(divisor.literal_value) < 2.0**120
        else None
    )


def _infix_texts(operands: Sequence[ScalarTile]) -> list[str]:
    if all(operand.is_literal for operand in operands):
        return [operand.argument_text for operand in operands]
    return [operand.infix_text for operand in operands]


def _argument_texts(operands: Sequence[ScalarTile]) -> list[str]:
    """Return operands as call arguments; literals are typed unless f32 is implied."""
    # A function types literals as f32 or i32, independent of its other arguments.
    is_float_call = all(str(o.element_type) in ("bf16", "f16", "f32") for o in operands)
    if is_float_call and not all(operand.is_literal for operand in operands):
        return [o.text if o.is_literal else o.infix_text for o in operands]
    return [operand.argument_text for operand in operands]


def _rounding_expression(op: Operation, text: str, shape: Sequence[int]) -> str:
    """Return an expression of a result, rounded if it is a 16-bit float."""
    type_ = op.results[0].type
    if promoted_arithmetic_type(type_) is None:
        return text
    function = rounding_function_to(type_, shape)
    if function is None or op.name in _NARROWED:
        return f"({text}).to({triton_type_name(type_)})"
    return f"{function}({text})"


def _comparison_expression(predicate: int, operands: Sequence[ScalarTile]) -> str:
    """Return an `arith.cmpi` as text, on unsigned operands for unsigned predicates."""
    is_unsigned = predicate >= 6
    texts = (
        [o.unsigned_text for o in operands] if is_unsigned else _infix_texts(operands)
    )
    return f"{texts[0]} {_INTEGER_PREDICATES[predicate]} {texts[1]}"


def _cast_expression(op: Operation, operand: ScalarTile) -> str:
    """Return the Triton text of a cast to the result type; a set signed `i1` is -1."""
    target = triton_type_name(op.results[0].type)
    is_boolean = bit_width(operand.element_type) == 1
    match op.name:
        case "arith.bitcast":
            return f"{operand.tile_text}.to({target}, bitcast=True)"
        case "arith.trunci" if bit_width(op.results[0].type) == 1:
            return f"({operand.tile_text} & 1) != 0"
        case "arith.extsi" | "arith.sitofp" if is_boolean:
            # The signed value of a set i1 is -1; Triton converts it to 1.
            return f"-({operand.tile_text}.to(tl.int32)).to({target})"
        case "arith.extui" | "arith.uitofp" if not is_boolean:
            return f"{operand.unsigned_text}.to({target})"
        case "arith.fptoui":
            bits = bit_width(op.results[0].type)
            unsigned = f"{operand.tile_text}.to(tl.uint{bits})"
            return f"{unsigned}.to({target}, bitcast=True)"
        case _:
            return f"{operand.tile_text}.to({target})"
