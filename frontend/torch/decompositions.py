"""Which operations of ATen are taken apart before conversion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from torch import _decomp as library

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.embedding_bag import EMBEDDING_BAGS
from tlf.frontend.torch.fused_layers import FUSED_LAYERS
from tlf.frontend.torch.fx_arguments import OpOverload
from tlf.frontend.torch.registry import CONVERTERS, overload

Table = dict[Any, Callable[..., Any]]

_KEPT = frozenset([overload("lift.default"), overload("lift_fresh.default")])
"""What makes a tensor that a graph holds one that is traced: PyTorch looks for it."""


@cache
def decompositions() -> Table:
    """
    PyTorch's own decompositions of all operations that have one and no converter: those
    of core ATen, then any other; and those of layers and of bags.
    """
    source = cast(Any, library)
    core: Table = dict(source.core_aten_decompositions())
    others: Table = source.decomposition_table
    table = {**others, **core, **FUSED_LAYERS, **EMBEDDING_BAGS}
    return {
        target: function
        for target, function in table.items()
        if target not in CONVERTERS
        and isinstance(target, OpOverload)
        and target not in _KEPT
    }
