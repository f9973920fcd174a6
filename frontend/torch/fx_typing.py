"""Import of FX graphs: typed wrappers of untyped parts of `torch.fx`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import fx

_LIBRARY: Any = torch
OpOverload: type[Any] = getattr(_LIBRARY, "_ops").OpOverload
"""Class of operations such as `torch.ops.aten.add.Tensor`."""


def map_nodes_in_arguments(arguments: Any, function: Callable[[fx.Node], Any]) -> Any:
    """Return the arguments of a call with `function` applied to each node in them."""
    library: Any = fx
    return library.node.map_arg(arguments, function)
