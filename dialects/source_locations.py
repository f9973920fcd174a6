"""
IR utility of the dialects: query for source locations of operations, as file, line and
column.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Operation


def nearest_location_of(op: Operation) -> FileLineColLoc | None:
    """
    Return the source location of `op` or of its nearest ancestor with one; `None` if
    there is none.
    """
    current: Operation | None = op
    while current is not None:
        if (location := own_location_of(current)) is not None:
            return location
        current = current.parent_op()
    return None


def own_location_of(op: Operation) -> FileLineColLoc | None:
    """Return the source location of `op` itself, or `None`."""
    return _find_file_location(op.location)


def _find_file_location(location: Attribute) -> FileLineColLoc | None:
    """
    Return the first file location nested in `location`, callee before caller, or
    `None`.
    """
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
    return next(filter(None, map(_find_file_location, parts)), None)
