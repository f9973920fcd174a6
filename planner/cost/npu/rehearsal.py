"""
The time of a whole program by the event model, from a copy of it that was lowered.

Passes do not know the ways down. Whoever does offers to rehearse programs, and passes
that have several ways to go on can ask which is the fastest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import Target


class Rehearsal(Protocol):
    """
    Tells times on one target; what it learned of one program helps with the next. The
    instructions that it runs for all are limited, not its time, so that every machine
    tells the same.
    """

    def cycles(self, module: ModuleOp) -> int | None:
        """
        What a program of groups will take, which is used up. None where it cannot be
        lowered, or its time cannot be told.
        """
        ...

    def grouped_cycles(self, module: ModuleOp) -> int | None:
        """The same of a program of groups for the nearest memory, without plans."""
        ...

    def tiled_cycles(self, module: ModuleOp) -> int | None:
        """The same of a program whose groups have plans for the nearest memory."""
        ...


Rehearse: TypeAlias = "Callable[[Target, int], Rehearsal]"

_offered: list[Rehearse] = []


def offer(rehearse: Rehearse) -> None:
    """Make rehearsals known to passes."""
    _offered[:] = [rehearse]


def rehearsal_on(target: Target, steps: int) -> Rehearsal | None:
    """
    A rehearsal on a target that runs so many instructions at most, or None where nobody
    offered one.
    """
    return _offered[0](target, steps) if _offered else None
