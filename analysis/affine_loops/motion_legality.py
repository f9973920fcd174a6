"""Analysis of the legality of moving the operations between two nests."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.traits import MemoryEffectKind, get_effects

from tlf.analysis.affine_loops.storage_roots import (
    outside_values_used_by,
    roots_overwritten_by,
    storage_root_of,
)

SIDE_EFFECTS = "an operation may have side effects"
DEPENDENCE_PATH = "an operation in between needs the first nest and feeds the second"
OVERWRITES_READ = "an operation in between overwrites what the first nest reads"
READS_OVERWRITTEN = "an operation in between reads what the second nest overwrites"


def dependents_between(first: Operation, second: Operation) -> list[Operation]:
    """
    Return the operations between two of one block that depend on the first, in order.
    """
    dependents, producers = list[Operation](), set[Operation]([first])
    for op in operations_between(first, second):
        if any(value.owner in producers for value in outside_values_used_by(op)):
            dependents.append(op)
            producers.add(op)
    return dependents


def find_motion_barrier(first: Operation, second: Operation) -> str | None:
    """
    Return the reason why a nest cannot be moved down to another one; None if it can.
    """
    if not _is_side_effect_free(first) or not _is_side_effect_free(second):
        return SIDE_EFFECTS
    dependents = dependents_between(first, second)
    if any(value.owner in dependents for value in outside_values_used_by(second)):
        return DEPENDENCE_PATH
    if not all(map(_is_side_effect_free, dependents)):
        return SIDE_EFFECTS
    read_roots = {storage_root_of(value) for value in outside_values_used_by(first)}
    for op in operations_between(first, second):
        if op not in dependents and not read_roots.isdisjoint(roots_overwritten_by(op)):
            return OVERWRITES_READ
    overwritten = roots_overwritten_by(second)
    for op in dependents:
        if not overwritten.isdisjoint(
            storage_root_of(value) for value in outside_values_used_by(op)
        ):
            return READS_OVERWRITTEN
    return None


def operations_between(first: Operation, second: Operation) -> Iterator[Operation]:
    """
    Yield the operations after `first` and before `second`, a later one in its block.
    """
    op = first.next_op
    while op is not None and op is not second:
        yield op
        op = op.next_op


def _is_side_effect_free(op: Operation) -> bool:
    """
    Return `True` if the only effects of an operation are its results, which may be new
    allocations.
    """
    effects = get_effects(op)
    if effects is None:
        return False
    return all(each.kind is MemoryEffectKind.ALLOC for each in effects)
