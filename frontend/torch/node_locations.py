"""
Import of FX graphs: source locations of nodes, the PyTorch modules that contain them.
"""

from __future__ import annotations

import re
from typing import Any

from torch import fx
from xdsl.dialects.builtin import (
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)

_SUBSCRIPT = re.compile(r"\[['\"]?(\w+)['\"]?\]")


def location_of(node: fx.Node) -> LocationAttr:
    """Return the location of an operation: its innermost module, else its node name."""
    return location_of_path(module_path_of(node) or node.name)


def module_path_of(node: fx.Node) -> str:
    """
    Return the path of the innermost module of an operation, such as `layers.3.attn`;
    empty if there is none.
    """
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    paths = [str(entry[0]) for entry in stack.values()]
    return next(
        (path for each in reversed(paths) if (path := _parse_attribute_path(each))), ""
    )


def location_of_path(path: str) -> LocationAttr:
    """Return the location for a path in a module."""
    return NameLoc(StringAttr(path), NoneAttr())


def _parse_attribute_path(text: str) -> str:
    """
    Return a path of attributes, given `L['self'].layers[3]` or `layers.3` from torch.
    """
    dotted = _SUBSCRIPT.sub(r".\1", text)
    names = [name for name in dotted.split(".") if name and name not in ("L", "self")]
    return ".".join(names)
