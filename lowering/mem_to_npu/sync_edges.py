"""
Analysis in the NPU code generator: waits between engine streams as synchronisation
edges, and the progress that they imply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.utils.exceptions import PassFailedException

from tlf.lowering.mem_to_npu.instruction_tree import BlockItem, EngineStream

Progress: TypeAlias = dict[EngineStream, int]
"""
Last item that each other stream is known to have completed. Item 0 is the first item of
the current iteration; items of earlier iterations are negative.
"""


@dataclass(frozen=True)
class SyncEdge:
    """A wait of one stream before an item, until another stream completes an item."""

    signalling_stream: EngineStream
    producer_index: int
    waiting_stream: EngineStream
    consumer_index: int
    iterations: int = 0
    """Number of loop iterations between the two items."""
    is_late: bool = False
    """`True` if prefetched instructions of the waiting item do not need the wait."""


def is_ordered_by_engine(stream: EngineStream, waiting_stream: EngineStream) -> bool:
    """Return `True` if one engine executes `stream` before `waiting_stream`."""
    return (
        stream.engine == waiting_stream.engine
        and stream.is_prefetched >= waiting_stream.is_prefetched
    )


def check_prefetch_distance(
    item: BlockItem, stream: EngineStream, waiting_stream: EngineStream, iterations: int
) -> None:
    """
    Raise `PassFailedException` if a prefetched move is issued before an instruction
    that it depends on.
    """
    if not waiting_stream.is_prefetched or stream.is_prefetched:
        return
    op, (leaf,) = item.op, item.leaves[waiting_stream]
    if iterations <= leaf.prefetch_distance:
        message = (
            f"mem.dma: expected a move that can be issued {leaf.prefetch_distance} "
            "iterations ahead, "
            f"got one that depends on an instruction {iterations} iterations earlier"
        )
        op.emit_error(message, PassFailedException(message))


def merge_progress_of_stream(
    progress: Progress, other_progress: Progress, iterations: int, item_count: int = 0
) -> None:
    """
    Merge the progress that another stream knew `iterations` iterations ago, in a block
    of `item_count` items.
    """
    for stream, position in other_progress.items():
        shifted = position - iterations * item_count
        progress[stream] = max(progress.get(stream, shifted), shifted)
