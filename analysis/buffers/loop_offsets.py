"""Analysis of the offsets of moves in the iterations of the loops around them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.index_enumeration import enumerate_index_values
from tlf.analysis.buffers.normalized_loops import LoopRange, loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


def advancing_chunks_of_move(
    loop: scf.ForOp, move: mem.DmaOp, offsets: Sequence[Index]
) -> tuple[int, list[int]] | None:
    """
    Return the axis along which a move in the body of a loop advances in chunks, and the
    start of the chunk of each iteration, on the side with these offsets; None if
    several axes advance or the starts are unknown.
    """
    (counter,) = loop_ranges_of(loop)
    if move.parent is not loop.body.block or not counter.values:
        return None
    columns = [enumerate_offsets(each, counter) for each in offsets]
    varying_axes = [
        axis for axis, each in enumerate(columns) if each is None or len(set(each)) > 1
    ]
    if len(varying_axes) != 1 or (starts := columns[varying_axes[0]]) is None:
        return None
    return varying_axes[0], starts


def enumerate_offsets(offset: Index, loop_range: LoopRange) -> list[int] | None:
    """
    Return the value of an offset in each iteration; None if it depends on anything
    else.
    """
    if (values := loop_range.values) is None:
        return None
    return enumerate_index_values(offset, loop_range.variable, values)


def loops_between(op: Operation, enclosing_op: Operation) -> list[LoopRange]:
    """
    Return the loops around an operation up to `enclosing_op`, outermost first; empty if
    another operation is between.
    """
    loops: list[LoopRange] = []
    parent = op.parent_op()
    while parent is not None and (ranges := loop_ranges_of(parent)):
        loops = [*ranges, *loops]
        if parent is enclosing_op:
            return loops
        parent = parent.parent_op()
    return []


def for_op_of(loop_range: LoopRange) -> scf.ForOp:
    """Return the `scf.for` of a loop range, which must not be of a parallel loop."""
    block = loop_range.variable.owner
    assert isinstance(block, Block)
    loop = block.parent_op()
    assert isinstance(loop, scf.ForOp)
    return loop
