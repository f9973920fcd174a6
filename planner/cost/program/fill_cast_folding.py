"""
Folding, in the cost model's schedule, of fills and casts that accumulations make
redundant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    Instruction,
    Item,
    Nest,
    has_access_to,
    instructions_in,
)


def fold_fills(items: list[Item]) -> None:
    """
    Drop fills of buffers that an accumulation then overwrites, as `mem-fold-fills`
    does.
    """
    for index, item in reversed(list(enumerate(items))):
        if isinstance(item, Nest):
            fold_fills(item.body)
        elif item.fills:
            buffer = item.writes[0].buffer
            if _is_first_overwritten(items[index + 1 :], buffer):
                del items[index]


def _is_first_overwritten(items: Sequence[Item], buffer: Buffer) -> bool:
    """
    Return `True` if the first access of a buffer is an accumulation that overwrites it.
    """
    for item in items:
        if not has_access_to(item, buffer):
            continue
        if isinstance(item, Nest):
            return item.trips > 0 and _is_first_overwritten(item.body, buffer)
        return item.sums is buffer and all(
            access.buffer is not buffer for access in item.reads
        )
    return False


def fold_casts(items: list[Item]) -> None:
    """
    Fold casts that round the results of products into these, as `mem-fold-casts` does.
    """
    used = Counter(
        buffer
        for step in instructions_in(items)
        for buffer in {access.buffer for access in step.reads_and_writes}
    )
    _fold_casts_in(items, used)


def _fold_casts_in(items: list[Item], used: Mapping[Buffer, int]) -> None:
    for item in list(items):
        if isinstance(item, Nest):
            _fold_casts_in(item.body, used)
        elif item.product and item.half is not None:
            cast = _find_cast(item, items, used)
            if cast is not None:
                item.writes = cast.writes
                item.sums = cast.writes[0].buffer
                items.remove(cast)


def _find_cast(
    product: Instruction, items: Sequence[Item], used: Mapping[Buffer, int]
) -> Instruction | None:
    """
    Return the cast that rounds the whole result of a product and is its only user;
    `None` if there is none.
    """
    total = product.sums
    if total is None or used[total] != 2:
        return None
    if any(access.buffer is total for access in product.reads):
        return None
    following = items[items.index(product) + 1 :]
    for index, item in enumerate(following):
        if not isinstance(item, Instruction) or not has_access_to(item, total):
            continue
        (written,) = item.writes
        between = instructions_in(following[:index])
        is_free = not any(has_access_to(step, written.buffer) for step in between)
        if item.product or item.half != product.half or written.buffer.slices > 1:
            return None
        return item if is_free and written.buffer.home is total.home else None
    return None
