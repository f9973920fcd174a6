"""Source location of an operation."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Operation


def place_of(op: Operation) -> FileLineColLoc | None:
    """
    Return the source location of `op` or of the nearest operation around it, if known.
    """
    at: Operation | None = op
    while at is not None:
        if (found := own_place_of(at)) is not None:
            return found
        at = at.parent_op()
    return None


def own_place_of(op: Operation) -> FileLineColLoc | None:
    """Return the source location of `op` itself, if known."""
    return _place(op.location)


def _place(location: Attribute) -> FileLineColLoc | None:
    """The first place in a file that `location` is made of."""
    match location:
        case FileLineColLoc():
            return location
        case CallSiteLoc():
            parts = (location.callee, location.caller)
        case NameLoc():
            parts = (location.location,)
        case FusedLoc(locations=ArrayAttr() as locations):
            parts = locations.data
        case _:
            return None
    return next(filter(None, map(_place, parts)), None)
