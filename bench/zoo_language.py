"""Layers of language models."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from zoo_builder import GraphBuilder, WorkloadSizes

from tlf.dialects import graph
from tlf.dialects.graph.tensor_types import shape_of

HEAD = 64
"""Elements of an attention head."""


def layer_norm(builder: GraphBuilder, name: str, x: SSAValue) -> SSAValue:
    """Return the layer norm of the last axis."""
    length = shape_of(x)[-1:]
    weight = builder.weight(f"{name}.weight", length, (0.5, 1.5))
    bias = builder.weight(f"{name}.bias", length)
    return builder.emit(graph.LayerNormOp(x, weight, bias))


def heads_of(
    builder: GraphBuilder, name: str, x: SSAValue, count: int, axes: tuple[int, ...]
) -> SSAValue:
    """
    Return a projection split into heads; `axes` permutes batch, words, heads, elements.
    """
    batch, words, width = shape_of(x)
    value = builder.linear(name, x, width)
    value = builder.reshape(value, (batch, words, count, width // count))
    return builder.transpose(value, axes)


def attention(
    builder: GraphBuilder, x: SSAValue, count: int, prefix: str = ""
) -> SSAValue:
    """Return attention with `count` heads; names of weights start with `prefix`."""
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
    Return pre-norm encoder layers: width 768, heads of 64, MLP width four times 768.
    """
    builder, width = GraphBuilder(sizes), sizes.width(768)
    x = builder.input("x", (sizes.batch, sizes.size, width))
    for index in range(sizes.layers):
        prefix = f"layer{index}." if sizes.layers > 1 else ""
        x = _layer(builder, x, width, prefix)
    return builder.build_module("transformer", x)


def _layer(builder: GraphBuilder, x: SSAValue, width: int, prefix: str) -> SSAValue:
    """Return one layer; names of weights start with `prefix`."""
    normalised = layer_norm(builder, f"{prefix}norm1", x)
    x = builder.add(x, attention(builder, normalised, max(1, width // HEAD), prefix))
    normalised = layer_norm(builder, f"{prefix}norm2", x)
    value = builder.linear(f"{prefix}first", normalised, 4 * width)
    value = builder.emit(graph.GeluOp(value))
    return builder.add(x, builder.linear(f"{prefix}second", value, width))


def swiglu(sizes: WorkloadSizes) -> ModuleOp:
    """
    Return the MLP of a LLaMA-7B layer: width 4096, hidden width 11008 (Shazeer, GLU
    Variants Improve Transformer, 2020).
    """
    builder, width = GraphBuilder(sizes), sizes.width(4096)
    x = builder.input("x", (sizes.batch * sizes.size, width))
    hidden = sizes.width(11008)
    gate = builder.linear("gate", x, hidden, bias=False)
    value = builder.linear("up", x, hidden, bias=False)
    value = builder.emit(graph.MulOp(builder.emit(graph.SiluOp(gate)), value))
    return builder.build_module(
        "swiglu", builder.linear("down", value, width, bias=False)
    )


def gemv(sizes: WorkloadSizes) -> ModuleOp:
    """Return one word of each sequence times a square weight, as in decoding."""
    builder, width = GraphBuilder(sizes), sizes.width(sizes.size)
    x = builder.input("x", (sizes.batch, width))
    return builder.build_module("gemv", builder.linear("weight", x, width, bias=False))
