"""
Decision on software pipelining: the loads and products of a loop that start iterations
early, and their places in the body.

If a product depends on another one through operations of other engines, the matrix
engine is stalled between the two. Starting the first product of the next iteration in
between hides this latency. (Modulo scheduling: M. Lam, Software Pipelining, PLDI 1988.)
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

from tlf.dialects.target import Level
from tlf.planner.overlap.body_facts import BodyOperation, LoopBody


@dataclass(frozen=True)
class LoadSelection:
    """Decision on the loads of a loop that start early."""

    early: Sequence[int]
    """Positions of the loads, in program order."""
    reasons: Mapping[int, str]
    """Reasons why other loads into multi-buffers and rings do not start early."""


def select_loads_ahead(
    body: LoopBody,
    multibuffers: Collection[Hashable],
    distance: int,
    levels: Sequence[Level],
) -> LoadSelection:
    """
    Return the loads into multi-buffers and rings that may start `distance` iterations
    early. `levels` are in order, innermost level first.
    """
    names = [level.name for level in levels]
    early: list[int] = []
    reasons: dict[int, str] = {}
    for position, operation in enumerate(body.operations):
        move = operation.move
        if move is None or names.index(move.source.level) <= names.index(
            move.destination.level
        ):
            continue
        if not move.fills_outer_ring and move.destination.identity not in multibuffers:
            continue
        if (reason := _reason_not_early(body, position, early, distance)) is None:
            early.append(position)
        else:
            reasons[position] = reason
    return LoadSelection(early, reasons)


def _reason_not_early(
    body: LoopBody, load: int, early: Sequence[int], distance: int
) -> str | None:
    """
    Return the reason why a load cannot start early, or None; `early` are the previous
    loads that start early.
    """
    operations = body.operations
    if any(
        body.can_overwrite_source(load, position)
        for position in range(len(operations))
        if not is_early_index_load(operations, load, position, early)
    ):
        return "the loop writes what it is loaded from"
    if not body.has_early_address(load):
        return "its source offsets depend on more than induction variables"
    move = operations[load].move
    assert move is not None
    if move.fills_outer_ring:
        is_free = _is_ring_window_free_early(body, load, distance)
        return None if is_free else "its window of the ring is in use"
    before = (each for each in range(load) if each not in early)
    if any(move.destination.identity in operations[each].accessed for each in before):
        return "its buffer is accessed before it"
    return None


def is_early_index_load(
    operations: Sequence[BodyOperation], load: int, position: int, early: Sequence[int]
) -> bool:
    """
    Return `True` if an operation is an equally early load, in the same queue, of the
    indices of a load.
    """
    move, other = operations[load].move, operations[position].move
    if position not in early or move is None or other is None:
        return False
    is_index_load = move.index_buffer == other.destination.identity
    return is_index_load and move.queue == other.queue


def _is_ring_window_free_early(body: LoopBody, load: int, distance: int) -> bool:
    """
    Return `True` if the slices of a ring that a load fills are free `distance`
    iterations early: it fills them while the previous iterations may still read theirs,
    and before the operations that precede it in its own iteration.
    """
    if (filled := body.ring_slices_of(load)) is None:
        return False
    return not any(
        slices is None
        or any(
            slices.can_overlap_later_slices(filled, iterations)
            for iterations in range(0 if position < load else 1, distance + 1)
        )
        for position, slices in body.other_ring_slices(load)
    )


def find_loop_before_load(
    operations: Sequence[BodyOperation], load: int, early: Sequence[int]
) -> int | None:
    """
    Return the position of the last loop with moves in the queue of an early load before
    its destination is used, or before a joint wait; None if there is none.

    An early load waits in its queue for the slot of an earlier iteration: if it started
    before the loop, it would delay the moves of the loop. Loads into a ring never wait
    for a slot.
    """
    move = operations[load].move
    assert move is not None
    if move.fills_outer_ring:
        return None
    if any(each.is_loop and load in each.awaited_moves for each in operations):
        return None
    found: int | None = None
    for position, operation in enumerate(operations):
        if position in early:
            continue
        awaited = operation.awaited_moves
        if move.destination.identity in operation.accessed or (
            len(awaited) > 1 and load in awaited
        ):
            break
        if operation.is_loop and move.queue in operation.queues:
            found = position
    return found


def find_last_loop_in_queue(
    operations: Sequence[BodyOperation], load: int
) -> int | None:
    """
    Return the position of the last loop of a body with moves in the queue of a load;
    None if there is none. In a loop without stages, `convert-mem-to-npu` issues early
    loads after it: there, inner loops are not to wait for a later iteration.
    """
    move = operations[load].move
    assert move is not None
    found = [at for at, each in enumerate(operations) if move.queue in each.queues]
    return found[-1] if found else None


def select_products_ahead(
    body: LoopBody,
    early: Sequence[int],
    multibuffers: Collection[Hashable],
    slot_count: int,
    innermost_level: Level,
) -> list[int]:
    """
    Return the products that a later product depends on, that depend only on early loads
    of the iteration, and whose results are multi-buffers. Empty if the body has loops,
    or if buffers of the loop share bytes in the innermost level.
    """
    operations = body.operations
    if any(each.is_loop for each in operations):
        return []
    selected = [
        position
        for position, operation in enumerate(operations)
        if operation.can_start_early
        and all(each.identity in multibuffers for each in operation.accumulators)
        and _depends_only_on_loads(operations, position, early)
        and _has_dependent_product(operations, position)
    ]
    if not selected or not body.measure_memory().has_room_without_sharing(
        innermost_level, multibuffers, slot_count
    ):
        return []
    return selected


def _depends_only_on_loads(
    operations: Sequence[BodyOperation], product: int, early: Sequence[int]
) -> bool:
    """Return `True` if a product depends on no operation except early loads."""
    inputs = _inputs_of_product(operations[product])
    (result,) = operations[product].accumulators
    if any(
        move not in early
        for wait in find_waits_before_product(operations, product, early)
        for move in operations[wait].awaited_moves
    ):
        return False
    return not any(
        (position < product and result.identity in operation.accessed)
        or not inputs.isdisjoint(operation.written)
        for position, operation in enumerate(operations)
        if position not in early
    )


def find_waits_before_product(
    operations: Sequence[BodyOperation], product: int, early: Sequence[int]
) -> list[int]:
    """Return the waits before a product for early loads of its operands."""
    inputs = _inputs_of_product(operations[product])
    loads = [
        each
        for each in early
        if (move := operations[each].move) and move.destination.identity in inputs
    ]
    return [
        position
        for position, operation in enumerate(operations[:product])
        if any(each in loads for each in operation.awaited_moves)
    ]


def _inputs_of_product(product: BodyOperation) -> set[Hashable]:
    return set(product.accessed).difference(e.identity for e in product.accumulators)


def _has_dependent_product(operations: Sequence[BodyOperation], product: int) -> bool:
    """
    Return `True` if a later product depends on the result, directly or transitively.
    """
    (result,) = operations[product].accumulators
    dependent = {result.identity}
    for operation in operations[product + 1 :]:
        if dependent.isdisjoint(operation.accessed):
            continue
        if operation.is_product:
            return True
        dependent.update(operation.written)
    return False
