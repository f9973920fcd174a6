"""Synchronisation edges between engine streams, and the progress they imply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.utils.exceptions import PassFailedException

from tlf.lowering.mem_to_npu.instruction_tree import BlockItem, Stream

Progress: TypeAlias = dict[Stream, int]
"""
For a stream: up to which item every other one is known to be done. Items are counted
from the first one of this iteration on; those of earlier iterations are negative.
"""


@dataclass(frozen=True)
class SyncEdge:
    """A wait of one stream, before an item, for another stream to pass an item."""

    stream: Stream
    after: int
    waiting: Stream
    before: int
    iterations: int = 0
    """Number of iterations of the loop between the two items."""
    late: bool = False
    """
    True if instructions that a loop issues ahead need not wait with the rest of it.
    """


def is_ordered(stream: Stream, waiting: Stream) -> bool:
    """Return `True` if one engine runs both streams, in this order."""
    return (
        stream.engine == waiting.engine
        and stream.is_prefetched >= waiting.is_prefetched
    )


def check_prefetch_distance(
    item: BlockItem, stream: Stream, waiting: Stream, iterations: int
) -> None:
    """
    Raise `PassFailedException` if a move starts before an instruction that it must
    follow.
    """
    if not waiting.is_prefetched or stream.is_prefetched:
        return
    op, (leaf,) = item.op, item.leaves[waiting]
    if iterations <= leaf.prefetch_distance:
        message = (
            f"mem.dma: expected a move that can start {leaf.prefetch_distance} "
            "iterations ahead, "
            f"got one that follows what is done {iterations} before its own"
        )
        op.emit_error(message, PassFailedException(message))


def merge_progress(
    done: Progress, other: Progress, iterations: int, items: int = 0
) -> None:
    """
    Add what another stream knew some iterations ago, in a block of so many items.
    """
    for stream, position in other.items():
        moved = position - iterations * items
        done[stream] = max(done.get(stream, moved), moved)
