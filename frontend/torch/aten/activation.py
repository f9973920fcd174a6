"""
Import of ATen activation functions as graph operations. Functions of several steps
compute 16-bit floats in f32.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.types import is_float
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import converts


@converts("relu.default")
def _relu(at: Emitter, x: SSAValue) -> SSAValue:
    if is_float(at.element):
        return at.emit(graph.ReluOp(x))
    return at.apply(graph.MaximumOp, x, 0)


@converts("gelu.default")
def _gelu(at: Emitter, x: SSAValue, *, approximate: str = "none") -> SSAValue:
    return at.emit(graph.GeluOp(x, "tanh" if approximate == "tanh" else "erf"))


@converts("silu.default")
def _silu(at: Emitter, x: SSAValue) -> SSAValue:
    return at.emit(graph.SiluOp(x))


@converts("leaky_relu.default")
def _leaky_relu(at: Emitter, x: SSAValue, slope: float = 0.01) -> SSAValue:
    value, wide = at.cast(x, at.wide), at.wide
    positive = at.compare(value, 0, "gt", wide)
    return at.to_result(at.select(positive, value, at.mul(value, slope, wide), wide))


@converts("_prelu_kernel.default")
def _prelu(at: Emitter, x: SSAValue, slope: SSAValue) -> SSAValue:
    value, wide = at.cast(x, at.wide), at.wide
    positive = at.compare(value, 0, "gt", wide)
    return at.to_result(at.select(positive, value, at.mul(value, slope, wide), wide))


@converts("elu.default")
def _elu(
    at: Emitter,
    x: SSAValue,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
) -> SSAValue:
    value, wide = at.cast(x, at.wide), at.wide
    scaled = at.mul(value, input_scale, wide) if input_scale != 1 else value
    negative_branch = at.mul(at.emit(graph.Expm1Op(scaled)), alpha * scale, wide)
    positive_branch = at.mul(value, scale, wide) if scale != 1 else value
    positive = at.compare(value, 0, "gt", wide)
    return at.to_result(at.select(positive, positive_branch, negative_branch, wide))


@converts("softplus.default")
def _softplus(
    at: Emitter, x: SSAValue, beta: float = 1.0, threshold: float = 20.0
) -> SSAValue:
    value, wide = at.cast(x, at.wide), at.wide
    scaled = at.mul(value, beta, wide) if beta != 1 else value
    soft = at.emit(graph.Log1pOp(at.emit(graph.ExpOp(scaled))))
    soft = at.div(soft, beta, wide) if beta != 1 else soft
    is_large = at.compare(scaled, threshold, "gt", wide)
    return at.to_result(at.select(is_large, value, soft, wide))
