"""Simulator: fraction of a run that is done, for an observer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from tlf.runtime.npu.npu_program import Cores, Instruction, Loop

FractionObserver: TypeAlias = Callable[[float], object]
"""Callback for the fraction of a run that is done."""


class RunProgress:
    """
    Fraction of a run that is done: the loops of a program, outside of other loops,
    count alike, and so do the iterations of each.
    """

    def __init__(
        self, body: Sequence[Instruction], observe: FractionObserver | None
    ) -> None:
        self._observe = observe
        self._loop_count = sum(isinstance(op, Loop | Cores) for op in body)
        self._loops_done = 0
        self._is_in_loop = observe is None

    def count_iterations(self, count: int) -> Iterable[int]:
        """Return the numbers of the iterations of a loop, and observe them."""
        return range(count) if self._is_in_loop else self._observe_loop(count)

    def _observe_loop(self, count: int) -> Iterator[int]:
        assert self._observe is not None
        self._is_in_loop = True
        for iteration in range(count):
            done = self._loops_done + iteration / count
            self._observe(min(1.0, done / max(1, self._loop_count)))
            yield iteration
        self._is_in_loop = False
        self._loops_done += 1
