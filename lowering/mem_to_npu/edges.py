"""Synchronisation edges between streams, and the progress that they imply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.utils.exceptions import PassFailedException

from tlf.lowering.mem_to_npu.dependences import Item, Stream

Done: TypeAlias = dict[Stream, int]
"""
For a stream: up to which item every other one is known to be done. Items are counted
from the first one of this iteration on; those of earlier iterations are negative.
"""


@dataclass(frozen=True)
class Edge:
    """
    A stream waits before an item for another stream to be past an item.
    """

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
    return stream.engine == waiting.engine and stream.ahead >= waiting.ahead


def check_ahead(item: Item, stream: Stream, waiting: Stream, iterations: int) -> None:
    """
    Raise `PassFailedException` if a move starts before an instruction that it must
    follow.
    """
    if not waiting.ahead or stream.ahead:
        return
    op, (leaf,) = item.op, item.leaves[waiting]
    if iterations <= leaf.ahead:
        message = (
            f"mem.dma: expected a move that can start {leaf.ahead} iterations ahead, "
            f"got one that follows what is done {iterations} before its own"
        )
        op.emit_error(message, PassFailedException(message))


def merge(done: Done, other: Done, iterations: int, items: int = 0) -> None:
    """
    Add what another stream knew some iterations ago, in a block of so many items.
    """
    for stream, position in other.items():
        moved = position - iterations * items
        done[stream] = max(done.get(stream, moved), moved)
