"""Which part of an imported module, or operation of a graph, an operation is of."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, NameLoc
from xdsl.ir import Operation


def part_of(op: Operation) -> str | None:
    """The name that the location of `op` has, as `layers.3.attn`, if it has one."""
    match op.location:
        case NameLoc(desc=desc):
            return desc.data
        case FusedLoc(locations=ArrayAttr() as locations):
            names = [each.desc.data for each in locations if isinstance(each, NameLoc)]
            return ", ".join(dict.fromkeys(names)) or None
        case _:
            return None
