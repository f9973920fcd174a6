"""
Import of ATen scaled dot-product attention from PyTorch: converters of FX calls, which
build operations of `graph`.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_type_of_value, shape_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import register_as_converter


@register_as_converter("scaled_dot_product_attention.default")
def _convert_scaled_dot_product_attention(
    emitter: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None = None,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> SSAValue:
    return _emit_attention(emitter, query, key, value, mask, dropout, is_causal, scale)


@register_as_converter("_scaled_dot_product_flash_attention_for_cpu.default")
def _convert_flash_attention_for_cpu(
    emitter: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: SSAValue | None = None,
    scale: float | None = None,
) -> list[SSAValue | None]:
    """Emit attention with `attn_mask`; all results but the first are `None`."""
    result = _emit_attention(
        emitter, query, key, value, attn_mask, dropout, is_causal, scale
    )
    return _pad_with_unused_results(emitter, result)


@register_as_converter("_scaled_dot_product_flash_attention.default")
def _convert_flash_attention(
    emitter: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> list[SSAValue | None]:
    """Emit attention without a mask; all results but the first are `None`."""
    result = _emit_attention(
        emitter, query, key, value, None, dropout, is_causal, scale
    )
    return _pad_with_unused_results(emitter, result)


@register_as_converter(
    "_scaled_dot_product_efficient_attention.default",
    "_scaled_dot_product_cudnn_attention.default",
)
def _convert_efficient_attention(
    emitter: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    bias: SSAValue | None,
    compute_log_sumexp: bool,
    dropout: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> list[SSAValue | None]:
    """Emit attention with `bias` as its mask; all results but the first are `None`."""
    result = _emit_attention(
        emitter, query, key, value, bias, dropout, is_causal, scale
    )
    return _pad_with_unused_results(emitter, result)


def _pad_with_unused_results(
    emitter: Emitter, attention: SSAValue
) -> list[SSAValue | None]:
    """
    Return the first of several results; the others are `None`, as only gradients need
    them.
    """
    return [attention, *[None] * (len(emitter.results) - 1)]


def _emit_attention(
    emitter: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    dropout: float,
    is_causal: bool,
    scale: float | None,
) -> SSAValue:
    """
    Emit an attention. Scores have the accumulator type of their products; weights are
    rounded to the type of the values. Fully masked rows are 0.
    """
    if dropout:
        raise Unsupported(f"expected an attention without dropout, got {dropout}")
    key, value = (
        _repeat_grouped_heads(emitter, each, shape_of(query)) for each in (key, value)
    )
    scores = _emit_attention_scores(emitter, query, key, scale)
    if is_causal:
        scores = emitter.select(
            _emit_causal_mask(emitter, scores), scores, -math.inf, emitter.wide_element
        )
    if mask is not None and element_type_of_value(mask) == i1:
        scores = emitter.select(mask, scores, -math.inf, emitter.wide_element)
    elif mask is not None:
        scores = emitter.add(scores, mask, emitter.wide_element)
    last = len(shape_of(scores)) - 1
    weights = emitter.cast(
        emitter.emit(graph.SoftmaxOp(scores, last)), element_type_of_value(value)
    )
    result = emitter.matmul(weights, value, emitter.wide_element, "attention")
    if mask is not None:
        maximum = emitter.reduce(scores, "max", [last], keepdims=True)
        is_masked = emitter.compare(maximum, -math.inf, "eq", emitter.wide_element)
        result = emitter.select(is_masked, 0.0, result, emitter.wide_element)
    return emitter.to_result(result)


def _emit_attention_scores(
    emitter: Emitter, query: SSAValue, key: SSAValue, scale: float | None
) -> SSAValue:
    """
    Emit `query @ key^T * scale` in the wide element type, without mask or softmax; a
    `scale` of None is 1 / sqrt(length of a query).
    """
    *order, rows, columns = range(len(shape_of(key)))
    transposed = emitter.permute(key, [*order, columns, rows])
    scores = emitter.matmul(query, transposed, emitter.wide_element, "attention")
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    return emitter.mul(scores, factor, emitter.wide_element)


def _emit_causal_mask(emitter: Emitter, scores: SSAValue) -> SSAValue:
    """Emit the causal mask: true for the keys at or before the position of a query."""
    rows, columns = shape_of(scores)[-2:]
    positions = emitter.reshape(emitter.emit_iota(rows, i32), [rows, 1])
    return emitter.compare(positions, emitter.emit_iota(columns, i32), "ge", i32)


def _repeat_grouped_heads(
    emitter: Emitter, value: SSAValue, query_shape: tuple[int, ...]
) -> SSAValue:
    """Repeat the keys or values of grouped heads for each query head."""
    if len(query_shape) < 3 or shape_of(value)[-3] in (1, query_shape[-3]):
        return value
    *batch, groups, rows, columns = shape_of(value)
    split = emitter.reshape(value, [*batch, groups, 1, rows, columns])
    repeats = query_shape[-3] // groups
    repeated = emitter.broadcast(split, [*batch, groups, repeats, rows, columns])
    return emitter.reshape(repeated, [*batch, query_shape[-3], rows, columns])
