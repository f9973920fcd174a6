"""
Cost model of `mem-distribute-to-cores`, on its schedule instead of IR: nests whose
iterations are distributed over cores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from tlf.analysis.buffers.core_loops import parallel_speedup
from tlf.dialects.target import TargetSpec
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    DisjointBox,
    Instruction,
    Item,
    Nest,
    instructions_in,
)
from tlf.planner.distribution.distribution_facts import CoreScope, ScopeOperation
from tlf.planner.distribution.loop_distribution import (
    CoreConflictError,
    select_distributed_loop,
)


def distribute_nests(items: list[Item], target: TargetSpec) -> None:
    """Distribute the nests of a schedule as `mem-distribute-to-cores` does."""
    if target.cores > 1:
        levels = target.levels.values()
        private = frozenset(each.name for each in levels if each.scope == "core")
        NestDistribution(target.cores, private).distribute_nests_in(items, None)


@dataclass(frozen=True)
class NestDistribution:
    """Transformation, in place, that distributes the nests of a schedule over cores."""

    cores: int
    private_levels: AbstractSet[str]
    """Memory levels that each core has for itself."""

    def distribute_nests_in(self, items: list[Item], around: Nest | None) -> None:
        """Distribute each nest in `items`, the body of `around` or of the function."""
        for nest in [item for item in items if isinstance(item, Nest)]:
            if not nest.is_core_loop:
                self.distribute_nests_in(nest.body, nest)
                continue
            block = ScheduleCoreScope.of_nest(nest, items, around, self)
            try:
                selected = select_distributed_loop(block.scope)
            except CoreConflictError:
                continue
            loop = block.nests[selected.loop]
            setup = [block.items[position] for position in selected.setup]
            _wrap_in_core_region(items, nest, setup, self.cores)
            _distribute_loop(loop, self.cores)

    def speedup_of(self, nest: Nest) -> float | None:
        """Return the speedup of a nest; None if it may not be distributed."""
        is_candidate = nest.is_core_loop
        return parallel_speedup(nest.trip_count, self.cores) if is_candidate else None


@dataclass(frozen=True)
class ScheduleCoreScope:
    """Facts of the items around a nest; `items` are these as they were collected."""

    scope: CoreScope
    items: Sequence[Item]
    nests: Mapping[ScopeOperation, Nest]
    """Nests by their facts."""

    @staticmethod
    def of_nest(
        nest: Nest, items: Sequence[Item], around: Nest | None, rules: NestDistribution
    ) -> ScheduleCoreScope:
        """Return the facts of the items around a nest, the body of `around`."""
        nests: dict[ScopeOperation, Nest] = {}
        operations = [_facts_of(item, rules, nests) for item in items]
        buffers = _buffers_accessed_in(items)
        allocated = frozenset(e for e in buffers if e.allocation_nest is around)
        private = frozenset(e for e in buffers if e.level in rules.private_levels)
        scope = CoreScope(operations, items.index(nest), allocated, private)
        return ScheduleCoreScope(scope, tuple(items), nests)


def _facts_of(
    item: Item, rules: NestDistribution, nests: dict[ScopeOperation, Nest]
) -> ScopeOperation:
    """Return the facts of an item, and add those of nests to `nests`."""
    steps = list(instructions_in([item]))
    accessed = _buffers_accessed_in(steps)
    awaited = _buffers_accessed_in([e for step in steps for e in step.completed_moves])
    written = frozenset[Hashable](e.buffer for step in steps for e in step.writes)
    if isinstance(item, Instruction):
        return ScopeOperation(
            accessed, written, awaited=awaited, moved=item.move_endpoints
        )
    allocated = frozenset(e for e in accessed if _is_allocated_in(e, item))
    inside = [_facts_of(each, rules, nests) for each in item.body]
    speedup = rules.speedup_of(item)
    facts = ScopeOperation(
        accessed - allocated,
        written,
        allocated,
        awaited,
        inside=inside,
        speedup=speedup,
    )
    nests[facts] = item
    return facts


def _buffers_accessed_in(items: Sequence[Item]) -> frozenset[Buffer]:
    return frozenset(
        access.buffer
        for step in instructions_in(items)
        for access in step.reads_and_writes
    )


def _is_allocated_in(buffer: Buffer, nest: Nest) -> bool:
    return buffer.allocation_nest is not None and buffer.allocation_nest.is_within(nest)


def _wrap_in_core_region(
    items: list[Item], nest: Nest, setup: Sequence[Item], cores: int
) -> None:
    """Replace a nest and its setup in `items` by a region that every core executes."""
    around = nest.surrounding_nest
    region = Nest(
        (),
        around,
        program_position=nest.program_position,
        core_count=cores,
        is_core_region=True,
    )
    region.body = [*_parts_in_setup(setup), nest]
    for each in region.body:
        if isinstance(each, Nest):
            each.surrounding_nest = region
    written = dict.fromkeys(_buffers_written_in(setup))
    _move_allocations(region, [e for e in written if e.allocation_nest is around])
    rest = [part for each in items for part in _parts_outside_setup(each, setup)]
    rest[rest.index(nest)] = region
    items[:] = rest


def _buffers_written_in(items: Sequence[Item]) -> Iterator[Buffer]:
    return (access.buffer for step in instructions_in(items) for access in step.writes)


def _move_allocations(region: Nest, buffers: Sequence[Buffer]) -> None:
    """Allocate buffers in a region, in the order of their allocations so far."""
    ordered = sorted(buffers, key=lambda each: each.level_position)
    for index, buffer in enumerate(ordered):
        buffer.allocation_nest = region
        buffer.level_position = (region.program_position - 1, 0, index)


def _parts_in_setup(setup: Sequence[Item]) -> Iterator[Item]:
    """Yield the items of a setup; waits only for the moves in it."""
    for item in setup:
        if not isinstance(item, Instruction) or not item.completed_moves:
            yield item
            continue
        moves = tuple(move for move in item.completed_moves if move in setup)
        yield (
            item
            if moves == item.completed_moves
            else replace(item, completed_moves=moves)
        )


def _parts_outside_setup(item: Item, setup: Sequence[Item]) -> Iterator[Item]:
    """Yield an item that is not in a setup, or a wait for the moves outside of it."""
    if item not in setup:
        yield item
        return
    if isinstance(item, Instruction):
        others = tuple(move for move in item.completed_moves if move not in setup)
        if others:
            yield replace(item, completed_moves=others)


def _distribute_loop(nest: Nest, cores: int) -> None:
    """
    Distribute the iterations of a nest. Its bounds are then no constants, so that
    accesses of its iterations are not known to be disjoint.
    """
    nest.core_count = cores
    for step in nest.instructions():
        step.reads = tuple(_without_boxes_of(each, nest) for each in step.reads)
        step.writes = tuple(_without_boxes_of(each, nest) for each in step.writes)


def _without_boxes_of(access: BufferAccess, nest: Nest) -> BufferAccess:
    """Return an access without its box if that is one of the iterations of a nest."""
    box = access.disjoint_box
    is_of_nest = isinstance(box, DisjointBox) and box.nest is nest
    return replace(access, disjoint_box=None) if is_of_nest else access
