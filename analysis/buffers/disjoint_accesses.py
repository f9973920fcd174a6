"""Analysis of a loop: proof that iterations access disjoint boxes of a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.box_disjointness import (
    MAX_ITERATIONS,
    is_disjoint_across_iterations,
)
from tlf.analysis.buffers.index_enumeration import enumerate_index_values
from tlf.analysis.buffers.normalized_loops import loop_ranges_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


def count_disjoint_boxes(
    loop: scf.ForOp, buffer: SSAValue, offsets: Sequence[Index], box: Sequence[int]
) -> int | None:
    """
    Return the number of boxes of a buffer at these offsets over the iterations of a
    loop, if any two iterations provably access disjoint boxes; else None.
    """
    if isinstance(buffer.owner, Operation) and loop.is_ancestor(buffer.owner):
        return None
    (counter,) = loop_ranges_of(loop)
    if (values := counter.values) is None or not 1 < len(values) <= MAX_ITERATIONS:
        return None
    columns = [
        enumerate_index_values(offset, counter.variable, values) for offset in offsets
    ]
    return len(values) if is_disjoint_across_iterations(columns, box) else None


def is_box_private_to_iteration(
    loop: scf.ForOp, load: mem.DmaOp, store: mem.DmaOp
) -> bool:
    """
    Return `True` if a load reads the box that a later store of the same iteration
    writes, and no other iteration accesses this box.
    """
    offsets, block = load.mixed_source_offsets, loop.body.block
    return (
        load.source is store.destination
        and load.parent is store.parent is block
        and load.is_before_in_block(store)
        and offsets == store.mixed_destination_offsets
        and load.box_sizes == store.box_sizes
        and count_disjoint_boxes(loop, load.source, offsets, load.box_sizes) is not None
    )
