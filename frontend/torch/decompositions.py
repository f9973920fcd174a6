"""Which operations of ATen are taken apart before conversion."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, cast

from torch import _decomp as library

from tlf.frontend.torch import aten as aten
from tlf.frontend.torch.fx_arguments import OpOverload
from tlf.frontend.torch.registry import CONVERTERS

Table = dict[Any, Callable[..., Any]]


@cache
def decompositions() -> Table:
    """
    PyTorch's own decompositions of all operations that have one and no converter: those
    of core ATen, then any other.
    """
    source = cast(Any, library)
    core: Table = dict(source.core_aten_decompositions())
    others: Table = source.decomposition_table
    table = {**others, **core}
    return {
        target: function
        for target, function in table.items()
        if target not in CONVERTERS and isinstance(target, OpOverload)
    }
