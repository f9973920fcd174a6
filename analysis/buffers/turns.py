"""
Boxes of a buffer that the iterations of a loop take in turn, no two of them the same
element: what one iteration does to its box stands against nothing of the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.columns import column, counts_of
from tlf.analysis.buffers.turns_analysis import MOST, are_in_turn
from tlf.dialects import mem
from tlf.dialects.mem import Index


def turns(
    loop: scf.ForOp, buffer: SSAValue, offsets: Sequence[Index], box: Sequence[int]
) -> int | None:
    """
    Return the number of boxes of a buffer at these offsets over the iterations of a
    loop, if any two iterations are known to access disjoint boxes; else None.
    """
    if isinstance(buffer.owner, Operation) and loop.is_ancestor(buffer.owner):
        return None
    if (counts := counts_of(loop)) is None or not 1 < len(counts) <= MOST:
        return None
    counter = loop.body.block.args[0]
    columns = [column(offset, counter, counts) for offset in offsets]
    return len(counts) if are_in_turn(columns, box) else None


def take_turns(loop: scf.ForOp, load: mem.DmaOp, store: mem.DmaOp) -> bool:
    """
    Return `True` if a load reads the box that a later store of the same iteration
    writes, and no other iteration accesses it.
    """
    offsets, block = load.mixed_source_offsets, loop.body.block
    return (
        load.source is store.destination
        and load.parent is store.parent is block
        and load.is_before_in_block(store)
        and offsets == store.mixed_destination_offsets
        and load.box == store.box
        and turns(loop, load.source, offsets, load.box) is not None
    )
