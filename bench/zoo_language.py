"""Layers of language models."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

HEAD = 64
"""Elements of a head of attention."""


def layer_norm(builder: GraphBuilder, name: str, x: SSAValue) -> SSAValue:
    """Layer normalization."""
    length = shape_of(x)[-1:]
    weight = builder.weight(f"{name}.weight", length, (0.5, 1.5))
    bias = builder.weight(f"{name}.bias", length)
    return builder.emit(graph.LayerNormOp(x, weight, bias))


def heads_of(
    builder: GraphBuilder, name: str, x: SSAValue, count: int, axes: tuple[int, ...]
) -> SSAValue:
    """A projection, split into heads, in an order of batch, words, heads, elements."""
    batch, words, width = shape_of(x)
    value = builder.linear(name, x, width)
    value = builder.reshape(value, (batch, words, count, width // count))
    return builder.transpose(value, axes)


def attention(
    builder: GraphBuilder, x: SSAValue, count: int, prefix: str = ""
) -> SSAValue:
    """Attention of so many heads; weights have names with a prefix."""
    batch, words, width = shape_of(x)
    queries = heads_of(builder, f"{prefix}queries", x, count, (0, 2, 1, 3))
    keys = heads_of(builder, f"{prefix}keys", x, count, (0, 2, 3, 1))
    values = heads_of(builder, f"{prefix}values", x, count, (0, 2, 1, 3))
    scale = builder.scalar_constant(1 / sqrt(width // count))
    scores = builder.emit(graph.MatmulOp(queries, keys))
    scores = builder.emit(graph.MulOp(scores, scale))
    weights = builder.emit(graph.SoftmaxOp(scores, 3))
    value = builder.emit(graph.MatmulOp(weights, values))
    value = builder.transpose(value, (0, 2, 1, 3))
    value = builder.reshape(value, (batch, words, width))
    return builder.linear(f"{prefix}outputs", value, width)


def transformer(sizes: WorkloadSizes) -> ModuleOp:
    """
    Layers of an encoder, normalised before their parts: 768 wide, heads of 64, four
    times as wide inside.
    """
    builder, width = GraphBuilder(sizes), sizes.width(768)
    x = builder.input("x", (sizes.batch, sizes.size, width))
    for number in range(sizes.layers):
        prefix = f"layer{number}." if sizes.layers > 1 else ""
        x = _layer(builder, x, width, prefix)
    return builder.build_module("transformer", x)


def _layer(builder: GraphBuilder, x: SSAValue, width: int, prefix: str) -> SSAValue:
    """One layer, whose weights have names with a prefix."""
    inside = layer_norm(builder, f"{prefix}norm1", x)
    x = builder.add(x, attention(builder, inside, max(1, width // HEAD), prefix))
    inside = layer_norm(builder, f"{prefix}norm2", x)
    value = builder.linear(f"{prefix}first", inside, 4 * width)
    value = builder.emit(graph.GeluOp(value))
    return builder.add(x, builder.linear(f"{prefix}second", value, width))


def swiglu(sizes: WorkloadSizes) -> ModuleOp:
    """
    The part of a LLaMA-7B layer after attention: 4096 wide, 11008 inside (Shazeer, GLU
    Variants Improve Transformer, 2020).
    """
    builder, width = GraphBuilder(sizes), sizes.width(4096)
    x = builder.input("x", (sizes.batch * sizes.size, width))
    inside = sizes.width(11008)
    gate = builder.linear("gate", x, inside, bias=False)
    value = builder.linear("up", x, inside, bias=False)
    value = builder.emit(graph.MulOp(builder.emit(graph.SiluOp(gate)), value))
    return builder.build_module(
        "swiglu", builder.linear("down", value, width, bias=False)
    )


def gemv(sizes: WorkloadSizes) -> ModuleOp:
    """One word of each sequence times a square weight, as when a model generates."""
    builder, width = GraphBuilder(sizes), sizes.width(sizes.size)
    x = builder.input("x", (sizes.batch, width))
    return builder.build_module("gemv", builder.linear("weight", x, width, bias=False))
