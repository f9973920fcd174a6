"""Larger programs of `examples/` as functions of their sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import torch
from example_variants import Maker, Variant
from graph_program import Value
from torch import Tensor
from torch.nn import functional

EPSILON = "epsilon 1.0e-05"
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


@dataclass(frozen=True)
class LayerSizes:
    """Sizes of a transformer layer."""

    batch: int = 2
    tokens: int = 100
    heads: int = 4
    size: int = 48
    """Elements of one head."""
    hidden: int = 768

    @property
    def model(self) -> int:
        """Elements of one token."""
        return self.heads * self.size


class LayerMaker(Maker):
    """Builder of the parts of a transformer layer."""

    def __init__(self, sizes: LayerSizes, element: str) -> None:
        super().__init__(element)
        self.sizes = sizes
        model, hidden = sizes.model, sizes.hidden
        self.shape = (sizes.batch, sizes.tokens, model)
        self.given = {"x": self.argument("x", *self.shape)}
        extents = {f"_{name}": (model, model) for name in "qkvo"}
        extents |= {"1": (model, hidden), "2": (hidden, model)}
        for name, (inputs, outputs) in extents.items():
            for value in (
                self.weight(f"w{name}", inputs, outputs, fan=inputs),
                self.weight(f"b{name}", outputs, fan=inputs),
            ):
                self.given[value.name] = value
        for name in ("gamma1", "beta1", "gamma2", "beta2"):
            self.given[name] = self.argument(name, model, parameter=True)

    def norm(self, name: str, x: Value, which: int) -> Value:
        """Add a layer norm."""
        weight, bias = self.given[f"gamma{which}"], self.given[f"beta{which}"]
        text = f"layer_norm {{}} weight {{}} bias {{}} {EPSILON}"
        return self.step(name, text, x.shape, x, weight, bias)

    def linear(self, name: str, x: Value, which: str) -> Value:
        """Add a linear layer."""
        weight, bias = self.given[f"w{which}"], self.given[f"b{which}"]
        shape = (*x.shape[:-1], weight.shape[1])
        product = self.step(f"{name}_0", "matmul {}, {}", shape, x, weight)
        return self.step(name, "add {}, {}", shape, product, bias)

    def heads(self, name: str, x: Value, order: tuple[int, ...]) -> Value:
        """Add a linear layer, and split its result into heads with permuted axes."""
        flat = self.linear(name, x, f"_{name}")
        sizes = self.sizes
        shape = (sizes.batch, sizes.tokens, sizes.heads, sizes.size)
        split = self.step(f"{name}_split", "reshape {}", shape, flat)
        text = f"transpose {{}} permutation {list(order)}"
        permuted_shape = tuple(shape[axis] for axis in order)
        return self.step(f"{name}_heads", text, permuted_shape, split)

    def attention(self, norm: Value) -> Value:
        """Add attention of all heads, and the output projection."""
        sizes = self.sizes
        queries = self.heads("q", norm, (0, 2, 1, 3))
        keys = self.heads("k", norm, (0, 2, 3, 1))
        values = self.heads("v", norm, (0, 2, 1, 3))
        scores = (sizes.batch, sizes.heads, sizes.tokens, sizes.tokens)
        products = self.step("products", "matmul {}, {}", scores, queries, keys)
        number = f"constant dense<{math.sqrt(sizes.size):.8f}>"
        root = self.step("root", number, ())
        scaled = self.step("scores", "div {}, {}", scores, products, root)
        weights = self.step("weights", "softmax {} axis 3", scores, scaled)
        mixed = self.step("mixed", "matmul {}, {}", values.shape, weights, values)
        shape = (sizes.batch, sizes.tokens, sizes.heads, sizes.size)
        text = "transpose {} permutation [0, 2, 1, 3]"
        merged = self.step("merged", text, shape, mixed)
        flat = self.step("concat", "reshape {}", self.shape, merged)
        return self.linear("projected", flat, "_o")


def transformer_layer(
    sizes: LayerSizes, element: str = "f32", tiled: tuple[int, ...] = ()
) -> Variant:
    """Return a layer of a transformer encoder with pre-normalisation."""
    maker = LayerMaker(sizes, element)
    x = maker.given["x"]
    projected = maker.attention(maker.norm("norm", x, 1))
    text = "dropout {} ratio 0.1"
    dropped = maker.step("dropped", text, x.shape, projected)
    attended = maker.step("attended", "add {}, {}", x.shape, x, dropped)
    hidden = maker.linear("hidden", maker.norm("norm2", attended, 2), "1")
    active = maker.step("active", "gelu {} <erf>", hidden.shape, hidden)
    output = maker.linear("output", active, "2")
    y = maker.step("y", "add {}, {}", x.shape, attended, output)
    root = float(DTYPES[element](math.sqrt(sizes.size)))

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return _transformer(given, sizes, root)

    return Variant(maker.program("transformer_layer", y), reference, tiled)


def _transformer(given: Mapping[str, Tensor], sizes: LayerSizes, root: float) -> Tensor:
    def linear(value: Tensor, which: str) -> Tensor:
        weight = torch.t(given[f"w{which}"])
        return functional.linear(value, weight, given[f"b{which}"])

    def norm(value: Tensor, which: int) -> Tensor:
        weight, bias = given[f"gamma{which}"], given[f"beta{which}"]
        return functional.layer_norm(value, weight.shape, weight, bias, 1e-5)

    def heads(value: Tensor) -> Tensor:
        shape = (sizes.batch, sizes.tokens, sizes.heads, sizes.size)
        return torch.permute(torch.reshape(value, shape), (0, 2, 1, 3))

    x = given["x"]
    normed = norm(x, 1)
    queries, keys, values = (heads(linear(normed, f"_{which}")) for which in "qkv")
    mixed = functional.scaled_dot_product_attention(
        queries, keys, values, scale=1 / root
    )
    flat = torch.reshape(torch.permute(mixed, (0, 2, 1, 3)), x.shape)
    attended = x + linear(flat, "_o")
    active = functional.gelu(linear(norm(attended, 2), "1"))
    return attended + linear(active, "2")


@dataclass(frozen=True)
class BlockSizes:
    """Sizes of a bottleneck block."""

    batch: int = 2
    channels: int = 64
    middle: int = 16
    height: int = 30
    width: int = 28
    groups: int = 1
    """Groups of the 3x3 convolution."""
    dilation: int = 1
    """Dilation of the 3x3 convolution."""


class BlockMaker(Maker):
    """Builder of the parts of a bottleneck block."""

    def __init__(self, sizes: BlockSizes, element: str) -> None:
        super().__init__(element)
        channel_count, middle = sizes.channels, sizes.middle
        self.outputs = {1: middle, 2: middle, 3: channel_count}
        inputs = {1: (channel_count, 1), 2: (middle // sizes.groups, 3), 3: (middle, 1)}
        image = (sizes.batch, channel_count, sizes.height, sizes.width)
        self.given = {"x": self.argument("x", *image)}
        for layer, (channels, taps) in inputs.items():
            shape = (self.outputs[layer], channels, taps, taps)
            fan = channels * taps * taps
            self._keep(self.weight(f"w{layer}", *shape, fan=fan))
        for layer, outputs in self.outputs.items():
            for name in ("mean", "variance", "gamma", "beta"):
                low, high = (0.5, 1.5) if name == "variance" else (-1.0, 1.0)
                self._keep(
                    self.argument(
                        f"{name}{layer}", outputs, low=low, high=high, parameter=True
                    )
                )

    def _keep(self, value: Value) -> None:
        self.given[value.name] = value

    def layer(self, layer: int, x: Value, options: str = "") -> Value:
        """Add a convolution that preserves the image size, and its batch norm."""
        shape = (x.shape[0], self.outputs[layer], *x.shape[2:])
        weight = self.given[f"w{layer}"]
        text = f"conv2d {{}}, {{}}{options}"
        image = self.step(f"conv{layer}", text, shape, x, weight)
        text = (
            f"batch_norm {{}} mean {{}} variance {{}} weight {{}} bias {{}} {EPSILON}"
        )
        names = ("mean", "variance", "gamma", "beta")
        parameters = (self.given[f"{name}{layer}"] for name in names)
        return self.step(f"norm{layer}", text, shape, image, *parameters)


def bottleneck(
    sizes: BlockSizes, element: str = "f32", tiled: tuple[int, ...] = ()
) -> Variant:
    """Return the bottleneck block of a residual network."""
    maker = BlockMaker(sizes, element)
    x = maker.given["x"]
    norm = maker.layer(1, x)
    relu = maker.step("relu1", "relu {}", norm.shape, norm)
    options = f" padding {[sizes.dilation] * 4}"
    if sizes.dilation > 1:
        options += f" dilation {[sizes.dilation] * 2}"
    if sizes.groups > 1:
        options += f" groups {sizes.groups}"
    norm = maker.layer(2, relu, options)
    relu = maker.step("relu2", "relu {}", norm.shape, norm)
    norm = maker.layer(3, relu)
    total = maker.step("sum", "add {}, {}", x.shape, norm, x)
    y = maker.step("y", "relu {}", x.shape, total)

    def reference(given: Mapping[str, Tensor]) -> Tensor:
        return _bottleneck(given, sizes)

    return Variant(maker.program("bottleneck", y), reference, tiled)


def _bottleneck(given: Mapping[str, Tensor], sizes: BlockSizes) -> Tensor:
    def layer(value: Tensor, which: int, dilation: int = 1, groups: int = 1) -> Tensor:
        weight = given[f"w{which}"]
        padding = dilation * (weight.shape[2] // 2)
        image = functional.conv2d(
            value, weight, padding=padding, dilation=dilation, groups=groups
        )
        mean, variance, gamma, beta = (
            given[f"{name}{which}"] for name in ("mean", "variance", "gamma", "beta")
        )
        return functional.batch_norm(image, mean, variance, gamma, beta, eps=1e-5)

    value = torch.relu(layer(given["x"], 1))
    value = torch.relu(layer(value, 2, sizes.dilation, sizes.groups))
    return torch.relu(layer(value, 3) + given["x"])
