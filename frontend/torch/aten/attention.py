"""Import of ATen scaled dot-product attention as graph operations."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import element_of, shape_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.import_errors import Unsupported
from tlf.frontend.torch.registry import converts


@converts("scaled_dot_product_attention.default")
def _sdpa(
    at: Emitter,
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
    return _emit_attention(at, query, key, value, mask, dropout, is_causal, scale)


@converts("_scaled_dot_product_flash_attention_for_cpu.default")
def _flash_attention_for_cpu(
    at: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: SSAValue | None = None,
    scale: float | None = None,
) -> list[SSAValue | None]:
    result = _emit_attention(
        at, query, key, value, attn_mask, dropout, is_causal, scale
    )
    return _first_result_only(at, result)


@converts("_scaled_dot_product_flash_attention.default")
def _flash_attention(
    at: Emitter,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    dropout: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> list[SSAValue | None]:
    result = _emit_attention(at, query, key, value, None, dropout, is_causal, scale)
    return _first_result_only(at, result)


@converts(
    "_scaled_dot_product_efficient_attention.default",
    "_scaled_dot_product_cudnn_attention.default",
)
def _efficient_attention(
    at: Emitter,
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
    result = _emit_attention(at, query, key, value, bias, dropout, is_causal, scale)
    return _first_result_only(at, result)


def _first_result_only(at: Emitter, found: SSAValue) -> list[SSAValue | None]:
    """
    Return the first of several results; the others are `None`, as only gradients need
    them.
    """
    return [found, *[None] * (len(at.results) - 1)]


def _emit_attention(
    at: Emitter,
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
    key, value = (_repeat_heads(at, each, shape_of(query)) for each in (key, value))
    scores = _emit_scores(at, query, key, scale)
    if is_causal:
        scores = at.select(_causal_mask(at, scores), scores, -math.inf, at.wide)
    if mask is not None and element_of(mask) == i1:
        scores = at.select(mask, scores, -math.inf, at.wide)
    elif mask is not None:
        scores = at.add(scores, mask, at.wide)
    last = len(shape_of(scores)) - 1
    weights = at.cast(at.emit(graph.SoftmaxOp(scores, last)), element_of(value))
    result = at.emit(graph.MatmulOp(weights, value, element=at.wide))
    if mask is not None:
        maximum = at.reduce(scores, "max", [last], keepdims=True)
        is_masked = at.compare(maximum, -math.inf, "eq", at.wide)
        result = at.select(is_masked, 0.0, result, at.wide)
    return at.to_result(result)


def _emit_scores(
    at: Emitter, query: SSAValue, key: SSAValue, scale: float | None
) -> SSAValue:
    """Emit the scaled products of queries and keys."""
    *order, rows, columns = range(len(shape_of(key)))
    transposed = at.permute(key, [*order, columns, rows])
    scores = at.emit(graph.MatmulOp(query, transposed, element=at.wide))
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    return at.mul(scores, factor, at.wide)


def _causal_mask(at: Emitter, scores: SSAValue) -> SSAValue:
    """Emit the causal mask: true for the keys at or before the position of a query."""
    rows, columns = shape_of(scores)[-2:]
    positions = at.reshape(at.iota(rows, i32), [rows, 1])
    return at.compare(positions, at.iota(columns, i32), "ge", i32)


def _repeat_heads(at: Emitter, value: SSAValue, query: tuple[int, ...]) -> SSAValue:
    """Repeat the keys or values of grouped heads for each query head."""
    if len(query) < 3 or shape_of(value)[-3] in (1, query[-3]):
        return value
    *batch, groups, rows, columns = shape_of(value)
    split = at.reshape(value, [*batch, groups, 1, rows, columns])
    repeats = query[-3] // groups
    repeated = at.broadcast(split, [*batch, groups, repeats, rows, columns])
    return at.reshape(repeated, [*batch, query[-3], rows, columns])
