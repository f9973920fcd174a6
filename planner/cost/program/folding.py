"""Sums that start and round themselves: steps that the program will not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tlf.planner.cost.program.program import Buffer, Item, Nest, Step, steps_of


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
    """Return `True` if the first access of a buffer is a sum into all of it."""
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


def fold_casts(items: list[Item]) -> None:
    """Let products write what is only rounded then, as `mem-fold-casts` does."""
    used = Counter(
        buffer
        for step in steps_of(items)
        for buffer in {access.buffer for access in step.touched}
    )
    _fold_casts(items, used)


def _fold_casts(items: list[Item], used: Mapping[Buffer, int]) -> None:
    for item in list(items):
        if isinstance(item, Nest):
            _fold_casts(item.body, used)
        elif item.product and item.half is not None:
            cast = _cast_of(item, items, used)
            if cast is not None:
                item.writes = cast.writes
                item.sums = cast.writes[0].buffer
                items.remove(cast)


def _cast_of(
    product: Step, items: Sequence[Item], used: Mapping[Buffer, int]
) -> Step | None:
    """
    Return the cast that rounds all that a product writes and is its only user; `None`
    if there is none.
    """
    total = product.sums
    if total is None or used[total] != 2:
        return None
    if any(access.buffer is total for access in product.reads):
        return None
    behind = items[items.index(product) + 1 :]
    for number, item in enumerate(behind):
        if not isinstance(item, Step) or not _touches(item, total):
            continue
        (written,) = item.writes
        between = steps_of(behind[:number])
        is_free = not any(_touches(step, written.buffer) for step in between)
        if item.product or item.half != product.half or written.buffer.slices > 1:
            return None
        return item if is_free and written.buffer.home is total.home else None
    return None
