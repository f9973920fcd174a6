"""
Legality check of the pass `mem-pipeline`: disjointness of ring buffer windows across
iterations, for prefetching into rings.

The slices of a window in iteration `n` start at `factor * n + constant`, modulo the
slots of the ring. A move with a prefetch distance of `k` iterations writes its slices
while the previous `k` iterations may still read theirs, and before the operations that
precede it in its own iteration. Its slices must be disjoint from all of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.memory_effects import VIEW_OPS, ring_window_of, root_buffer_of
from tlf.dialects import mem
from tlf.dialects.affine_values import affine_sum_over
from tlf.support.affine.index_access import AffineSum


@dataclass(frozen=True)
class RingSlices:
    """Slices of a ring buffer as an affine function of an induction variable."""

    first_slice: AffineSum
    """First slice, before the modulo of slots."""
    extent: int
    axis: int
    ring_extent: int
    ring: SSAValue

    def can_overlap_later_slices(
        self, later_slices: RingSlices, iterations: int
    ) -> bool:
        """
        Return `True` if the slices may overlap with slices `later_slices` that are
        accessed `iterations` iterations later.
        """
        if self.ring is not later_slices.ring:
            return True
        shift = later_slices.first_slice - self.first_slice
        if shift.terms or self.axis != later_slices.axis:
            return True
        factor = sum(factor for _, factor in self.first_slice.terms)
        distance = factor * iterations + shift.constant
        return (
            not self.extent
            <= distance % self.ring_extent
            <= self.ring_extent - later_slices.extent
        )


def filled_ring_of(move: mem.Move, loop: scf.ForOp) -> SSAValue | None:
    """
    Return the ring buffer outside of a loop that a move in its body fills, or None.
    """
    if ring_window_of(move.destination) is None:
        return None
    owner = root_buffer_of(move.destination).owner
    is_outside = isinstance(owner, mem.AllocOp) and not loop.is_ancestor(owner)
    return owner.buffer if isinstance(owner, mem.AllocOp) and is_outside else None


def is_ring_window_free_early(move: mem.Move, loop: scf.ForOp, iterations: int) -> bool:
    """
    Return `True` if the slices of a ring that a move writes are free `iterations`
    iterations early. The loop must be normalized.
    """
    buffer = filled_ring_of(move, loop)
    written = _ring_slices_of(move.destination, loop)
    if buffer is None or written is None:
        return False
    order = {op: position for position, op in enumerate(loop.body.block.ops)}
    for user, view in _buffer_accesses_in_loop(buffer, loop):
        if user is move:
            continue
        if (read := _ring_slices_of(view, loop)) is None:
            return False
        if any(
            read.can_overlap_later_slices(written, earlier)
            for earlier in range(1, iterations + 1)
        ):
            return False
        ancestor = loop.body.block.find_ancestor_op_in_block(user)
        assert ancestor is not None
        if order[ancestor] < order[move] and read.can_overlap_later_slices(written, 0):
            return False
    return True


def _buffer_accesses_in_loop(
    buffer: SSAValue, loop: scf.ForOp
) -> Iterator[tuple[Operation, SSAValue]]:
    """
    Yield the operations in a loop that access a buffer, each with the accessed view.
    """
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, VIEW_OPS):
            yield from _buffer_accesses_in_loop(user.results[0], loop)
        elif loop.is_ancestor(user):
            yield user, buffer


def _ring_slices_of(view: SSAValue, loop: scf.ForOp) -> RingSlices | None:
    """Return the slices of a ring that a window view contains, or None."""
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
    extent = owner.box_sizes[axis]
    return RingSlices(start, extent, axis, owner.ring_size, owner.source)


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
