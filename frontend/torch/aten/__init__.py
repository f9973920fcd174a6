"""
Import of ATen operations from PyTorch: one module of converters per family of
operations; importing a module registers its converters.
"""

from tlf.frontend.torch.aten import (
    activation,
    arithmetic,
    attention,
    comparison,
    composite_functions,
    convolution,
    creation,
    data_movement,
    diagonals,
    division,
    indexing,
    matrix_products,
    normalization,
    ordering,
    pooling,
    reduction,
    resampling,
    running_extremes,
    signs,
)
from tlf.frontend.torch.registry import CONVERTERS

CONVERTERS.close()

__all__ = [
    "activation",
    "arithmetic",
    "attention",
    "comparison",
    "composite_functions",
    "convolution",
    "creation",
    "data_movement",
    "diagonals",
    "division",
    "indexing",
    "matrix_products",
    "normalization",
    "ordering",
    "pooling",
    "reduction",
    "resampling",
    "running_extremes",
    "signs",
]
