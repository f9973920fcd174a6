"""Transformers of text and images, and an MLP-mixer."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_model import Model, Network, T


class Attention(nn.Module):
    """Multi-head attention, written out or by PyTorch's attention function."""

    def __init__(self, width: int, heads: int, is_fused: bool, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.is_fused = is_fused
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)

    def split(self, x: Tensor) -> Tensor:
        """Return the tensor with heads as an axis before the tokens."""
        batch, tokens, width = x.shape
        rows = x.view(batch, tokens, self.heads, width // self.heads)
        return rows.transpose(1, 2)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        query, key, value = (
            self.split(project(x)) for project in (self.query, self.key, self.value)
        )
        if self.is_fused:
            heads = functional.scaled_dot_product_attention(query, key, value, bias)
        else:
            scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
            scores = scores if bias is None else scores + bias
            heads = self.dropout(T.softmax(scores, dim=-1)) @ value
        merged = heads.transpose(1, 2).contiguous().view(x.shape)
        return self.output(merged)


class PreNormLayer(nn.Module):
    """Residual attention and residual MLP, each after a layer norm."""

    def __init__(
        self, width: int, heads: int, is_fused: bool, gelu: str = "tanh"
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, is_fused, 0.1)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width),
            nn.GELU(approximate=gelu),
            nn.Dropout(0.1),
            nn.Linear(4 * width, width),
            nn.Dropout(0.1),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class TransformerLayer(Network):
    """Pre-norm transformer layer on a sequence."""

    def __init__(
        self,
        width: int = 768,
        heads: int = 12,
        tokens: int = 512,
        is_fused: bool = False,
    ) -> None:
        super().__init__()
        self.size = (2, tokens, width)
        self.layer = PreNormLayer(width, heads, is_fused)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(self.size),)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Vit(Network):
    """ViT-B/16: an image split into patches, after a class token."""

    def __init__(
        self,
        width: int = 768,
        heads: int = 12,
        layers: int = 12,
        image: int = 224,
        patch: int = 16,
        classes: int = 1000,
    ) -> None:
        super().__init__()
        self.image = image
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        count = (image // patch) ** 2
        self.token = nn.Parameter(T.zeros(1, 1, width))
        self.positions = nn.Parameter(T.zeros(1, count + 1, width))
        self.layers = nn.Sequential(
            *(PreNormLayer(width, heads, True, "none") for _ in range(layers))
        )
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(2, 3, self.image, self.image),)

    def forward(self, images: Tensor) -> Tensor:
        rows = self.patches(images).flatten(2).transpose(1, 2)
        token = self.token.expand(rows.shape[0], -1, -1)
        x = torch.cat([token, rows], dim=1) + self.positions
        return self.head(self.norm(self.layers(x))[:, 0])


class EncoderLayer(Network):
    """PyTorch's encoder layer, with a mask of the padding."""

    def __init__(self, width: int = 512, heads: int = 8, tokens: int = 512) -> None:
        super().__init__()
        self.size = (2, tokens, width)
        self.layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, batch_first=True
        )

    def example(self) -> tuple[Tensor, ...]:
        lengths = T.tensor([self.size[1], self.size[1] - 2])
        return T.randn(self.size), T.arange(self.size[1]) >= lengths[:, None]

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        return self.layer(x, src_key_padding_mask=padding)


class MixerBlock(Network):
    """A block of MLP-mixer B/16: an MLP over tokens, then one over channels."""

    def __init__(
        self,
        tokens: int = 196,
        width: int = 768,
        tokens_hidden: int = 384,
        width_hidden: int = 3072,
    ) -> None:
        super().__init__()
        self.size = (2, tokens, width)
        self.norm1 = nn.LayerNorm(width)
        self.across = nn.Sequential(
            nn.Linear(tokens, tokens_hidden),
            nn.GELU(),
            nn.Linear(tokens_hidden, tokens),
        )
        self.norm2 = nn.LayerNorm(width)
        self.along = nn.Sequential(
            nn.Linear(width, width_hidden), nn.GELU(), nn.Linear(width_hidden, width)
        )

    def example(self) -> tuple[Tensor, ...]:
        return (T.randn(self.size),)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norm2(x))


_SMALL = {"width": 16, "heads": 2, "tokens": 7}
_TINY = {"width": 8, "tokens": 5}

ATTENTION = [
    Model("transformer layer", TransformerLayer, _SMALL, _TINY),
    Model(
        "transformer layer fused",
        partial(TransformerLayer, is_fused=True),
        _SMALL,
        _TINY,
    ),
    Model("encoder layer", EncoderLayer, _SMALL, _TINY),
    Model(
        "vit",
        Vit,
        {
            "width": 16,
            "heads": 2,
            "layers": 2,
            "image": 12,
            "patch": 4,
            "classes": 10,
        },
        {"width": 8, "layers": 1, "image": 8},
    ),
    Model(
        "mixer block",
        MixerBlock,
        {"tokens": 9, "width": 16, "tokens_hidden": 8, "width_hidden": 32},
        {"tokens": 5, "width": 8, "width_hidden": 12},
    ),
]
