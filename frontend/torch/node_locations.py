"""Source locations of FX nodes: the PyTorch modules that they come from."""

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
    """The module around an operation, else what its graph calls it."""
    return name_location(module_path_of(node) or node.name)


def module_path_of(node: fx.Node) -> str:
    """The innermost module around an operation, as `layers.3.attn`, if any."""
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    paths = [str(entry[0]) for entry in stack.values()]
    return next(
        (path for each in reversed(paths) if (path := _attribute_path(each))), ""
    )


def name_location(path: str) -> LocationAttr:
    """The place of a part of a module."""
    return NameLoc(StringAttr(path), NoneAttr())


def _attribute_path(text: str) -> str:
    """A path of attributes: torch writes `L['self'].layers[3]`, or `layers.3`."""
    dotted = _SUBSCRIPT.sub(r".\1", text)
    names = [name for name in dotted.split(".") if name and name not in ("L", "self")]
    return ".".join(names)
