"""
Analysis of lifetimes of values in a memory level, and of their extension by reuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from xdsl.ir import Operation, SSAValue

from tlf.dialects.encoding_attribute import level_of
from tlf.dialects.interfaces import ViewInterface
from tlf.dialects.move_interface import MoveInterface


def needs_longer_lifetime(
    existing_move: Operation, op: Operation, earlier_ops: AbstractSet[Operation]
) -> bool:
    """
    Return `True` if reusing an existing move for `op` extends its lifetime. `before`
    are the operations that run before `op`, including `existing_move`.

    The lifetime is not extended if the value is needed at `op` or later anyway, or if
    no operation between its last use and `op` allocates, so that its buffer has not
    been reused.
    """
    if not isinstance(existing_move, MoveInterface) or not existing_move.is_move:
        return False
    users = {
        user for value in existing_move.results for user in _users_through_views(value)
    }
    if any(
        user not in earlier_ops or _is_used_in_outer_region(existing_move, user, op)
        for user in users
    ):
        return False
    if op.parent is not existing_move.parent or op.parent is None:
        return True
    user_ancestors = {op.parent.find_ancestor_op_in_block(user) for user in users}
    current = op.prev_op
    while current is not None and current not in {existing_move, *user_ancestors}:
        if _can_allocate(current):
            return True
        current = current.prev_op
    return False


def _users_through_views(value: SSAValue) -> Iterator[Operation]:
    """
    Yield the users of a value and, transitively, of its views, with the view
    operations.
    """
    for use in value.uses:
        yield use.operation
        if _is_view(use.operation):
            for result in use.operation.results:
                yield from _users_through_views(result)


def _is_used_in_outer_region(
    existing_move: Operation, user: Operation, op: Operation
) -> bool:
    """
    Return `True` if a region that contains `op` but not the existing move also contains
    another user.
    """
    ancestor = op.parent_op()
    while ancestor is not None and not ancestor.is_ancestor(existing_move):
        if ancestor.is_ancestor(user):
            return True
        ancestor = ancestor.parent_op()
    return False


def _can_allocate(op: Operation) -> bool:
    """Return `True` if an operation may allocate in a memory level of tiles."""
    is_in_level = any(level_of(result.type) is not None for result in op.results)
    return bool(op.regions) or (is_in_level and not _is_view(op))


def _is_view(op: Operation) -> bool:
    """Return `True` if the result of an operation is a view of its operand."""
    is_slice_view = isinstance(op, MoveInterface) and not op.is_move
    return is_slice_view or isinstance(op, ViewInterface)
