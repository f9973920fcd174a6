"""Attention as PyTorch's one function for it."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import SSAValue

from tlf.dialects import graph
from tlf.dialects.graph.tensors import element_of, shape_of
from tlf.frontend.torch.emitter import Emitter
from tlf.frontend.torch.errors import Unsupported
from tlf.frontend.torch.registry import converts


@converts("scaled_dot_product_attention.default")
def _attention(
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
    """
    Scores stay as wide as the accumulator of their products; what they weigh is rounded
    to the type of the values. Rows that are masked altogether are 0.
    """
    if dropout:
        raise Unsupported(f"expected an attention without dropout, got {dropout}")
    if enable_gqa:
        heads = shape_of(query)[-3]
        key, value = (_repeated(at, each, heads) for each in (key, value))
    scores = _scores(at, query, key, scale)
    if is_causal:
        scores = at.select(_seen(at, scores), scores, -math.inf, at.wide)
    if mask is not None and element_of(mask) == i1:
        scores = at.select(mask, scores, -math.inf, at.wide)
    elif mask is not None:
        scores = at.add(scores, mask, at.wide)
    last = len(shape_of(scores)) - 1
    weights = at.cast(at.emit(graph.SoftmaxOp(scores, last)), element_of(value))
    found = at.emit(graph.MatmulOp(weights, value, element=at.wide))
    if mask is not None:
        most = at.reduce(scores, "max", [last], keepdims=True)
        hidden = at.compare(most, -math.inf, "eq", at.wide)
        found = at.select(hidden, 0.0, found, at.wide)
    return at.finish(found)


def _scores(
    at: Emitter, query: SSAValue, key: SSAValue, scale: float | None
) -> SSAValue:
    """The scaled products of queries and keys."""
    *order, rows, columns = range(len(shape_of(key)))
    across = at.permute(key, [*order, columns, rows])
    scores = at.emit(graph.MatmulOp(query, across, element=at.wide))
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    return at.mul(scores, factor, at.wide)


def _seen(at: Emitter, scores: SSAValue) -> SSAValue:
    """For each query, the keys that are not behind it."""
    rows, columns = shape_of(scores)[-2:]
    places = at.reshape(at.iota(rows, i32), [rows, 1])
    return at.compare(places, at.iota(columns, i32), "ge", i32)


def _repeated(at: Emitter, value: SSAValue, heads: int) -> SSAValue:
    """Keys or values of groups, once for each head of a group."""
    *batch, groups, rows, columns = shape_of(value)
    if groups == heads:
        return value
    times = heads // groups
    apart = at.reshape(value, [*batch, groups, 1, rows, columns])
    whole = at.broadcast(apart, [*batch, groups, times, rows, columns])
    return at.reshape(whole, [*batch, heads, rows, columns])
