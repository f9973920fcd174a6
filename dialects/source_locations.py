"""Source locations of operations: file, line and column."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Operation


def location_of(op: Operation) -> FileLineColLoc | None:
    """
    Return the source location of `op` or of the nearest operation around it, if known.
    """
    at: Operation | None = op
    while at is not None:
        if (found := own_location_of(at)) is not None:
            return found
        at = at.parent_op()
    return None


def own_location_of(op: Operation) -> FileLineColLoc | None:
    """Return the source location of `op` itself, if known."""
    return _file_location(op.location)


def _file_location(location: Attribute) -> FileLineColLoc | None:
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
    return next(filter(None, map(_file_location, parts)), None)
