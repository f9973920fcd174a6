"""Iterative postorder traversal of the values that a value depends on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from xdsl.ir import SSAValue

T = TypeVar("T")


def compute_in_postorder(
    value: SSAValue,
    known: dict[SSAValue, T],
    needed: Callable[[SSAValue], Iterable[SSAValue]],
    tell: Callable[[SSAValue], T],
) -> T:
    """
    Return a property of a value, computed first for what the value depends on. Values
    that are `needed` for it are visited first, in the order in which a recursive
    function would visit them: programs may be longer than calls may be deep.
    """
    if value in known:
        return known[value]
    pending = [(value, iter(needed(value)))]
    while pending:
        current, others = pending[-1]
        unknown = next((each for each in others if each not in known), None)
        if unknown is None:
            known[current] = tell(current)
            pending.pop()
        else:
            pending.append((unknown, iter(needed(unknown))))
    return known[value]
