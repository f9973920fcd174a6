"""
Import of ATen softmax and normalizations by mean and variance from PyTorch: converters
of FX calls, which build operations of `graph`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.dialects.types import accumulator_type_of
from tlf.frontend.torch.aten.reduction import emit_variance_and_mean
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("_softmax.default")
def _convert_softmax(
    emitter: Emitter,
    x: SSAValue,
    axis: int,
    half_to_float: bool = False,
    *,
    dtype: object = None,
) -> SSAValue:
    """Emit a softmax in the type of the result; a scalar is treated as a row."""
    value = emitter.cast(x, emitter.result_element)
    if not emitter.result_shape:
        row = emitter.emit(graph.SoftmaxOp(emitter.reshape(value, (1,)), 0))
        return emitter.reshape(row, ())
    return emitter.emit(graph.SoftmaxOp(value, axis % len(emitter.result_shape)))


@register_as_converter("_safe_softmax.default")
def _convert_safe_softmax(
    emitter: Emitter, x: SSAValue, axis: int, dtype: object = None
) -> SSAValue:
    """Emit a softmax where rows that are all minus infinity become 0."""
    value = emitter.cast(x, emitter.result_element)
    maximum = emitter.reduce(
        value,
        "max",
        [axis % len(emitter.result_shape)] if emitter.result_shape else [],
        True,
    )
    is_masked = emitter.compare(maximum, -math.inf, "eq", emitter.result_element)
    return emitter.select(
        is_masked, 0.0, _convert_softmax(emitter, value, axis), emitter.result_element
    )


@register_as_converter("_log_softmax.default")
def _convert_log_softmax(
    emitter: Emitter, x: SSAValue, axis: int, half_to_float: bool = False
) -> SSAValue:
    """
    Emit `c - log(sum(exp(c)))` in the wide type, where `c` is `x` minus its maximum.
    """
    if not emitter.result_shape:
        return emitter.sub(x, x, emitter.result_element)
    wide, axis = emitter.wide_element, axis % len(emitter.result_shape)
    value = emitter.cast(x, wide)
    centred = emitter.sub(value, emitter.reduce(value, "max", [axis], True), wide)
    total = emitter.reduce(emitter.emit(graph.ExpOp(centred)), "sum", [axis], True)
    return emitter.to_result(
        emitter.sub(centred, emitter.emit(graph.LogOp(total)), wide)
    )


@register_as_converter("native_layer_norm.default")
def _convert_layer_norm(
    emitter: Emitter,
    x: SSAValue,
    normalized_shape: Sequence[int],
    weight: SSAValue | None,
    bias: SSAValue | None,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    """
    Emit a `LayerNormOp` over trailing axes; then mean and reciprocal root of variance.
    """
    element = _choose_normalization_element(x, weight, bias)
    affine = _cast_weights(emitter, element, weight, bias)
    value = emitter.cast(x, element)
    normal = graph.LayerNormOp(
        value,
        *affine,
        last=len(normalized_shape),
        epsilon=_require_nonnegative_epsilon(epsilon),
    )
    rows = range(len(shape_of(x)) - len(normalized_shape), len(shape_of(x)))
    return (
        emitter.cast(emitter.emit(normal), emitter.result_element),
        *_emit_mean_and_rsqrt_variance(emitter, x, rows, epsilon),
    )


def _require_nonnegative_epsilon(epsilon: float) -> float:
    """Return an epsilon. Raises `Unsupported` unless it is at least 0."""
    if not epsilon >= 0:
        raise Unsupported(f"expected an epsilon of at least 0, got {epsilon}")
    return epsilon


def _choose_normalization_element(x: SSAValue, *others: SSAValue | None) -> Attribute:
    """
    Return the type to normalize `x` in: its own, or its accumulator type if another
    operand has a different type.
    """
    element = element_type_of_value(x)
    elements = {element_type_of_value(each) for each in others if each is not None}
    return element if elements <= {element} else accumulator_type_of(element)


def _cast_weights(
    emitter: Emitter, element: Attribute, *values: SSAValue | None
) -> list[SSAValue | None]:
    """Cast the given weights to an element type."""
    return [None if each is None else emitter.cast(each, element) for each in values]


@register_as_converter("_fused_rms_norm.default")
def _convert_rms_norm(
    emitter: Emitter,
    x: SSAValue,
    normalized_shape: Sequence[int],
    weight: SSAValue | None,
    epsilon: float | None,
) -> tuple[SSAValue | None, ...]:
    """Emit an `RmsNormOp` over trailing axes; then the reciprocal root mean square."""
    import torch

    from tlf.frontend.torch.element_types import DTYPES

    element = accumulator_type_of(element_type_of_value(x))
    raw_epsilon = torch.finfo(DTYPES[element]).eps if epsilon is None else epsilon
    checked_epsilon = _require_nonnegative_epsilon(raw_epsilon)
    common = _choose_normalization_element(x, weight)
    (scale,) = _cast_weights(emitter, common, weight)
    value = emitter.cast(x, common)
    normal = graph.RmsNormOp(
        value, scale, last=len(normalized_shape), epsilon=checked_epsilon
    )
    rows = range(len(shape_of(x)) - len(normalized_shape), len(shape_of(x)))
    return (
        emitter.cast(emitter.emit(normal), emitter.result_element),
        *_emit_rsqrt_mean_square(emitter, x, rows, checked_epsilon),
    )


@register_as_converter("native_group_norm.default")
def _convert_group_norm(
    emitter: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    batch: int,
    channels: int,
    elements_per_channel: int,
    groups: int,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    """
    Emit a normalization of each group of channels of a sample, scaled and shifted by
    channel, and the means and reciprocal deviations.
    """
    checked_epsilon = _require_nonnegative_epsilon(epsilon)
    wide, shape = emitter.wide_element, shape_of(x)
    rows = emitter.reshape(
        emitter.cast(x, wide),
        (batch, groups, channels // groups * elements_per_channel),
    )
    normal = emitter.emit(
        graph.LayerNormOp(rows, None, None, last=1, epsilon=checked_epsilon)
    )
    value = emitter.reshape(normal, shape)
    column = (channels, *[1] * (len(shape) - 2))
    if weight is not None:
        value = emitter.mul(value, emitter.reshape(weight, column), wide)
    if bias is not None:
        value = emitter.add(value, emitter.reshape(bias, column), wide)
    return emitter.to_result(value), *_emit_mean_and_rsqrt_variance(
        emitter, rows, [2], epsilon
    )


@register_as_converter("_native_batch_norm_legit_no_training.default")
def _convert_batch_norm(
    emitter: Emitter,
    x: SSAValue,
    weight: SSAValue | None,
    bias: SSAValue | None,
    mean: SSAValue,
    variance: SSAValue,
    momentum: float,
    epsilon: float,
) -> tuple[SSAValue | None, ...]:
    """Emit a `BatchNormOp` by given statistics; the other two results are `None`."""
    element = _choose_normalization_element(x, mean, variance, weight, bias)
    value, *statistics = (emitter.cast(each, element) for each in (x, mean, variance))
    affine = _cast_weights(emitter, element, weight, bias)
    normal = graph.BatchNormOp(
        value, *statistics, *affine, epsilon=_require_nonnegative_epsilon(epsilon)
    )
    return emitter.cast(emitter.emit(normal), emitter.result_element), None, None


def _emit_mean_and_rsqrt_variance(
    emitter: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """
    Return the second and third result of a normalization: the mean along axes, and the
    reciprocal root of the variance; `None` for unused results.
    """
    if len(emitter.results) == 1:
        return None, None
    variance, mean = emit_variance_and_mean(emitter, rows, axes, 0, keepdim=True)
    root = _emit_rsqrt_with_epsilon(emitter, variance, epsilon)
    return [
        _cast_to_result(emitter, value, index)
        for index, value in enumerate((mean, root), 1)
    ]


def _emit_rsqrt_mean_square(
    emitter: Emitter, rows: SSAValue, axes: Sequence[int], epsilon: float
) -> Sequence[SSAValue | None]:
    """
    Return the second result of a normalization: the reciprocal root of the mean square;
    `None` if it is unused.
    """
    if len(emitter.results) == 1:
        return (None,)
    value = emitter.cast(rows, emitter.wide_element)
    squares = graph.MeanOp(emitter.mul(value, value, emitter.wide_element), axes, True)
    root = _emit_rsqrt_with_epsilon(emitter, emitter.emit(squares), epsilon)
    return (_cast_to_result(emitter, root, 1),)


def _emit_rsqrt_with_epsilon(
    emitter: Emitter, value: SSAValue, epsilon: float
) -> SSAValue:
    raised = emitter.add(value, epsilon, emitter.wide_element)
    return emitter.emit_elementwise(graph.RsqrtOp, raised, element=emitter.wide_element)


def _cast_to_result(
    emitter: Emitter, value: SSAValue, result_index: int
) -> SSAValue | None:
    """
    Convert a value to the type of the result at index `result_index`; `None` if there
    is no such result.
    """
    if result_index >= len(emitter.results):
        return None
    type_ = emitter.results[result_index]
    return emitter.reshape(emitter.cast(value, type_.element_type), type_.get_shape())
