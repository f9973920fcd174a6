"""
Disjointness of ring buffer windows across iterations, for prefetching into rings.

The slices of a window in iteration `n` start at `factor * n + constant`, modulo the
slots of the ring. A move with a prefetch distance of `k` iterations writes its slices
while the previous `k` iterations may still read theirs, and before the operations that
precede it in its own iteration. Its slices must be disjoint from all of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.affine import ApplyOp
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from tlf.analysis.buffers.memory_effects import VIEW_OPS, ring_window_of, root_of
from tlf.analysis.buffers.normalized_loops import constant_value_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


@dataclass(frozen=True)
class RingSlices:
    """Slices of a ring buffer as an affine function of an induction variable."""

    factor: int
    constant: int
    extent: int
    axis: int
    ring_extent: int
    ring: SSAValue

    def has_overlap(self, other: RingSlices, iterations: int) -> bool:
        """
        Return `True` if the slices may overlap with slices `other` that are accessed
        `iterations` iterations later.
        """
        if self.ring is not other.ring:
            return True
        if (self.factor, self.axis) != (other.factor, other.axis):
            return True
        distance = other.factor * iterations + other.constant - self.constant
        return (
            not self.extent
            <= distance % self.ring_extent
            <= self.ring_extent - other.extent
        )


def filled_ring_of(move: mem.Move, loop: scf.ForOp) -> SSAValue | None:
    """
    Return the ring buffer outside of a loop that a move in its body fills, or None.
    """
    if ring_window_of(move.destination) is None:
        return None
    owner = root_of(move.destination).owner
    is_outside = isinstance(owner, mem.AllocOp) and not loop.is_ancestor(owner)
    return owner.buffer if isinstance(owner, mem.AllocOp) and is_outside else None


def is_window_free(move: mem.Move, loop: scf.ForOp, iterations: int) -> bool:
    """
    Return `True` if the slices of a ring that a move writes are free `iterations`
    iterations early. The loop must be normalized.
    """
    buffer = filled_ring_of(move, loop)
    written = _ring_slices_of(move.destination, loop)
    if buffer is None or written is None:
        return False
    order = {op: position for position, op in enumerate(loop.body.block.ops)}
    for user, view in _users_in_loop(buffer, loop):
        if user is move:
            continue
        if (read := _ring_slices_of(view, loop)) is None:
            return False
        if any(
            read.has_overlap(written, earlier) for earlier in range(1, iterations + 1)
        ):
            return False
        ancestor = _ancestor_in_body(user, loop)
        if order[ancestor] < order[move] and read.has_overlap(written, 0):
            return False
    return True


def _users_in_loop(
    buffer: SSAValue, loop: scf.ForOp
) -> Iterator[tuple[Operation, SSAValue]]:
    """
    Yield the operations in a loop that access a buffer, each with the accessed view.
    """
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, VIEW_OPS):
            yield from _users_in_loop(user.results[0], loop)
        elif loop.is_ancestor(user):
            yield user, buffer


def _ancestor_in_body(op: Operation, loop: scf.ForOp) -> Operation:
    """Return the ancestor of an operation in the body of a loop."""
    while op.parent is not loop.body.block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _ring_slices_of(view: SSAValue, loop: scf.ForOp) -> RingSlices | None:
    """Return the slices of a ring that a window view contains, or None."""
    if (owner := ring_window_of(view)) is None:
        return None
    axis = owner.ring_axis
    start = _affine_in_counter(owner.mixed_offsets[axis], loop)
    if start is None or not _has_all_slices(owner.source):
        return None
    extent = owner.box[axis]
    return RingSlices(*start, extent, axis, owner.ring_size, owner.source)


def _has_all_slices(ring: SSAValue) -> bool:
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


def _affine_in_counter(index: Index, loop: scf.ForOp) -> tuple[int, int] | None:
    """
    Return an index as (factor, constant) of an affine function of the induction
    variable of a loop; None if it is not affine.
    """
    if isinstance(index, int):
        return 0, index
    if (constant := constant_value_of(index)) is not None:
        return 0, constant
    if index is loop.body.block.args[0]:
        return 1, 0
    if not isinstance(owner := index.owner, ApplyOp) or owner.map.data.num_symbols:
        return None
    operands = [_affine_in_counter(each, loop) for each in owner.mapOperands]
    return _evaluate_affine(owner.map.data.results[0], operands)


def _evaluate_affine(
    expression: AffineExpr, operands: list[tuple[int, int] | None]
) -> tuple[int, int] | None:
    match expression:
        case AffineConstantExpr():
            return 0, expression.value
        case AffineDimExpr():
            return operands[expression.position]
        case AffineBinaryOpExpr():
            left = _evaluate_affine(expression.lhs, operands)
            right = _evaluate_affine(expression.rhs, operands)
            if left is None or right is None:
                return None
            return _combine_affine(expression.kind, left, right)
        case _:
            return None


def _combine_affine(
    kind: AffineBinaryOpKind, left: tuple[int, int], right: tuple[int, int]
) -> tuple[int, int] | None:
    (factor, constant), (right_factor, right_constant) = left, right
    match kind:
        case AffineBinaryOpKind.Add:
            return factor + right_factor, constant + right_constant
        case AffineBinaryOpKind.Mul if right_factor == 0:
            return factor * right_constant, constant * right_constant
        case AffineBinaryOpKind.FloorDiv if (
            right_factor == 0 < right_constant and not factor % right_constant
        ):
            return factor // right_constant, constant // right_constant
        case _:
            return None
