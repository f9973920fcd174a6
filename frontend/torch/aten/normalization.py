"""Import of ATen softmax and of normalizations by mean and variance."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.dialects.types import accumulator_of
from tlf.frontend.torch.aten.reduction import variance_and_mean
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import converts


@converts("_softmax.default")
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
        row = at.emit(graph.SoftmaxOp(at.reshape(value, (1,)), 0))
        return at.reshape(row, ())
    return at.emit(graph.SoftmaxOp(value, axis % len(at.shape)))


@converts("_safe_softmax.default")
def _safe_softmax(
    at: Emitter, x: SSAValue, axis: int, dtype: object = None
) -> SSAValue:
    """Emit a softmax where rows that are all minus infinity become 0."""
    value = at.cast(x, at.element)
    maximum = at.reduce(value, "max", [axis % len(at.shape)] if at.shape else [], True)
    is_masked = at.compare(maximum, -math.inf, "eq", at.element)
    return at.select(is_masked, 0.0, _softmax(at, value, axis), at.element)


@converts("_log_softmax.default")
def _log_softmax(
    at: Emitter, x: SSAValue, axis: int, half_to_float: bool = False
) -> SSAValue:
    if not at.shape:
        return at.sub(x, x, at.element)
    wide, axis = at.wide, axis % len(at.shape)
    value = at.cast(x, wide)
    centred = at.sub(value, at.reduce(value, "max", [axis], True), wide)
    total = at.reduce(at.emit(graph.ExpOp(centred)), "sum", [axis], True)
    return at.to_result(at.sub(centred, at.emit(graph.LogOp(total)), wide))


@converts("native_layer_norm.default")
def _layer_norm(
    at: Emitter,
    x: SSAValue,
    shape: Sequence[int],
    weight: SSAValue | None,
    bias: SSAValue | None,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    element = _common_element(x, weight, bias)
    affine = _cast_all(at, element, weight, bias)
    value = at.cast(x, element)
    normal = graph.LayerNormOp(
        value, *affine, last=len(shape), epsilon=_check_epsilon(epsilon)
    )
    rows = range(len(shape_of(x)) - len(shape), len(shape_of(x)))
    return (
        at.cast(at.emit(normal), at.element),
        *_mean_and_rsqrt_variance(at, x, rows, epsilon),
    )


def _check_epsilon(epsilon: float) -> float:
    """Return an epsilon. Raises `Unsupported` unless it is at least 0."""
    if not epsilon >= 0:
        raise Unsupported(f"expected an epsilon of at least 0, got {epsilon}")
    return epsilon


def _common_element(x: SSAValue, *others: SSAValue | None) -> Attribute:
    """
    Return the type to normalize `x` in: its own, or its accumulator type if another
    operand has a different type.
    """
    element = element_of(x)
    elements = {element_of(each) for each in others if each is not None}
    return element if elements <= {element} else accumulator_of(element)


def _cast_all(
    at: Emitter, element: Attribute, *values: SSAValue | None
) -> list[SSAValue | None]:
    """Cast the given weights to an element type."""
    return [None if each is None else at.cast(each, element) for each in values]


@converts("_fused_rms_norm.default")
def _rms_norm(
    at: Emitter,
    x: SSAValue,
    shape: Sequence[int],
    weight: SSAValue | None,
    epsilon: float | None,
) -> tuple[SSAValue | None, ...]:
    import torch

    from tlf.frontend.torch.element_types import DTYPES

    element = accumulator_of(element_of(x))
    raw_epsilon = torch.finfo(DTYPES[element]).eps if epsilon is None else epsilon
    checked_epsilon = _check_epsilon(raw_epsilon)
    common = _common_element(x, weight)
    (scale,) = _cast_all(at, common, weight)
    value = at.cast(x, common)
    normal = graph.RmsNormOp(value, scale, last=len(shape), epsilon=checked_epsilon)
    rows = range(len(shape_of(x)) - len(shape), len(shape_of(x)))
    return (
        at.cast(at.emit(normal), at.element),
        *_rsqrt_mean_square(at, x, rows, checked_epsilon),
    )


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
    """Emit a normalization of rows, one per group of channels."""
    checked_epsilon = _check_epsilon(epsilon)
    wide, shape = at.wide, shape_of(x)
    rows = at.reshape(at.cast(x, wide), (batch, groups, channels // groups * area))
    normal = at.emit(
        graph.LayerNormOp(rows, None, None, last=1, epsilon=checked_epsilon)
    )
    value = at.reshape(normal, shape)
    column = (channels, *[1] * (len(shape) - 2))
    if weight is not None:
        value = at.mul(value, at.reshape(weight, column), wide)
    if bias is not None:
        value = at.add(value, at.reshape(bias, column), wide)
    return at.to_result(value), *_mean_and_rsqrt_variance(at, rows, [2], epsilon)


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
    element = _common_element(x, mean, variance, weight, bias)
    value, *statistics = (at.cast(each, element) for each in (x, mean, variance))
    affine = _cast_all(at, element, weight, bias)
    normal = graph.BatchNormOp(
        value, *statistics, *affine, epsilon=_check_epsilon(epsilon)
    )
    return at.cast(at.emit(normal), at.element), None, None


def _mean_and_rsqrt_variance(
    at: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """
    Return the second and third result of a normalization: the mean along axes, and the
    reciprocal root of the variance; `None` for unused results.
    """
    if len(at.results) == 1:
        return None, None
    variance, mean = variance_and_mean(at, rows, axes, 0, keepdim=True)
    root = _emit_rsqrt(at, variance, epsilon)
    return [_to_result(at, value, index) for index, value in enumerate((mean, root), 1)]


def _rsqrt_mean_square(
    at: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """
    Return the second result of a normalization: the reciprocal root of the mean square;
    `None` if it is unused.
    """
    if len(at.results) == 1:
        return (None,)
    value = at.cast(rows, at.wide)
    squares = graph.MeanOp(at.mul(value, value, at.wide), axes, True)
    root = _emit_rsqrt(at, at.emit(squares), epsilon)
    return (_to_result(at, root, 1),)


def _emit_rsqrt(at: Emitter, value: SSAValue, epsilon: float) -> SSAValue:
    raised = at.add(value, epsilon, at.wide)
    return at.apply(graph.RsqrtOp, raised, element=at.wide)


def _to_result(at: Emitter, value: SSAValue, place: int) -> SSAValue | None:
    """
    Convert a value to the type of the result at index `place`; `None` if there is no
    such result.
    """
    if place >= len(at.results):
        return None
    type_ = at.results[place]
    return at.reshape(at.cast(value, type_.element_type), type_.get_shape())
