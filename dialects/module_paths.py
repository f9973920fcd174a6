"""
IR utility of the dialects: query for names of source modules in the locations of
operations.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, FusedLoc, NameLoc
from xdsl.ir import Operation


def module_path_of(op: Operation) -> str | None:
    """Return the module path that the location of `op` names, if any."""
    match op.location:
        case NameLoc(desc=desc):
            return desc.data
        case FusedLoc(locations=ArrayAttr() as locations):
            names = [each.desc.data for each in locations if isinstance(each, NameLoc)]
            return ", ".join(dict.fromkeys(names)) or None
        case _:
            return None
