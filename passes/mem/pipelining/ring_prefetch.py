"""
Disjointness of ring buffer windows across iterations, for prefetching into rings.

The slices that a window shows in an iteration start at `factor * n + constant`, where
`n` counts the iterations, modulo the slots of the ring. A move that starts `k`
iterations ahead writes its slices while the `k` iterations before its own may still
read theirs, and before what stands in front of it in its own. So none of these may
share slices with it.
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
    """Slices of a ring buffer as an affine function of a loop's counter."""

    factor: int
    constant: int
    extent: int
    axis: int
    ring_extent: int
    ring: SSAValue

    def has_overlap(self, other: RingSlices, iterations: int) -> bool:
        """
        Return `True` if slices of an iteration overlap other ones of so many iterations
        later.
        """
        if self.ring is not other.ring:
            return True
        if (self.factor, self.axis) != (other.factor, other.axis):
            return True
        apart = other.factor * iterations + other.constant - self.constant
        return (
            not self.extent
            <= apart % self.ring_extent
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
    Return `True` if the slices that a move writes in a ring are free so many iterations
    early. The loop counts from 0 in steps of 1.
    """
    buffer = filled_ring_of(move, loop)
    place = _ring_slices_of(move.destination, loop)
    if buffer is None or place is None:
        return False
    order = {op: position for position, op in enumerate(loop.body.block.ops)}
    for user, view in _users_in_loop(buffer, loop):
        if user is move:
            continue
        if (read := _ring_slices_of(view, loop)) is None:
            return False
        if any(
            read.has_overlap(place, earlier) for earlier in range(1, iterations + 1)
        ):
            return False
        ancestor = _ancestor_in_body(user, loop)
        if order[ancestor] < order[move] and read.has_overlap(place, 0):
            return False
    return True


def _users_in_loop(
    buffer: SSAValue, loop: scf.ForOp
) -> Iterator[tuple[Operation, SSAValue]]:
    """
    Yield the operations in a loop that access a buffer, with the view that they access
    it by.
    """
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, VIEW_OPS):
            yield from _users_in_loop(user.results[0], loop)
        elif loop.is_ancestor(user):
            yield user, buffer


def _ancestor_in_body(op: Operation, loop: scf.ForOp) -> Operation:
    """Return the ancestor of an operation in a loop's body."""
    while op.parent is not loop.body.block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _ring_slices_of(view: SSAValue, loop: scf.ForOp) -> RingSlices | None:
    """The slices of a ring that a view shows, if it is a window of it."""
    if (owner := ring_window_of(view)) is None:
        return None
    axis = owner.ring_axis
    start = _affine_in_counter(owner.mixed_offsets[axis], loop)
    if start is None or not _has_all_slices(owner.source):
        return None
    extent = owner.box[axis]
    return RingSlices(*start, extent, axis, owner.ring_size, owner.source)


def _has_all_slices(ring: SSAValue) -> bool:
    """Return `True` if a ring is a buffer, or all of one of its slots."""
    match ring.owner:
        case mem.AllocOp():
            return True
        case memref.SubviewOp() as part if isinstance(part.source.owner, mem.AllocOp):
            whole = part.source.owner.buffer_type.get_shape()
            return tuple(part.static_sizes.get_values()) == (1, *whole[1:])
        case _:
            return False


def _affine_in_counter(index: Index, loop: scf.ForOp) -> tuple[int, int] | None:
    """
    Return the factor of a loop's counter in an index, and the constant added to it.
    """
    if isinstance(index, int):
        return 0, index
    if (number := constant_value_of(index)) is not None:
        return 0, number
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
    (factor, constant), (other, number) = left, right
    match kind:
        case AffineBinaryOpKind.Add:
            return factor + other, constant + number
        case AffineBinaryOpKind.Mul if other == 0:
            return factor * number, constant * number
        case AffineBinaryOpKind.FloorDiv if other == 0 < number and not factor % number:
            return factor // number, constant // number
        case _:
            return None
