"""
Rewrite rules of the `graph` dialect: strength reduction, reassociation of constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects.graph.algebraic_laws import (
    ASSOCIATIVE,
    INFIX_SYMBOLS,
    OPERAND_SELECTING,
)
from tlf.dialects.graph.cast import CastOp
from tlf.dialects.graph.constant import ConstantOp
from tlf.dialects.graph.division import DivOp
from tlf.dialects.graph.elementwise import AddOp, BinaryOperation, MulOp, PowOp, SubOp
from tlf.dialects.graph.remark_equations import format_number, format_operation_term
from tlf.dialects.graph.splat_tensors import splat_scalar_of
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.graph.unary_functions import NegOp, RsqrtOp, SqrtOp
from tlf.dialects.interfaces import Array, Scalar, Simplification
from tlf.dialects.types import dtype_of, is_16_bit_float, is_float

BuildFunction = Callable[[Builder], SSAValue]


def _build_constant(
    builder: Builder, scalar: Scalar, element_type: Attribute
) -> SSAValue:
    return builder.insert(
        ConstantOp.from_splat(scalar, TensorType(element_type, []))
    ).result


def _is_normal_float(number: float, element_type: Attribute) -> bool:
    """
    Return `True` if a float is normal in an element type: not zero, denormal, infinite
    or NaN.
    """
    rounded = float(np.asarray(number).astype(dtype_of(element_type)))
    least = {2: 2.0**-14, 4: 2.0**-126, 8: 2.0**-1022}[dtype_of(element_type).itemsize]
    return math.isfinite(rounded) and abs(rounded) >= least


def replace_division_by_reciprocal(op: Operation) -> Iterable[Simplification]:
    """
    Replace a division by a constant by a product, exact for powers of two, and for
    16-bit dividends whose quotients are rounded to 16 bits, if that rounds both alike.
    """
    lhs, rhs = op.operands
    element, divisor = element_type_of_value(lhs), splat_scalar_of(rhs)
    if not isinstance(op, DivOp) or not is_float(element) or not divisor:
        return
    if lhs.type != op.result.type or abs(divisor) == 1 or not math.isfinite(divisor):
        return
    if not _is_normal_float(1 / divisor, element):
        return

    def build(builder: Builder) -> SSAValue:
        factor = _build_constant(builder, 1 / divisor, element)
        return builder.insert(MulOp(lhs, factor)).result

    text = f"x / {format_number(divisor)} = x * {format_number(1 / divisor)}"
    is_exact = abs(math.frexp(divisor)[0]) == 0.5
    yield Simplification(text, build, is_exact or _is_exact_in_16_bits(op, divisor))


def _is_exact_in_16_bits(op: DivOp, divisor: float) -> bool:
    """
    Return `True` if a division in f32 by a constant is of a 16-bit float and rounded to
    16 bits, and the product with the reciprocal is equal for all dividends.
    """
    source, users = op.lhs.owner, [use.operation for use in op.result.uses]
    if element_type_of_value(op.result) != f32 or not isinstance(source, CastOp):
        return False
    dividend = element_type_of_value(source.operands[0])
    if not users or not all(isinstance(each, CastOp) for each in users):
        return False
    results = {element_type_of_value(each.results[0]) for each in users}
    return all(map(is_16_bit_float, (dividend, *results))) and all(
        _rounds_products_alike(dtype_of(dividend), dtype_of(each), divisor)
        for each in results
    )


@cache
def _rounds_products_alike(
    dividend: np.dtype[np.generic], result: np.dtype[np.generic], divisor: float
) -> bool:
    """
    Return `True` if quotients and products with the reciprocal are equal after they are
    rounded from f32, for all dividends of a 16-bit type.
    """
    values = np.arange(2**16, dtype=np.uint16).view(dividend).astype(np.float32)
    with np.errstate(all="ignore"):
        quotients = (values / np.float32(divisor)).astype(result)
        products = (values * np.float32(1 / divisor)).astype(result)
    known = ~np.isnan(values)
    equal = quotients.view(np.uint16) == products.view(np.uint16)
    return bool(np.all(equal[known]))


def _build_product(builder: Builder, *factors: SSAValue) -> SSAValue:
    """Build a left-associative chain of `MulOp`s over `factors`; return its result."""
    result = factors[0]
    for factor in factors[1:]:
        result = builder.insert(MulOp(result, factor)).result
    return result


def _build_fourth_power(builder: Builder, base: SSAValue) -> SSAValue:
    square = _build_product(builder, base, base)
    return _build_product(builder, square, square)


def _build_reciprocal(builder: Builder, value: SSAValue) -> SSAValue:
    one = _build_constant(builder, 1, element_type_of_value(value))
    return builder.insert(DivOp(one, value)).result


_POWERS: Mapping[float, tuple[str, Callable[[Builder, SSAValue], SSAValue], bool]] = {
    2.0: ("x * x", lambda builder, x: _build_product(builder, x, x), True),
    -1.0: ("1 / x", _build_reciprocal, True),
    3.0: ("x * x * x", lambda builder, x: _build_product(builder, x, x, x), False),
    4.0: ("square of x * x", _build_fourth_power, False),
    0.5: ("sqrt(x)", lambda builder, x: builder.insert(SqrtOp(x)).result, False),
    -0.5: ("rsqrt(x)", lambda builder, x: builder.insert(RsqrtOp(x)).result, False),
    -2.0: (
        "1 / (x * x)",
        lambda builder, x: _build_reciprocal(builder, _build_product(builder, x, x)),
        False,
    ),
}
"""
Text, builder and exactness of the expansion of a power, by exponent. Products of two
factors and quotients are correctly rounded; other expansions round more than once, or
differ for -0 and -inf.
"""


def expand_power(op: Operation) -> Iterable[Simplification]:
    """Expand a power with a small exponent into products, quotients and roots."""
    if not isinstance(op, PowOp) or op.lhs.type != op.result.type:
        return
    exponent = splat_scalar_of(op.rhs)
    if exponent is None or (power := _POWERS.get(exponent)) is None:
        return
    text, build, exact = power
    left = format_operation_term(PowOp, "x", format_number(exponent))
    yield Simplification(f"{left} = {text}", lambda each: build(each, op.lhs), exact)


def fold_negated_operand(op: Operation) -> Iterable[Simplification]:
    """
    Yield the simplification of a sum or difference with a negated operand, such as `x +
    -y = x - y`; change no IR.
    """
    if not isinstance(op, AddOp | SubOp):
        return
    other = SubOp if isinstance(op, AddOp) else AddOp
    lhs, rhs = op.lhs, op.rhs
    left, right = (
        f"{format_operation_term(type(op), 'x', '-y')}",
        format_operation_term(other, "x", "y"),
    )
    if isinstance(op, AddOp) and not isinstance(rhs.owner, NegOp):
        lhs, rhs = rhs, lhs
    if not isinstance(rhs.owner, NegOp):
        return
    build = partial(_build_binary_operation, other, lhs, rhs.owner.operand)
    yield Simplification(f"{left} = {right}", build)


def _build_binary_operation(
    operation_type: type[BinaryOperation],
    lhs: SSAValue,
    rhs: SSAValue,
    builder: Builder,
) -> SSAValue:
    return builder.insert(operation_type(lhs, rhs)).result


def _split_constant_operand(op: BinaryOperation) -> tuple[Scalar, SSAValue] | None:
    """
    Return the value of the splat operand, and the other operand; `None` if neither
    operand is a splat. `rhs` has priority.
    """
    for number, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
        if (constant := splat_scalar_of(number)) is not None:
            return constant, other
    return None


def _to_scalar(array: Array) -> Scalar:
    is_integer = array.dtype.kind in "ib"
    return int(array[()]) if is_integer else float(array[()])


def reassociate_constants(op: Operation) -> Iterable[Simplification]:
    """Reassociate two operations with constants, exact for integers."""
    if not isinstance(op, BinaryOperation) or type(op) not in ASSOCIATIVE:
        return
    if (outer := _split_constant_operand(op)) is None:
        return
    inner = outer[1].owner
    if not isinstance(inner, BinaryOperation) or type(inner) is not type(op):
        return
    nested = _split_constant_operand(inner)
    if nested is None or nested[1].type != op.result.type:
        return
    if inner.result.uses.get_length() != 1:
        return
    element = element_type_of_value(op.result)
    numbers = [np.asarray(each, dtype_of(element)) for each in (nested[0], outer[0])]
    (combined,) = op.compute_reference(*numbers)
    if is_float(element) and not _is_normal_float(float(combined), element):
        return

    def build(builder: Builder) -> SSAValue:
        constant = ConstantOp(combined, TensorType(element, []))
        return _build_binary_operation(
            type(op), nested[1], builder.insert(constant).result, builder
        )

    names = [format_number(each) for each in (nested[0], outer[0])]
    first = format_operation_term(type(op), "x", names[0])
    left = format_operation_term(
        type(op), f"({first})" if type(op) in INFIX_SYMBOLS else first, names[1]
    )
    right = format_operation_term(type(op), "x", format_number(_to_scalar(combined)))
    is_exact = type(op) in OPERAND_SELECTING or not is_float(element)
    yield Simplification(f"{left} = {right}", build, is_exact)


def replace_sqrt_division_by_rsqrt(op: Operation) -> Iterable[Simplification]:
    """Replace a division by a square root by a product with `rsqrt`."""
    if not isinstance(op, DivOp) or not isinstance(root := op.rhs.owner, SqrtOp):
        return

    def build(builder: Builder) -> SSAValue:
        scale = builder.insert(RsqrtOp(root.operand)).result
        if splat_scalar_of(op.lhs) == 1 and scale.type == op.result.type:
            return scale
        return builder.insert(MulOp(op.lhs, scale)).result

    yield Simplification("x / sqrt(y) = x * rsqrt(y)", build, is_exact=False)
