"""
Import of ATen elementwise arithmetic and functions from PyTorch: converters of FX
calls, which build operations of `graph`.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f16, f32, i1
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import Converter, register_as_converter

UNARY: Mapping[str, type[IRDLOperation]] = {
    "abs": graph.AbsOp,
    "acos": graph.AcosOp,
    "acosh": graph.AcoshOp,
    "asin": graph.AsinOp,
    "asinh": graph.AsinhOp,
    "atan": graph.AtanOp,
    "atanh": graph.AtanhOp,
    "cos": graph.CosOp,
    "cosh": graph.CoshOp,
    "erf": graph.ErfOp,
    "exp": graph.ExpOp,
    "exp2": graph.Exp2Op,
    "expm1": graph.Expm1Op,
    "log": graph.LogOp,
    "log10": graph.Log10Op,
    "log1p": graph.Log1pOp,
    "log2": graph.Log2Op,
    "neg": graph.NegOp,
    "rsqrt": graph.RsqrtOp,
    "sigmoid": graph.SigmoidOp,
    "sin": graph.SinOp,
    "sinh": graph.SinhOp,
    "sqrt": graph.SqrtOp,
    "tan": graph.TanOp,
    "tanh": graph.TanhOp,
}
"""Functions of one tensor, in the type of the result."""

ROUNDING: Mapping[str, type[IRDLOperation]] = {
    "ceil": graph.CeilOp,
    "floor": graph.FloorOp,
    "round": graph.RoundOp,
    "trunc": graph.TruncOp,
}
"""Functions that are the identity on integers."""

BINARY: Mapping[str, type[IRDLOperation]] = {
    "atan2.default": graph.Atan2Op,
    "maximum.default": graph.MaximumOp,
    "minimum.default": graph.MinimumOp,
}
"""Functions of two tensors, in the type of the result."""


def make_elementwise_converter(op_type: type[IRDLOperation]) -> Converter:
    """
    Return a converter to an elementwise operation on operands of the result's type.
    """

    def convert(emitter: Emitter, *operands: Operand) -> SSAValue:
        return emitter.emit_elementwise(op_type, *operands)

    return convert


def _make_rounding_converter(op_type: type[IRDLOperation]) -> Converter:
    """Return a converter to `op_type` for floats, and to the operand for integers."""

    def convert(emitter: Emitter, x: SSAValue) -> SSAValue:
        return (
            emitter.emit_elementwise(op_type, x)
            if is_float(emitter.result_element)
            else x
        )

    return convert


for _name, _kind in UNARY.items():
    register_as_converter(f"{_name}.default")(make_elementwise_converter(_kind))
for _name, _kind in ROUNDING.items():
    register_as_converter(f"{_name}.default")(_make_rounding_converter(_kind))
for _name, _kind in BINARY.items():
    register_as_converter(_name)(make_elementwise_converter(_kind))


@register_as_converter("add.Tensor", "add.Scalar")
def _convert_add(
    emitter: Emitter, x: Operand, y: Operand, alpha: float = 1
) -> SSAValue:
    if emitter.result_element == i1:
        return emitter.emit_elementwise(graph.OrOp, x, y if alpha else False)
    return _emit_sum_with_multiple(emitter, graph.AddOp, x, y, alpha)


@register_as_converter("sub.Tensor", "sub.Scalar")
def _convert_sub(
    emitter: Emitter, x: Operand, y: Operand, alpha: float = 1
) -> SSAValue:
    return _emit_sum_with_multiple(emitter, graph.SubOp, x, y, alpha)


@register_as_converter("rsub.Scalar", "rsub.Tensor")
def _convert_rsub(
    emitter: Emitter, x: Operand, y: Operand, alpha: float = 1
) -> SSAValue:
    return _emit_sum_with_multiple(emitter, graph.SubOp, y, x, alpha)


def _emit_sum_with_multiple(
    emitter: Emitter, op_type: type[IRDLOperation], x: Operand, y: Operand, alpha: float
) -> SSAValue:
    """Emit the sum or difference of `x` and `alpha * y`, rounded once."""
    if alpha == 1:
        return emitter.emit_elementwise(op_type, x, y)
    first, second, factor = (emitter.round_then_promote(each) for each in (x, y, alpha))
    multiple = emitter.mul(second, factor, emitter.wide_element)
    return emitter.to_result(
        emitter.emit_elementwise(op_type, first, multiple, element=emitter.wide_element)
    )


@register_as_converter("mul.Scalar", "mul.Tensor")
def _convert_mul(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
    return emitter.emit_elementwise_wide(graph.MulOp, x, y)


@register_as_converter("reciprocal.default")
def _convert_reciprocal(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.emit_elementwise(graph.DivOp, 1, x)


@register_as_converter("sign.default", "sgn.default")
def _convert_sign(emitter: Emitter, x: SSAValue) -> SSAValue:
    """Emit the sign of each element, 0 for zeros and NaN; return Booleans unchanged."""
    element = emitter.result_element
    if element == i1:
        return x
    falling = emitter.select(emitter.compare(x, 0, "lt", element), -1, 0, element)
    return emitter.select(emitter.compare(x, 0, "gt", element), 1, falling, element)


@register_as_converter("pow.Tensor_Tensor", "pow.Scalar")
def _convert_pow(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
    if not is_float(emitter.result_element):
        raise Unsupported("expected powers of floats, got integers")
    return emitter.emit_elementwise(graph.PowOp, x, y)


@register_as_converter("pow.Tensor_Scalar")
def _convert_pow_scalar(emitter: Emitter, x: SSAValue, exponent: float) -> SSAValue:
    """
    Emit products for small integer powers, and roots for 0.5 and -0.5, as PyTorch.
    """
    if exponent == 1:
        return emitter.to_result(x)
    if exponent < 0 and not is_float(emitter.result_element):
        raise Unsupported("expected powers of at least 0 of integers")
    if exponent == -1:
        return emitter.emit_elementwise(graph.DivOp, 1, x)
    if exponent in (0.5, -0.5):
        kind = graph.SqrtOp if exponent > 0 else graph.RsqrtOp
        return emitter.emit_elementwise(
            kind,
            _emit_radicand_of_power(emitter, emitter.cast(x, emitter.result_element)),
        )
    if exponent not in (-2, 2, 3):
        return _convert_pow(emitter, x, exponent)
    value = emitter.cast(x, emitter.wide_element)
    product = emitter.mul(value, value, emitter.wide_element)
    if exponent == 3:
        product = emitter.mul(product, value, emitter.wide_element)
    if exponent < 0:
        product = emitter.div(1, product, emitter.wide_element)
    return emitter.to_result(product)


def _emit_radicand_of_power(emitter: Emitter, x: SSAValue) -> SSAValue:
    """
    Return the value whose root equals the power. For f16, PyTorch computes powers
    instead of roots: -0 gives 0, and minus infinity gives infinity.
    """
    if emitter.result_element != f16:
        return x
    is_negative_infinity = emitter.compare(
        x, float("-inf"), "eq", emitter.result_element
    )
    return emitter.add(
        emitter.select(is_negative_infinity, float("inf"), x, emitter.result_element),
        0.0,
        emitter.result_element,
    )


@register_as_converter("clamp.default", "clamp.Tensor", "clamp_min.default")
def _convert_clamp(
    emitter: Emitter,
    x: Operand,
    low: Operand | None = None,
    high: Operand | None = None,
) -> SSAValue:
    """Emit the maximum with `low`, then the minimum with `high`; `None` is no bound."""
    # Of two zeros PyTorch returns `x`: on hosts, the second operand of an extremum.
    if low is not None:
        x = emitter.emit_elementwise(graph.MaximumOp, low, x)
    if high is not None:
        x = emitter.emit_elementwise(graph.MinimumOp, high, x)
    return emitter.to_result(emitter.cast(x, emitter.result_element))


@register_as_converter("hardtanh.default")
def _convert_hardtanh(
    emitter: Emitter, x: SSAValue, low: float = -1, high: float = 1
) -> SSAValue:
    return _convert_clamp(emitter, x, low, high)


@register_as_converter("clamp_max.default")
def _convert_clamp_max(emitter: Emitter, x: Operand, high: Operand) -> SSAValue:
    return emitter.emit_elementwise(graph.MinimumOp, high, x)


@register_as_converter("_to_copy.default")
def _convert_to_copy(emitter: Emitter, x: SSAValue, **options: object) -> SSAValue:
    """Emit a cast to the result's dtype; other options concern storage only."""
    return emitter.cast(x, emitter.result_element)


@register_as_converter("isnan.default")
def _convert_isnan(emitter: Emitter, x: SSAValue) -> SSAValue:
    """Emit `x != x` for floats, and false for all other types."""
    element = element_type_of_value(x)
    if not is_float(element):
        return emitter.broadcast(emitter.emit_scalar(False, i1), emitter.result_shape)
    return emitter.compare(x, x, "ne", element)


@register_as_converter("isinf.default")
def _convert_isinf(emitter: Emitter, x: SSAValue) -> SSAValue:
    """Emit `abs(x) == inf` for floats, and false for all other types."""
    element = element_type_of_value(x)
    if not is_float(element):
        return emitter.broadcast(emitter.emit_scalar(False, i1), emitter.result_shape)
    magnitude = emitter.emit_elementwise(graph.AbsOp, x, element=element)
    return emitter.compare(magnitude, float("inf"), "eq", element)


@register_as_converter("logical_not.default")
def _convert_logical_not(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.emit(graph.NotOp(emitter.to_bool(x)))


@register_as_converter("bitwise_not.default")
def _convert_bitwise_not(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.emit(graph.NotOp(x))


def _make_logical_converter(op_type: type[IRDLOperation]) -> Converter:
    """Return a converter to `op_type` on the truth values (`i1`) of two operands."""

    def convert(emitter: Emitter, x: Operand, y: Operand) -> SSAValue:
        truths = [
            emitter.to_bool(each)
            if isinstance(each, SSAValue)
            else emitter.emit_scalar(bool(each), i1)
            for each in (x, y)
        ]
        return emitter.emit(op_type(*truths))

    return convert


register_as_converter("logical_and.default")(_make_logical_converter(graph.AndOp))
register_as_converter("logical_or.default")(_make_logical_converter(graph.OrOp))
for _name in ("bitwise_and.Tensor", "bitwise_and.Scalar"):
    register_as_converter(_name)(make_elementwise_converter(graph.AndOp))
for _name in ("bitwise_or.Tensor", "bitwise_or.Scalar"):
    register_as_converter(_name)(make_elementwise_converter(graph.OrOp))


@register_as_converter("logical_xor.default")
def _convert_logical_xor(emitter: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    lhs, rhs = (emitter.cast(emitter.to_bool(each), f32) for each in (x, y))
    return emitter.compare(lhs, rhs, "ne", f32)


@register_as_converter("bitwise_xor.Tensor", "bitwise_xor.Scalar")
def _convert_bitwise_xor(emitter: Emitter, x: SSAValue, y: Operand) -> SSAValue:
    """
    Emit a bitwise xor as `(x | y) - (x & y)`, without borrows; logical for Booleans.
    """
    if emitter.result_element == i1:
        truth = y if isinstance(y, SSAValue) else emitter.emit_scalar(bool(y), i1)
        return _convert_logical_xor(emitter, x, truth)
    either = emitter.emit_elementwise(graph.OrOp, x, y)
    return emitter.emit_elementwise(
        graph.SubOp, either, emitter.emit_elementwise(graph.AndOp, x, y)
    )
