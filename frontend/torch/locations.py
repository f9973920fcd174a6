"""Where in a module an operation comes from, as a location of the program."""

from __future__ import annotations

import re
from typing import Any

from xdsl.dialects.builtin import (
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)

_SUBSCRIPT = re.compile(r"\[['\"]?(\w+)['\"]?\]")


def location_of(meta: dict[str, Any]) -> LocationAttr:
    """The innermost module around an operation, as `layers.3.attn`."""
    stack: dict[str, Any] = meta.get("nn_module_stack") or {}
    paths = [str(entry[0]) for entry in stack.values()]
    path = next((path for each in reversed(paths) if (path := _path(each))), "")
    return named(path) if path else UnknownLoc()


def named(path: str) -> LocationAttr:
    """The place of a part of a module."""
    return NameLoc(StringAttr(path), NoneAttr())


def _path(text: str) -> str:
    """A path of attributes: torch writes `L['self'].layers[3]`, or `layers.3`."""
    dotted = _SUBSCRIPT.sub(r".\1", text)
    names = [name for name in dotted.split(".") if name and name not in ("L", "self")]
    return ".".join(names)
