"""
IR utility of the dialects: iterative postorder traversal of the values that a value
depends on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from xdsl.ir import SSAValue

T = TypeVar("T")


def compute_in_postorder(
    value: SSAValue,
    memo: dict[SSAValue, T],
    dependencies_of: Callable[[SSAValue], Iterable[SSAValue]],
    compute: Callable[[SSAValue], T],
) -> T:
    """
    Return a property of a value, with memoization in `memo`. The values that
    `dependencies_of` returns are visited first, in the order of a recursive traversal;
    the traversal is iterative because a program may exceed the recursion limit.
    """
    if value in memo:
        return memo[value]
    pending = [(value, iter(dependencies_of(value)))]
    while pending:
        current, operands = pending[-1]
        missing = next((each for each in operands if each not in memo), None)
        if missing is None:
            memo[current] = compute(current)
            pending.pop()
        else:
            pending.append((missing, iter(dependencies_of(missing))))
    return memo[value]
