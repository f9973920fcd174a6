"""Decision on early loads: the operations that loads outside of loops start before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tlf.planner.prefetching.load_facts import LoadSequence, OperationFacts
from tlf.support.allocation import LoadHoisting, allocate_program_buffers


def select_early_loads(sequence: LoadSequence, capacity: int) -> dict[int, int]:
    """
    Return the positions of loads to hoist, and of the operations to hoist them above:
    as early as the capacity of the level allows, or less far if the allocator does not
    find offsets. Empty if no load is hoisted.
    """
    operations = sequence.collect_operations()
    loads = {
        position: operation.load.buffer
        for position, operation in enumerate(operations)
        if operation.load is not None
    }
    if not loads:
        return {}
    lifetimes = sequence.lifetimes_with_early_loads({})
    indices = {buffer: index for index, buffer in enumerate(lifetimes.buffers)}
    hoisting = LoadHoisting(
        list(lifetimes.buffers.values()),
        lifetimes.steps,
        {position: indices[buffer] for position, buffer in loads.items()},
        capacity,
        lambda load, position: _is_barrier_to_load(operations, load, position),
    )
    for targets in hoisting.candidate_target_positions():
        hoisted = sequence.lifetimes_with_early_loads(targets)
        buffers = list(hoisted.buffers.values())
        if allocate_program_buffers(buffers, capacity).peak <= capacity:
            return targets
    return {}


def _is_barrier_to_load(
    operations: Sequence[OperationFacts], load_position: int, position: int
) -> bool:
    """Return `True` if a load cannot be hoisted above the operation at a position."""
    load, operation = operations[load_position].load, operations[position]
    assert load is not None
    return (
        operation.has_fixed_load
        or load.buffer in operation.accessed_buffers
        or any(map(load.source.can_alias, operation.written_regions))
    )


def order_with_early_loads(length: int, targets: Mapping[int, int]) -> list[int]:
    """
    Return the positions of `length` operations in their new order: each load of
    `targets` right before the operation at its target position.
    """
    loads_by_target: dict[int, list[int]] = {}
    for load, target in targets.items():
        loads_by_target.setdefault(target, []).append(load)
    order: list[int] = []
    for position in range(length):
        order += loads_by_target.get(position, ())
        if position not in targets:
            order.append(position)
    return order
