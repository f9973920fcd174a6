"""Operations between two nests, and the legality of moving them out of the way."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.traits import MemoryEffectKind, get_effects

from tlf.analysis.affine_loops.storage import origin, overwritten_by, used_by

EFFECTS = "an operation may do more than compute its results"
PATH = "an operation in between needs the first nest and feeds the second"
OVERWRITTEN = "an operation in between overwrites what the first nest reads"
READ_LATER = "an operation in between reads what the second nest overwrites"


def dependents(first: Operation, second: Operation) -> list[Operation]:
    """The operations between two of one block that need the first, in order."""
    found, needed = list[Operation](), set[Operation]([first])
    for op in between_operations(first, second):
        if any(value.owner in needed for value in used_by(op)):
            found.append(op)
            needed.add(op)
    return found


def between(first: Operation, second: Operation) -> str | None:
    """
    Return why the first of two operations cannot be moved to the second, with those
    that depend on the first placed behind both; None if it can.
    """
    if not _only_computes(first) or not _only_computes(second):
        return EFFECTS
    later = dependents(first, second)
    if any(value.owner in later for value in used_by(second)):
        return PATH
    if not all(map(_only_computes, later)):
        return EFFECTS
    read = {origin(value) for value in used_by(first)}
    for op in between_operations(first, second):
        if op not in later and not read.isdisjoint(overwritten_by(op)):
            return OVERWRITTEN
    overwritten = overwritten_by(second)
    for op in later:
        if not overwritten.isdisjoint(origin(value) for value in used_by(op)):
            return READ_LATER
    return None


def between_operations(first: Operation, second: Operation) -> Iterator[Operation]:
    """The operations of one block between two."""
    op = first.next_op
    while op is not None and op is not second:
        yield op
        op = op.next_op


def _only_computes(op: Operation) -> bool:
    """
    Return `True` if an operation has no effect other than its results, which may be new
    allocations.
    """
    effects = get_effects(op)
    if effects is None:
        return False
    return all(each.kind is MemoryEffectKind.ALLOC for each in effects)
