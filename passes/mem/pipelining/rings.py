"""
Moves into windows of a ring buffer: where they may start ahead.

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

from tlf.analysis.buffers.counters import number_of
from tlf.analysis.buffers.touches import VIEWS, root_of, window_of
from tlf.dialects import mem
from tlf.dialects.mem import Index


@dataclass(frozen=True)
class Slices:
    """Some slices of a ring, in terms of the iteration of a loop."""

    factor: int
    constant: int
    extent: int
    axis: int
    slots: int
    ring: SSAValue

    def meet(self, other: Slices, iterations: int) -> bool:
        """
        Return `True` if slices of an iteration overlap the other ones, so many
        iterations later.
        """
        if self.ring is not other.ring:
            return True
        if (self.factor, self.axis) != (other.factor, other.axis):
            return True
        apart = other.factor * iterations + other.constant - self.constant
        return not self.extent <= apart % self.slots <= self.slots - other.extent


def ring_of(move: mem.Move, loop: scf.ForOp) -> SSAValue | None:
    """The ring that a move in the body of a loop fills, from outside of the loop."""
    if window_of(move.destination) is None:
        return None
    owner = root_of(move.destination).owner
    is_outside = isinstance(owner, mem.AllocOp) and not loop.is_ancestor(owner)
    return owner.buffer if isinstance(owner, mem.AllocOp) and is_outside else None


def is_free(move: mem.Move, loop: scf.ForOp, iterations: int) -> bool:
    """
    Return `True` if the slices that a move writes in a ring are free so many iterations
    ahead. The loop counts from 0 in steps of 1.
    """
    buffer = ring_of(move, loop)
    place = _slices(move.destination, loop)
    if buffer is None or place is None:
        return False
    order = {op: position for position, op in enumerate(loop.body.block.ops)}
    for user, view in _users(buffer, loop):
        if user is move:
            continue
        if (read := _slices(view, loop)) is None:
            return False
        if any(read.meet(place, earlier) for earlier in range(1, iterations + 1)):
            return False
        ancestor = _in_body(user, loop)
        if order[ancestor] < order[move] and read.meet(place, 0):
            return False
    return True


def _users(buffer: SSAValue, loop: scf.ForOp) -> Iterator[tuple[Operation, SSAValue]]:
    """The operations in a loop that touch a buffer, and the view that they do it by."""
    for use in buffer.uses:
        user = use.operation
        if isinstance(user, VIEWS):
            yield from _users(user.results[0], loop)
        elif loop.is_ancestor(user):
            yield user, buffer


def _in_body(op: Operation, loop: scf.ForOp) -> Operation:
    """The operation of a loop's body that an operation is, or is in."""
    while op.parent is not loop.body.block:
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _slices(view: SSAValue, loop: scf.ForOp) -> Slices | None:
    """The slices of a ring that a view shows, if it is a window of it."""
    if (owner := window_of(view)) is None:
        return None
    axis = owner.ring_axis
    start = _linear(owner.mixed_offsets[axis], loop)
    if start is None or not _has_all_slices(owner.source):
        return None
    extent = owner.box[axis]
    return Slices(*start, extent, axis, owner.slots, owner.source)


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


def _linear(index: Index, loop: scf.ForOp) -> tuple[int, int] | None:
    """The factor of a loop's counter in an index, and what is added to it."""
    if isinstance(index, int):
        return 0, index
    if (number := number_of(index)) is not None:
        return 0, number
    if index is loop.body.block.args[0]:
        return 1, 0
    if not isinstance(owner := index.owner, ApplyOp) or owner.map.data.num_symbols:
        return None
    operands = [_linear(each, loop) for each in owner.mapOperands]
    return _expression(owner.map.data.results[0], operands)


def _expression(
    expression: AffineExpr, operands: list[tuple[int, int] | None]
) -> tuple[int, int] | None:
    match expression:
        case AffineConstantExpr():
            return 0, expression.value
        case AffineDimExpr():
            return operands[expression.position]
        case AffineBinaryOpExpr():
            left = _expression(expression.lhs, operands)
            right = _expression(expression.rhs, operands)
            if left is None or right is None:
                return None
            return _combined(expression.kind, left, right)
        case _:
            return None


def _combined(
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
