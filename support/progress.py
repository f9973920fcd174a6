"""
Progress of a computation, without IR: its current steps, as the computation reports
them and a display reads them.

Reports have no effect, and next to no cost, unless someone collects them. They never
change what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


@dataclass
class ProgressStep:
    """A step of a computation, which may have steps itself."""

    name: str
    number: int | None = None
    """Number of the step among those of the enclosing one, from 1, if known."""
    count: int | None = None
    """Number of steps of the enclosing one, if known."""
    start: float = field(default_factory=monotonic)
    """Time at which the step began, in seconds."""
    fraction: float | None = None
    """Fraction of the step that is done, if known."""

    def set_fraction(self, fraction: float) -> None:
        """Set the fraction of the step that is done."""
        self.fraction = fraction


_CURRENT: ContextVar[list[ProgressStep] | None] = ContextVar(
    "current steps", default=None
)
"""The current steps, outermost first; none if nobody collects them."""


@contextmanager
def collect_steps() -> Generator[Sequence[ProgressStep]]:
    """
    Yield the current steps, outermost first, which change while the block runs. Another
    thread may read them.
    """
    steps: list[ProgressStep] = []
    token = _CURRENT.set(steps)
    try:
        yield steps
    finally:
        _CURRENT.reset(token)


def are_steps_collected() -> bool:
    """Return `True` if someone collects the current steps."""
    return _CURRENT.get() is not None


def report_step(
    name: str, number: int | None = None, count: int | None = None
) -> AbstractContextManager[None]:
    """Report that the block is a step, of the given number among `count`."""
    steps = _CURRENT.get()
    if steps is None:
        return nullcontext()
    return _collect_step(steps, ProgressStep(name, number, count))


@contextmanager
def _collect_step(steps: list[ProgressStep], step: ProgressStep) -> Generator[None]:
    """Let a step be among the current ones during the block."""
    steps.append(step)
    try:
        yield
    finally:
        steps.pop()


def report_iterations(items: Sequence[T]) -> Iterable[T]:
    """
    Return `items`, whose iteration reports the fraction of the current step that is
    done; not if the step has reported one already, such as by an enclosing loop.
    """
    steps = _CURRENT.get()
    if not steps or steps[-1].fraction is not None:
        return items
    return _iterate(items, steps[-1])


def _iterate(items: Sequence[T], step: ProgressStep) -> Iterator[T]:
    try:
        for done, item in enumerate(items):
            step.fraction = done / len(items)
            yield item
    finally:
        step.fraction = None


def fraction_reporter() -> Callable[[float], object] | None:
    """
    Return a function that reports the fraction of the current step that is done, for
    code that cannot import this module; `None` if nobody collects the steps.
    """
    steps = _CURRENT.get()
    return steps[-1].set_fraction if steps else None
