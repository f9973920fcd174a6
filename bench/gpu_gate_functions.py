"""Functions of tensors that rows of the GPU gate run."""

from __future__ import annotations

import math
from typing import Any

from torch.nn import functional
from torch_model import T

F: Any = functional


def gelu(x: Any) -> Any:
    """GELU by tanh, written out."""
    return x * 0.5 * (1.0 + T.tanh(x * 0.7978845608028654 + x**3 * 0.044715))


def sin_cos(x: Any, y: Any) -> Any:
    """sin x + cos y."""
    return T.sin(x) + T.cos(y)


def gelu_add(x: Any, y: Any) -> Any:
    """GELU of x plus y."""
    return F.gelu(x, approximate="tanh") + y


def weighted_sum(x: Any, weights: Any) -> Any:
    """Weighted sum of each row."""
    return (x * weights).sum(-1)


def softmax(x: Any) -> Any:
    """Softmax of rows."""
    return T.softmax(x, -1)


def norm(x: Any, scale: Any, shift: Any) -> Any:
    """Layer norm of rows."""
    return F.layer_norm(x, x.shape[-1:], scale, shift)


def add_norm(x: Any, residual: Any, scale: Any, shift: Any) -> Any:
    """Sum of two tensors, and the layer norm of the sum."""
    return x + residual, norm(x + residual, scale, shift)


def group_norm(x: Any, scale: Any, shift: Any) -> Any:
    """SiLU of a group norm of images, with 32 groups of channels."""
    return F.silu(F.group_norm(x, 32, scale, shift))


def index_add(x: Any, indices: Any, values: Any) -> Any:
    """Sums of elements and of the values at their indices."""
    return x.index_add(0, indices, values)


def index_put(x: Any, indices: Any, values: Any) -> Any:
    """Elements, replaced by the values at their indices."""
    return x.index_put((indices,), values)


def sort(x: Any) -> Any:
    """Sorted rows."""
    return x.sort(-1).values


def topk(x: Any) -> Any:
    """The 16 greatest elements of each row."""
    return x.topk(16).values


def linear_relu(x: Any, weight: Any, bias: Any) -> Any:
    """Matrix product with a bias and ReLU."""
    return F.relu(x @ weight + bias)


def addmm(x: Any, weight: Any, bias: Any) -> Any:
    """Matrix product with a bias: `linear_relu` without ReLU."""
    return T.addmm(bias, x, weight)


def linear_gelu_add(x: Any, weight: Any, bias: Any, residual: Any) -> Any:
    """Matrix product with a bias, GELU and a residual."""
    return F.gelu(x @ weight + bias, approximate="tanh") + residual


def linear_add_norm(
    x: Any, weight: Any, bias: Any, residual: Any, scale: Any, shift: Any
) -> Any:
    """Matrix product with a bias, a residual and layer norm."""
    return norm(x @ weight + bias + residual, scale, shift)


def attention(q: Any, k: Any, v: Any, hidden: Any = None) -> Any:
    """Attention, written out; elements where `hidden` is true are masked."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return T.softmax(scores, -1) @ v


def causal_attention(q: Any, k: Any, v: Any) -> Any:
    """Attention, written out, in which tokens see only those before them."""
    tokens = q.shape[-2]
    shown = T.ones(tokens, tokens, dtype=T.bool, device=q.device)
    return attention(q, k, v, shown.triu(1))


def causal_fused_attention(q: Any, k: Any, v: Any) -> Any:
    """PyTorch's attention function with a causal mask."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def fused_attention(q: Any, k: Any, v: Any, hidden: Any = None) -> Any:
    """PyTorch's attention function, causal if `hidden` is given."""
    is_causal = hidden is not None
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


def grouped_attention(q: Any, k: Any, v: Any) -> Any:
    """Attention, written out, with shared heads of keys and values."""
    times = q.shape[1] // k.shape[1]
    keys, values = (T.repeat_interleave(each, times, 1) for each in (k, v))
    return attention(q, keys, values)


def fused_grouped_attention(q: Any, k: Any, v: Any) -> Any:
    """PyTorch's attention function with shared heads of keys and values."""
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
