"""
Cost model of `mem-fold-fills` and `mem-fold-casts`, on its schedule instead of IR:
removal of fills and casts that accumulations make redundant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    Instruction,
    Item,
    Nest,
    has_access_to_buffer,
    instructions_in,
)


def drop_overwritten_fills(items: list[Item]) -> None:
    """
    Drop fills of buffers that an accumulation then overwrites, as `mem-fold-fills`
    does.
    """
    for index, item in reversed(list(enumerate(items))):
        if isinstance(item, Nest):
            drop_overwritten_fills(item.body)
        elif item.is_initial_fill:
            buffer = item.writes[0].buffer
            if _is_overwritten_by_accumulation(items[index + 1 :], buffer):
                del items[index]


def _is_overwritten_by_accumulation(items: Sequence[Item], buffer: Buffer) -> bool:
    """
    Return `True` if the first access of a buffer is an accumulation that overwrites it.
    """
    for item in items:
        if not has_access_to_buffer(item, buffer):
            continue
        if isinstance(item, Nest):
            return item.trip_count > 0 and _is_overwritten_by_accumulation(
                item.body, buffer
            )
        return item.accumulator is buffer and all(
            access.buffer is not buffer for access in item.reads
        )
    return False


def fold_rounding_casts(items: list[Item]) -> None:
    """
    Fold casts that round the results of products into these, as `mem-fold-casts` does.
    """
    used = Counter(
        buffer
        for step in instructions_in(items)
        for buffer in {access.buffer for access in step.reads_and_writes}
    )
    _fold_rounding_casts_in(items, used)


def _fold_rounding_casts_in(
    items: list[Item], access_counts: Mapping[Buffer, int]
) -> None:
    """
    Let products in `items` and in their nests write the destinations of their rounding
    casts, and remove these casts.
    """
    for item in list(items):
        if isinstance(item, Nest):
            _fold_rounding_casts_in(item.body, access_counts)
        elif item.is_product and item.half_type is not None:
            cast = _find_rounding_cast(item, items, access_counts)
            if cast is not None:
                item.writes = cast.writes
                item.accumulator = cast.writes[0].buffer
                items.remove(cast)


def _find_rounding_cast(
    product: Instruction, items: Sequence[Item], access_counts: Mapping[Buffer, int]
) -> Instruction | None:
    """
    Return the cast that rounds the whole result of a product and is its only user;
    `None` if there is none.
    """
    total = product.accumulator
    if total is None or access_counts[total] != 2:
        return None
    if any(access.buffer is total for access in product.reads):
        return None
    following = items[items.index(product) + 1 :]
    for index, item in enumerate(following):
        if not isinstance(item, Instruction) or not has_access_to_buffer(item, total):
            continue
        (written,) = item.writes
        between = instructions_in(following[:index])
        is_free = not any(
            has_access_to_buffer(step, written.buffer) for step in between
        )
        if (
            item.is_product
            or item.half_type != product.half_type
            or written.buffer.slice_count > 1
        ):
            return None
        return (
            item
            if is_free and written.buffer.allocation_nest is total.allocation_nest
            else None
        )
    return None
