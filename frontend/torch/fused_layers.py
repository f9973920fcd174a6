"""
Import of ATen fused inference layers: decompositions of multi-head attention and of a
transformer encoder layer in PyTorch, before conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

T: Any = torch


def _apply_attention_mask(
    scores: Tensor, mask: Tensor | None, mask_kind: int | None
) -> Tensor:
    """
    Set the scores that the mask selects to minus infinity. The mask is over pairs of
    tokens if `mask_kind` is 0, over the tokens of each sequence if it is 1, and over
    all scores if it is 2.
    """
    if mask is None:
        return scores
    if mask_kind == 1:
        mask = mask.reshape(mask.shape[0], 1, 1, mask.shape[-1])
    return scores.masked_fill(mask.to(torch.bool), float("-inf"))


def _decompose_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    width: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    output_weight: Tensor,
    output_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor]:
    """
    Compute attention by linear layers and softmax; return its weights, too, if needed.
    """
    head = width // heads
    rows: list[Tensor] = []
    projections = zip((query, key, value), weight.chunk(3), bias.chunk(3), strict=True)
    for x, projection, offset in projections:
        projected = functional.linear(x, projection, offset)
        rows.append(projected.view(*x.shape[:2], heads, head).transpose(1, 2))
    scores = T.matmul(rows[0] * head**-0.5, rows[1].transpose(2, 3))
    probabilities: Tensor = T.softmax(
        _apply_attention_mask(scores, mask, mask_type), -1
    )
    attended = T.matmul(probabilities, rows[2]).transpose(1, 2).reshape(query.shape)
    result = functional.linear(attended, output_weight, output_bias)
    if not need_weights:
        return result, query.new_empty(0)
    return result, probabilities.mean(1) if average_attn_weights else probabilities


def _decompose_encoder_layer(
    x: Tensor,
    width: int,
    heads: int,
    weight: Tensor,
    bias: Tensor,
    output_weight: Tensor,
    output_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    epsilon: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    weight_1: Tensor,
    bias_1: Tensor,
    weight_2: Tensor,
    bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    def normalize(value: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        return functional.layer_norm(value, [width], gain, shift, epsilon)

    def apply_attention(value: Tensor) -> Tensor:
        weights = (weight, bias, output_weight, output_bias)
        inputs = (value, value, value, width, heads)
        return _decompose_multi_head_attention(
            *inputs, *weights, mask, False, True, mask_type
        )[0]

    def apply_feed_forward(value: Tensor) -> Tensor:
        return _apply_feed_forward(value, weight_1, bias_1, weight_2, bias_2, use_gelu)

    if norm_first:
        x = x + apply_attention(normalize(x, norm_weight_1, norm_bias_1))
        return x + apply_feed_forward(normalize(x, norm_weight_2, norm_bias_2))
    x = normalize(x + apply_attention(x), norm_weight_1, norm_bias_1)
    return normalize(x + apply_feed_forward(x), norm_weight_2, norm_bias_2)


def _apply_feed_forward(
    value: Tensor,
    weight_1: Tensor,
    bias_1: Tensor,
    weight_2: Tensor,
    bias_2: Tensor,
    use_gelu: bool,
) -> Tensor:
    """Apply two linear layers with an activation in between."""
    inner = functional.linear(value, weight_1, bias_1)
    active = functional.gelu(inner) if use_gelu else functional.relu(inner)
    return functional.linear(active, weight_2, bias_2)


FUSED_LAYERS: Mapping[Any, Callable[..., Any]] = {
    T.ops.aten._native_multi_head_attention.default: _decompose_multi_head_attention,
    T.ops.aten._transformer_encoder_layer_fwd.default: _decompose_encoder_layer,
}
"""Decomposition of each fused layer operation."""
