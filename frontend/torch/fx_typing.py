"""Typed wrappers of untyped parts of `torch.fx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

_LIBRARY: Any = torch
OpOverload: type[Any] = getattr(_LIBRARY, "_ops").OpOverload
"""The class of operations such as `torch.ops.aten.add.Tensor`."""


def map_nodes(arguments: Any, function: Callable[[fx.Node], Any]) -> Any:
    """Arguments of a call with what `function` gives for each node in them."""
    library: Any = fx
    return library.node.map_arg(arguments, function)
