"""Attention and the residual network of `examples/`, as functions of their sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from example_variants import Maker, Variant
from torch import Tensor
from torch.nn import functional


def attention(
    batch: int, heads: int, tokens: int, size: int, element: str = "f32"
) -> Variant:
    """Return attention with an additive mask."""
    maker = Maker(element)
    shape = (batch, heads, tokens, size)
    square = (batch, heads, tokens, tokens)
    q, k, v = (maker.argument(name, *shape) for name in "qkv")
    mask = maker.argument("mask", tokens, tokens)
    scale = maker.step("scale", f"constant dense<{1 / math.sqrt(size):.7f}>", ())
    text = "transpose {} permutation [0, 1, 3, 2]"
    keys = maker.step("keys", text, (batch, heads, size, tokens), k)
    products = maker.step("products", "matmul {}, {}", square, q, keys)
    scaled = maker.step("scaled", "mul {}, {}", square, products, scale)
    scores = maker.step("scores", "add {}, {}", square, scaled, mask)
    weights = maker.step("weights", "softmax {} axis 3", square, scores)
    y = maker.step("y", "matmul {}, {}", shape, weights, v)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return functional.scaled_dot_product_attention(
            given["q"], given["k"], given["v"], given["mask"]
        )

    return Variant(maker.program("attention", y), reference)


def residual_mlp(rows: int, width: int, hidden: int, element: str = "f32") -> Variant:
    """Return two linear layers around SiLU, with a residual connection."""
    maker = Maker(element)
    x = maker.argument("x", rows, width)
    w1 = maker.weight("w1", width, hidden, fan=width)
    b1 = maker.argument("b1", hidden)
    w2 = maker.weight("w2", hidden, width, fan=hidden)
    b2 = maker.argument("b2", width)
    first = maker.step("0", "matmul {}, {}", (rows, hidden), x, w1)
    biased = maker.step("1", "add {}, {}", (rows, hidden), first, b1)
    active = maker.step("2", "silu {}", (rows, hidden), biased)
    second = maker.step("3", "matmul {}, {}", (rows, width), active, w2)
    shifted = maker.step("4", "add {}, {}", (rows, width), second, b2)
    y = maker.step("y", "add {}, {}", (rows, width), x, shifted)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        weights = torch.t(given["w1"]), torch.t(given["w2"])
        hidden_ = functional.linear(given["x"], weights[0], given["b1"])
        silu = functional.silu(hidden_)
        return given["x"] + functional.linear(silu, weights[1], given["b2"])

    return Variant(maker.program("residual_mlp", y), reference)
