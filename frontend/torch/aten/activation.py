"""
Import of ATen activation functions from PyTorch: converters of FX calls, which build
operations of `graph`. Functions of several steps compute 16-bit floats in f32.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("relu.default")
def _convert_relu(emitter: Emitter, x: SSAValue) -> SSAValue:
    if is_float(emitter.result_element):
        return emitter.emit(graph.ReluOp(x))
    return emitter.emit_elementwise(graph.MaximumOp, x, 0)


@register_as_converter("gelu.default")
def _convert_gelu(
    emitter: Emitter, x: SSAValue, *, approximate: str = "none"
) -> SSAValue:
    return emitter.emit(graph.GeluOp(x, "tanh" if approximate == "tanh" else "erf"))


@register_as_converter("silu.default")
def _convert_silu(emitter: Emitter, x: SSAValue) -> SSAValue:
    return emitter.emit(graph.SiluOp(x))


@register_as_converter("leaky_relu.default")
def _convert_leaky_relu(emitter: Emitter, x: SSAValue, slope: float = 0.01) -> SSAValue:
    """Emit `x` where it is above 0, else `slope * x`, computed in the wide type."""
    value, wide = emitter.cast(x, emitter.wide_element), emitter.wide_element
    positive = emitter.compare(value, 0, "gt", wide)
    return emitter.to_result(
        emitter.select(positive, value, emitter.mul(value, slope, wide), wide)
    )


@register_as_converter("_prelu_kernel.default")
def _convert_prelu(emitter: Emitter, x: SSAValue, slope: SSAValue) -> SSAValue:
    """
    Emit `x` where it is above 0, else `x` times the tensor `slope`, in the wide type.
    """
    value, wide = emitter.cast(x, emitter.wide_element), emitter.wide_element
    positive = emitter.compare(value, 0, "gt", wide)
    return emitter.to_result(
        emitter.select(positive, value, emitter.mul(value, slope, wide), wide)
    )


@register_as_converter("elu.default")
def _convert_elu(
    emitter: Emitter,
    x: SSAValue,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
) -> SSAValue:
    """Emit `scale * x` where `x > 0`, else `alpha * scale * expm1(input_scale * x)`."""
    value, wide = emitter.cast(x, emitter.wide_element), emitter.wide_element
    scaled = emitter.mul(value, input_scale, wide) if input_scale != 1 else value
    negative_branch = emitter.mul(
        emitter.emit(graph.Expm1Op(scaled)), alpha * scale, wide
    )
    positive_branch = emitter.mul(value, scale, wide) if scale != 1 else value
    positive = emitter.compare(value, 0, "gt", wide)
    return emitter.to_result(
        emitter.select(positive, positive_branch, negative_branch, wide)
    )


@register_as_converter("softplus.default")
def _convert_softplus(
    emitter: Emitter, x: SSAValue, beta: float = 1.0, threshold: float = 20.0
) -> SSAValue:
    """Emit `log1p(exp(beta * x)) / beta`, but `x` where `beta * x > threshold`."""
    value, wide = emitter.cast(x, emitter.wide_element), emitter.wide_element
    scaled = emitter.mul(value, beta, wide) if beta != 1 else value
    soft = emitter.emit(graph.Log1pOp(emitter.emit(graph.ExpOp(scaled))))
    soft = emitter.div(soft, beta, wide) if beta != 1 else soft
    is_large = emitter.compare(scaled, threshold, "gt", wide)
    return emitter.to_result(emitter.select(is_large, value, soft, wide))
