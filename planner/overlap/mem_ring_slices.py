"""
Facts of decisions on overlapping iterations, collected from IR: slices of ring buffers
that the operations of a loop access.

The slices of a window in iteration `n` start at `factor * n + constant`, modulo the
slots of the ring.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.memory_effects import VIEW_OPS, ring_window_of
from tlf.dialects import mem
from tlf.dialects.affine_values import affine_sum_over
from tlf.planner.overlap.body_facts import RingSlices
from tlf.support.affine.index_access import AffineSum


def find_buffer_accesses_in_loop(
    buffer: SSAValue, loop: scf.ForOp
) -> Iterator[tuple[Operation, SSAValue]]:
    """
    Yield the operations in a loop that access a buffer, each with the accessed view.
    """
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, VIEW_OPS):
            yield from find_buffer_accesses_in_loop(user.results[0], loop)
        elif loop.is_ancestor(user):
            yield user, buffer


def find_ring_slices_of_view(view: SSAValue, loop: scf.ForOp) -> RingSlices | None:
    """
    Return the slices of a ring that a window view contains in an iteration of a
    normalized loop; None if they are unknown.
    """
    if (owner := ring_window_of(view)) is None:
        return None
    axis = owner.ring_axis
    counter = loop.body.block.args[0]
    start = affine_sum_over(
        owner.mixed_offsets[axis],
        lambda value: AffineSum.of_symbol(value) if value is counter else None,
    )
    if start is None or not _is_whole_ring_or_slot(owner.source):
        return None
    step, extent = sum(factor for _, factor in start.terms), owner.box_sizes[axis]
    return RingSlices((owner.source, axis), start, step, extent, owner.ring_size)


def _is_whole_ring_or_slot(ring: SSAValue) -> bool:
    """Return `True` if a ring is a whole buffer, or a whole slot of a buffer."""
    match ring.owner:
        case mem.AllocOp():
            return True
        case memref.SubviewOp() as subview if isinstance(
            subview.source.owner, mem.AllocOp
        ):
            shape = subview.source.owner.buffer_type.get_shape()
            return tuple(subview.static_sizes.get_values()) == (1, *shape[1:])
        case _:
            return False
