"""Converters of the operations of ATen, by family; an import registers them."""

from tlf.frontend.torch.aten import (
    activation,
    arithmetic,
    attention,
    comparison,
    contraction,
    convolution,
    creation,
    division,
    indexing,
    movement,
    normalization,
    pooling,
    reduction,
    resampling,
)

__all__ = [
    "activation",
    "arithmetic",
    "attention",
    "comparison",
    "contraction",
    "convolution",
    "creation",
    "division",
    "indexing",
    "movement",
    "normalization",
    "pooling",
    "reduction",
    "resampling",
]
