"""
Synchronisation edges of the NPU code generator: waits between engine streams, and the
progress that they imply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.utils.exceptions import PassFailedException

from tlf.lowering.mem_to_npu.instruction_tree import BlockItem, Stream

Progress: TypeAlias = dict[Stream, int]
"""
Last item that each other stream is known to have completed. Item 0 is the first item of
the current iteration; items of earlier iterations are negative.
"""


@dataclass(frozen=True)
class SyncEdge:
    """A wait of one stream before an item, until another stream completes an item."""

    stream: Stream
    after: int
    waiting: Stream
    before: int
    iterations: int = 0
    """Number of loop iterations between the two items."""
    late: bool = False
    """`True` if prefetched instructions of the waiting item do not need the wait."""


def is_ordered(stream: Stream, waiting: Stream) -> bool:
    """Return `True` if one engine executes `stream` before `waiting`."""
    return (
        stream.engine == waiting.engine
        and stream.is_prefetched >= waiting.is_prefetched
    )


def check_prefetch_distance(
    item: BlockItem, stream: Stream, waiting: Stream, iterations: int
) -> None:
    """
    Raise `PassFailedException` if a prefetched move is issued before an instruction
    that it depends on.
    """
    if not waiting.is_prefetched or stream.is_prefetched:
        return
    op, (leaf,) = item.op, item.leaves[waiting]
    if iterations <= leaf.prefetch_distance:
        message = (
            f"{op.name}: expected a move that can be issued {leaf.prefetch_distance} "
            "iterations ahead, "
            f"got one that depends on an instruction {iterations} iterations earlier"
        )
        op.emit_error(message, PassFailedException(message))


def merge_progress(
    done: Progress, other: Progress, iterations: int, items: int = 0
) -> None:
    """
    Merge the progress that another stream knew `iterations` iterations ago, in a block
    of `items` items.
    """
    for stream, position in other.items():
        shifted = position - iterations * items
        done[stream] = max(done.get(stream, shifted), shifted)
