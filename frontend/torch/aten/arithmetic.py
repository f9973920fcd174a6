"""Import of ATen elementwise arithmetic and functions as graph operations."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f16, f32, i1
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter, Operand
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import Converter, converts

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


def elementwise(kind: type[IRDLOperation]) -> Converter:
    """
    Return a converter to an elementwise operation on operands of the result's type.
    """

    def convert(at: Emitter, *operands: Operand) -> SSAValue:
        return at.apply(kind, *operands)

    return convert


def _make_rounding(kind: type[IRDLOperation]) -> Converter:
    def convert(at: Emitter, x: SSAValue) -> SSAValue:
        return at.apply(kind, x) if is_float(at.element) else x

    return convert


for _name, _kind in UNARY.items():
    converts(f"{_name}.default")(elementwise(_kind))
for _name, _kind in ROUNDING.items():
    converts(f"{_name}.default")(_make_rounding(_kind))
for _name, _kind in BINARY.items():
    converts(_name)(elementwise(_kind))


@converts("add.Tensor", "add.Scalar")
def _add(at: Emitter, x: Operand, y: Operand, alpha: float = 1) -> SSAValue:
    if at.element == i1:
        return at.apply(graph.OrOp, x, y if alpha else False)
    return _add_multiple(at, graph.AddOp, x, y, alpha)


@converts("sub.Tensor", "sub.Scalar")
def _sub(at: Emitter, x: Operand, y: Operand, alpha: float = 1) -> SSAValue:
    return _add_multiple(at, graph.SubOp, x, y, alpha)


@converts("rsub.Scalar", "rsub.Tensor")
def _rsub(at: Emitter, x: Operand, y: Operand, alpha: float = 1) -> SSAValue:
    return _add_multiple(at, graph.SubOp, y, x, alpha)


def _add_multiple(
    at: Emitter, kind: type[IRDLOperation], x: Operand, y: Operand, alpha: float
) -> SSAValue:
    """Emit the sum or difference of `x` and `alpha * y`, rounded once."""
    if alpha == 1:
        return at.apply(kind, x, y)
    first, second, factor = (at.round_then_promote(each) for each in (x, y, alpha))
    multiple = at.mul(second, factor, at.wide)
    return at.to_result(at.apply(kind, first, multiple, element=at.wide))


@converts("mul.Scalar", "mul.Tensor")
def _mul(at: Emitter, x: Operand, y: Operand) -> SSAValue:
    return at.apply_wide(graph.MulOp, x, y)


@converts("reciprocal.default")
def _reciprocal(at: Emitter, x: SSAValue) -> SSAValue:
    return at.apply(graph.DivOp, 1, x)


@converts("sign.default", "sgn.default")
def _sign(at: Emitter, x: SSAValue) -> SSAValue:
    """Emit the sign, which is 0 for zeros of both signs and NaN."""
    element = at.element
    if element == i1:
        return x
    falling = at.select(at.compare(x, 0, "lt", element), -1, 0, element)
    return at.select(at.compare(x, 0, "gt", element), 1, falling, element)


@converts("pow.Tensor_Tensor", "pow.Scalar")
def _pow(at: Emitter, x: Operand, y: Operand) -> SSAValue:
    if not is_float(at.element):
        raise Unsupported("expected powers of floats, got integers")
    return at.apply(graph.PowOp, x, y)


@converts("pow.Tensor_Scalar")
def _pow_scalar(at: Emitter, x: SSAValue, exponent: float) -> SSAValue:
    """
    Emit products for small integer powers, and roots for 0.5 and -0.5, as PyTorch.
    """
    if exponent == 1:
        return at.to_result(x)
    if exponent < 0 and not is_float(at.element):
        raise Unsupported("expected powers of at least 0 of integers")
    if exponent == -1:
        return at.apply(graph.DivOp, 1, x)
    if exponent in (0.5, -0.5):
        kind = graph.SqrtOp if exponent > 0 else graph.RsqrtOp
        return at.apply(kind, _radicand(at, at.cast(x, at.element)))
    if exponent not in (-2, 2, 3):
        return _pow(at, x, exponent)
    value = at.cast(x, at.wide)
    product = at.mul(value, value, at.wide)
    if exponent == 3:
        product = at.mul(product, value, at.wide)
    if exponent < 0:
        product = at.div(1, product, at.wide)
    return at.to_result(product)


def _radicand(at: Emitter, x: SSAValue) -> SSAValue:
    """
    Return the value whose root equals the power. For f16, PyTorch computes powers
    instead of roots: -0 gives 0, and minus infinity gives infinity.
    """
    if at.element != f16:
        return x
    is_negative_infinity = at.compare(x, float("-inf"), "eq", at.element)
    return at.add(
        at.select(is_negative_infinity, float("inf"), x, at.element), 0.0, at.element
    )


@converts("clamp.default", "clamp.Tensor", "clamp_min.default")
def _clamp(
    at: Emitter, x: Operand, low: Operand | None = None, high: Operand | None = None
) -> SSAValue:
    # Of two zeros PyTorch returns `x`: on hosts, the second operand of an extremum.
    if low is not None:
        x = at.apply(graph.MaximumOp, low, x)
    if high is not None:
        x = at.apply(graph.MinimumOp, high, x)
    return at.to_result(at.cast(x, at.element))


@converts("hardtanh.default")
def _hardtanh(at: Emitter, x: SSAValue, low: float = -1, high: float = 1) -> SSAValue:
    return _clamp(at, x, low, high)


@converts("clamp_max.default")
def _clamp_max(at: Emitter, x: Operand, high: Operand) -> SSAValue:
    return at.apply(graph.MinimumOp, high, x)


@converts("_to_copy.default")
def _to_copy(at: Emitter, x: SSAValue, **options: object) -> SSAValue:
    """Emit a cast to the result's dtype; other options concern storage only."""
    return at.cast(x, at.element)


@converts("isnan.default")
def _isnan(at: Emitter, x: SSAValue) -> SSAValue:
    element = element_of(x)
    if not is_float(element):
        return at.broadcast(at.scalar(False, i1), at.shape)
    return at.compare(x, x, "ne", element)


@converts("isinf.default")
def _isinf(at: Emitter, x: SSAValue) -> SSAValue:
    element = element_of(x)
    if not is_float(element):
        return at.broadcast(at.scalar(False, i1), at.shape)
    magnitude = at.apply(graph.AbsOp, x, element=element)
    return at.compare(magnitude, float("inf"), "eq", element)


@converts("logical_not.default")
def _logical_not(at: Emitter, x: SSAValue) -> SSAValue:
    return at.emit(graph.NotOp(at.to_bool(x)))


@converts("bitwise_not.default")
def _bitwise_not(at: Emitter, x: SSAValue) -> SSAValue:
    return at.emit(graph.NotOp(x))


def _make_logic(kind: type[IRDLOperation]) -> Converter:
    def convert(at: Emitter, x: Operand, y: Operand) -> SSAValue:
        truths = [
            at.to_bool(each)
            if isinstance(each, SSAValue)
            else at.scalar(bool(each), i1)
            for each in (x, y)
        ]
        return at.emit(kind(*truths))

    return convert


converts("logical_and.default")(_make_logic(graph.AndOp))
converts("logical_or.default")(_make_logic(graph.OrOp))
for _name in ("bitwise_and.Tensor", "bitwise_and.Scalar"):
    converts(_name)(elementwise(graph.AndOp))
for _name in ("bitwise_or.Tensor", "bitwise_or.Scalar"):
    converts(_name)(elementwise(graph.OrOp))


@converts("logical_xor.default")
def _logical_xor(at: Emitter, x: SSAValue, y: SSAValue) -> SSAValue:
    lhs, rhs = (at.cast(at.to_bool(each), f32) for each in (x, y))
    return at.compare(lhs, rhs, "ne", f32)


@converts("bitwise_xor.Tensor", "bitwise_xor.Scalar")
def _bitwise_xor(at: Emitter, x: SSAValue, y: Operand) -> SSAValue:
    """Emit `(x | y) - (x & y)`, which has no borrows."""
    if at.element == i1:
        truth = y if isinstance(y, SSAValue) else at.scalar(bool(y), i1)
        return _logical_xor(at, x, truth)
    either = at.apply(graph.OrOp, x, y)
    return at.apply(graph.SubOp, either, at.apply(graph.AndOp, x, y))
