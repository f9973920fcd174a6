"""Part of an imported module, or operation of a graph, that an operation comes from."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, NameLoc
from xdsl.ir import Operation


def part_of(op: Operation) -> str | None:
    """
    The name that the location of `op` has, if it has one: of a module, as
    `layers.3.attn`, or of what is in none, as the graph has it, `softmax`.
    """
    match op.location:
        case NameLoc(desc=desc):
            return desc.data
        case FusedLoc(locations=ArrayAttr() as locations):
            names = [each.desc.data for each in locations if isinstance(each, NameLoc)]
            return ", ".join(dict.fromkeys(names)) or None
        case _:
            return None
