"""
Decision on loops distributed over cores: the loop of a nest whose iterations are
distributed, and the operations before the nest that every core must also execute.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass

from tlf.planner.distribution.distribution_facts import CoreScope, ScopeOperation


class CoreConflictError(Exception):
    """
    Error: the iterations of a loop cannot be distributed over cores. The message is the
    reason.
    """


@dataclass(frozen=True)
class LoopDistribution:
    """Loop that is distributed, and the setup of its nest."""

    loop: ScopeOperation
    setup: Sequence[int]
    """Positions of the operations of the block that move into the nest."""


def select_distributed_loop(scope: CoreScope) -> LoopDistribution:
    """
    Return the loop of a nest with the largest speedup that can be distributed, the
    outermost one if they are equal. Raises `CoreConflictError` if there is none.
    """
    loops = [each for each in scope.nest.walk() if (each.speedup or 0) > 1]
    conflict = CoreConflictError("it has one iteration")
    for index, loop in enumerate(sorted(loops, key=lambda each: -(each.speedup or 0))):
        try:
            return LoopDistribution(loop, find_setup_operations(scope, loop))
        except CoreConflictError as error:
            conflict = conflict if index else error
    raise conflict


def find_setup_operations(scope: CoreScope, loop: ScopeOperation) -> Sequence[int]:
    """
    Return the positions of the operations before the nest that every core must also
    execute: they load operands of the nest into a private level. Raises
    `CoreConflictError` if cores would conflict.
    """
    _check_replicated_writes(scope, loop)
    setup = _find_users_of_private_buffers(scope)
    _check_movable_before_nest(scope, setup)
    return setup


def _check_replicated_writes(scope: CoreScope, loop: ScopeOperation) -> None:
    """
    Check that operations outside of the distributed loop, which every core executes,
    write only private levels. Raises `CoreConflictError`.
    """
    if any(each.allocated - scope.private for each in scope.nest.walk()):
        raise CoreConflictError("it allocates buffers in a shared level")
    moves = (each.moved for each in scope.nest.walk() if each.moved is not None)
    if any(scope.private.isdisjoint(each) for each in moves):
        raise CoreConflictError("it moves between shared levels")
    for each in _operations_beside(scope.nest, loop):
        if each.written - scope.private:
            raise CoreConflictError(
                "it writes a shared level outside of the distributed loop"
            )
    if (loop.written & scope.private) - loop.allocated:
        raise CoreConflictError("its iterations write to one private tile")


def _operations_beside(
    around: ScopeOperation, loop: ScopeOperation
) -> Iterator[ScopeOperation]:
    """Yield the operations in a nest that are neither in a loop nor around it."""
    while around is not loop:
        inner = next(each for each in around.inside if loop in each.walk())
        yield from (each for each in around.inside if each is not inner)
        around = inner


def _find_users_of_private_buffers(scope: CoreScope) -> list[int]:
    """
    Return the positions of the operations that access private buffers that the nest
    uses and does not allocate. Raises `CoreConflictError`.
    """
    found: set[int] = set()
    pending = list(scope.nest.used & scope.private)
    visited: set[Hashable] = set()
    while pending:
        buffer = pending.pop()
        if buffer in visited:
            continue
        visited.add(buffer)
        if buffer not in scope.allocated:
            raise CoreConflictError(
                "it uses a private tile that is not allocated in its block"
            )
        for position, each in enumerate(scope.operations):
            if each is not scope.nest and _has_access(each, buffer):
                found.add(position)
                pending += each.used & scope.private
    return sorted(found)


def _has_access(operation: ScopeOperation, buffer: Hashable) -> bool:
    """Return `True` if an operation allocates or uses a buffer, or waits for it."""
    return (
        buffer in operation.used
        or buffer in operation.allocated
        or buffer in operation.awaited
    )


def _check_movable_before_nest(scope: CoreScope, setup: Collection[int]) -> None:
    """
    Check that operations can be moved right before the nest. Raises
    `CoreConflictError`.
    """
    if any(position > scope.nest_position for position in setup):
        raise CoreConflictError("its private buffers are used after it")
    reads: set[Hashable] = set()
    for position, each in enumerate(scope.operations[: scope.nest_position]):
        if position in setup:
            reads |= each.used
        elif reads & each.written:
            raise CoreConflictError("an operand of its setup is overwritten before it")
    for position in setup:
        if scope.operations[position].written - scope.private:
            raise CoreConflictError(
                "an operation that it depends on also writes a shared level"
            )
