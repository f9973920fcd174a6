"""Softmax, and normalisation by means and variances."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensors import element_of, shape_of
from tlf.dialects.types import accumulator_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.registry import converts


@converts("_softmax.default", "_safe_softmax.default")
def _softmax(
    at: Emitter,
    x: SSAValue,
    axis: int,
    half_to_float: bool = False,
    *,
    dtype: object = None,
) -> SSAValue:
    value = at.cast(x, at.element)
    if not at.shape:
        return at.number(1, at.element)
    return at.emit(graph.SoftmaxOp(value, axis % len(at.shape)))


@converts("_log_softmax.default")
def _log_softmax(
    at: Emitter, x: SSAValue, axis: int, half_to_float: bool = False
) -> SSAValue:
    if not at.shape:
        return at.number(0, at.element)
    wide, axis = at.wide, axis % len(at.shape)
    value = at.cast(x, wide)
    centred = at.sub(value, at.reduce(value, "max", [axis], True), wide)
    total = at.reduce(at.emit(graph.ExpOp(centred)), "sum", [axis], True)
    return at.finish(at.sub(centred, at.emit(graph.LogOp(total)), wide))


@converts("native_layer_norm.default")
def _layer_norm(
    at: Emitter,
    x: SSAValue,
    shape: Sequence[int],
    weight: SSAValue | None,
    bias: SSAValue | None,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    affine = [
        None if each is None else at.cast(each, element_of(x))
        for each in (weight, bias)
    ]
    normal = graph.LayerNormOp(x, *affine, last=len(shape), epsilon=epsilon)
    return at.emit(normal), None, None


@converts("_fused_rms_norm.default")
def _rms_norm(
    at: Emitter,
    x: SSAValue,
    shape: Sequence[int],
    weight: SSAValue | None,
    epsilon: float | None,
) -> tuple[SSAValue | None, ...]:
    import torch

    from tlf.frontend.torch.elements import DTYPES

    element = accumulator_of(element_of(x))
    least = torch.finfo(DTYPES[element]).eps if epsilon is None else epsilon
    scale = None if weight is None else at.cast(weight, element_of(x))
    normal = graph.RmsNormOp(x, scale, last=len(shape), epsilon=least)
    return at.emit(normal), None


@converts("native_group_norm.default")
def _group_norm(
    at: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    batch: int,
    channels: int,
    area: int,
    groups: int,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    """Each group of channels is a row that is normalised."""
    wide, shape = at.wide, shape_of(x)
    rows = at.reshape(at.cast(x, wide), (batch, groups, channels // groups * area))
    normal = at.emit(graph.LayerNormOp(rows, None, None, last=1, epsilon=epsilon))
    value = at.reshape(normal, shape)
    column = (channels, *[1] * (len(shape) - 2))
    if weight is not None:
        value = at.mul(value, at.reshape(weight, column), wide)
    if bias is not None:
        value = at.add(value, at.reshape(bias, column), wide)
    return at.finish(value), None, None


@converts("_native_batch_norm_legit_no_training.default")
def _batch_norm(
    at: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    variance: SSAValue,
    momentum: float,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    element = element_of(x)
    statistics = [at.cast(each, element) for each in (mean, variance)]
    affine = [
        None if each is None else at.cast(each, element) for each in (weight, bias)
    ]
    normal = graph.BatchNormOp(x, *statistics, *affine, epsilon=epsilon)
    return at.emit(normal), None, None
