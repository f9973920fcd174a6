"""Telling of values what follows from others that they are computed from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from xdsl.ir import SSAValue

T = TypeVar("T")


def in_postorder(
    value: SSAValue,
    known: dict[SSAValue, T],
    needed: Callable[[SSAValue], Iterable[SSAValue]],
    tell: Callable[[SSAValue], T],
) -> T:
    """
    What is told of a value, and is `known` from then on. Values that are `needed` for
    that come first, in the order in which a function that calls itself would come to
    them: programs may be longer than calls may be deep.
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
