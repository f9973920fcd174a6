"""Sums that start themselves: fills that the program will not have."""

from __future__ import annotations

from collections.abc import Sequence

from tlf.passes.cost.schedule.program import Buffer, Item, Nest, Step, steps_of


def fold_fills(items: list[Item]) -> None:
    """Drop the fills of what a sum then overwrites, as `mem-fold-fills` does."""
    for number, item in reversed(list(enumerate(items))):
        if isinstance(item, Nest):
            fold_fills(item.body)
        elif item.fills:
            buffer = item.writes[0].buffer
            if _first_sums(items[number + 1 :], buffer):
                del items[number]


def _first_sums(items: Sequence[Item], buffer: Buffer) -> bool:
    """Whether a sum into all of a buffer is what touches it first."""
    for item in items:
        if not any(_touches(step, buffer) for step in steps_of([item])):
            continue
        if isinstance(item, Nest):
            return item.trips > 0 and _first_sums(item.body, buffer)
        return item.sums is buffer and all(
            access.buffer is not buffer for access in item.reads
        )
    return False


def _touches(step: Step, buffer: Buffer) -> bool:
    return any(access.buffer is buffer for access in step.touched)
