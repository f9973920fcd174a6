"""Propagate source locations to bufferised operations."""

from __future__ import annotations

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Operation


def propagate_location(source: Operation, made: Operation | None) -> None:
    """Copy the location of `source` to `made` and to all operations after it."""
    while made is not None:
        for inner in made.walk():
            if isinstance(inner.location, UnknownLoc):
                inner.location = source.location
        made = made.next_op
