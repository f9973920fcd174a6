"""
Cost model of `mem-pipeline`, on its schedule instead of IR: selection of overlapping
loops, multi-buffers and early loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.cost.program.early_products import (
    select_early_products,
    with_preceding_waits,
)
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    Instruction,
    Item,
    Nest,
    has_access_to_buffer,
    instructions_in,
    step_of_index,
)
from tlf.planner.cost.program.multibuffer_capacity import LiveRanges, NestCapacity

SLOTS = 2
"""Slots of a tile that nests in a body use: one in use, one being loaded."""


def overlap_nests(items: list[Item], target: TargetSpec) -> None:
    """Overlap the iterations of nests as `mem-pipeline` does, outer nests first."""
    IterationOverlap(items, list(target.levels.values())).overlap_nests()


@dataclass
class IterationOverlap:
    """Transformation, in place, that overlaps the iterations of a schedule's nests."""

    items: Sequence[Item]
    levels: Sequence[Level]
    """Memory levels, innermost first."""

    def overlap_nests(self) -> None:
        """Overlap the iterations of nests, outer nests first."""
        self._names = [level.name for level in self.levels]
        self._overlap_nests_in(self.items)

    def _overlap_nests_in(self, items: Sequence[Item]) -> None:
        """
        Overlap the iterations of each nest in `items`, then of those in its body, and
        prefetch loads for the latter.
        """
        for item in items:
            if isinstance(item, Nest):
                self._overlap_iterations_of(item)
                self._overlap_nests_in(item.body)
                self._prefetch_loads_of_inner_nests(item)

    def _prefetch_loads_of_inner_nests(self, nest: Nest) -> None:
        """Issue the loads of a nest for nests in its body one iteration early."""
        if nest.stages > 1 or nest.trip_count == 1:
            return
        buffers: list[Buffer] = []
        loaded_buffers = self._buffers_loaded_for_overlap(nest)
        nest.is_normalized = bool(loaded_buffers)
        for buffer in loaded_buffers:
            capacity = NestCapacity(
                LiveRanges.from_schedule(self.items), nest, [*buffers, buffer], SLOTS
            )
            if capacity.has_room_without_sharing(self.levels[0]):
                buffers.append(buffer)
        early = self._prefetchable_loads(nest, buffers, SLOTS - 1)
        loaded = [
            step.move_endpoints[1] for step in early if step.move_endpoints is not None
        ]
        self._rotate_buffer_slots(
            nest, [each for each in buffers if each in loaded], SLOTS
        )
        self._issue_loads_early(nest, early, SLOTS - 1)

    def _buffers_loaded_for_overlap(self, nest: Nest) -> list[Buffer]:
        """
        Return the buffers of the innermost level that a body loads for overlapping
        nests.
        """
        inner = [item for item in nest.body if isinstance(item, Nest)]
        if not any(each.stages > 1 for each in inner):
            return []
        destinations = (
            step.move_endpoints[1]
            for step in _instructions_in_body(nest)
            if step.move_endpoints is not None
        )
        innermost = self._names[0]
        buffers = [
            each
            for each in destinations
            if each.allocation_nest is nest and each.level == innermost
        ]
        return list(dict.fromkeys(buffers))

    def _prefetchable_loads(
        self, nest: Nest, multi_buffers: Sequence[Buffer], prefetch_distance: int
    ) -> list[Instruction]:
        """Return the loads that may be issued `prefetch_distance` iterations early."""
        early: list[Instruction] = []
        for step in _instructions_in_body(nest):
            if self._can_issue_load_early(
                nest, step, multi_buffers, early, prefetch_distance
            ):
                early.append(step)
        return early

    def _rotate_buffer_slots(
        self, nest: Nest, buffers: Sequence[Buffer], slot_count: int
    ) -> None:
        """Rotate the slots of multi-buffers over the iterations of a nest."""
        if not buffers:
            return
        nest.slot_count = slot_count
        for index, buffer in enumerate(buffers):
            buffer.multibuffer_nest = nest
            buffer.level_position = (nest.program_position - 1, 1, index)

    @staticmethod
    def _issue_loads_early(
        nest: Nest, early_loads: Sequence[Instruction], prefetch_distance: int
    ) -> None:
        """Issue loads `prefetch_distance` iterations early."""
        for step in early_loads:
            step.prefetch_distance = prefetch_distance
        nest.body = _body_with_early_loads(nest, early_loads)

    def _overlap_iterations_of(self, nest: Nest) -> None:
        """
        Give buffers of a nest a slot per stage if there is room, and issue its loads
        and early products that many iterations less one early.
        """
        slots = min(nest.stages, nest.trip_count)
        moved = self._inner_buffers_of_moves(nest)
        fills = any(
            _is_ring_fill_from_outside(each, nest)
            for each in _instructions_in_body(nest)
        )
        if slots < 2 or not (moved or fills):
            return
        accumulators = _accumulator_buffers(nest, moved)
        buffers = self._buffers_with_room_for_slots(
            nest, [*moved, *accumulators], slots
        )
        if accumulators and not buffers:
            buffers = self._buffers_with_room_for_slots(nest, moved, slots)
        if not (buffers or fills):
            return
        nest.slot_count, nest.is_normalized = slots, True
        self._rotate_buffer_slots(nest, buffers, slots)
        early = self._prefetchable_loads(nest, buffers, slots - 1)
        products = select_early_products(nest, early, buffers)
        self._issue_loads_early(nest, early, slots - 1)
        if products and self._has_unshared_buffers(nest):
            early_products = with_preceding_waits(products, nest)
            for step in products:
                step.prefetch_distance = slots - 1
            chosen = [*early, *early_products]
            nest.body = chosen + [each for each in nest.body if each not in chosen]

    def _has_unshared_buffers(self, nest: Nest) -> bool:
        """
        Return `True` if no buffer that is live in a nest shares bytes with another.
        """
        capacity = NestCapacity(LiveRanges.from_schedule(self.items), nest, (), 1)
        return capacity.has_room_without_sharing(self.levels[0])

    def _inner_buffers_of_moves(self, nest: Nest) -> list[Buffer]:
        """Return the buffers of a body that are the inner side of its moves."""
        buffers: dict[Buffer, None] = {}
        for step in _instructions_in_body(nest):
            if step.move_endpoints is not None:
                inner = min(
                    step.move_endpoints, key=lambda each: self._names.index(each.level)
                )
                if inner.allocation_nest is nest:
                    buffers[inner] = None
        return list(buffers)

    def _buffers_with_room_for_slots(
        self, nest: Nest, moved_buffers: Sequence[Buffer], slot_count: int
    ) -> list[Buffer]:
        """
        Return the buffers of the outermost level in use, and those of inner levels if
        the body has no loops, as far as there is capacity.
        """
        used = [
            (level, [each for each in moved_buffers if each.level == level.name])
            for level in self.levels
        ]
        used = [pair for pair in used if pair[1]]
        if not used:
            return []
        capacity = NestCapacity(
            LiveRanges.from_schedule(self.items), nest, moved_buffers, slot_count
        )
        *inner_levels, (outermost, outer_buffers) = used
        if not capacity.has_room_with_sharing(outermost):
            return []
        if any(isinstance(item, Nest) for item in nest.body):
            return outer_buffers
        inner_buffers = [
            each
            for level, buffers in inner_levels
            if capacity.has_room_without_sharing(level)
            for each in buffers
        ]
        return [*outer_buffers, *inner_buffers]

    def _can_issue_load_early(
        self,
        nest: Nest,
        instruction: Instruction,
        multi_buffers: Sequence[Buffer],
        early_loads: Sequence[Instruction],
        prefetch_distance: int,
    ) -> bool:
        """
        Return `True` if a load may be issued `prefetch_distance` iterations early.
        """
        if instruction.move_endpoints is None:
            return False
        source, destination = instruction.move_endpoints
        if self._names.index(source.level) <= self._names.index(destination.level):
            return False
        if _has_overwritten_source(nest, instruction, early_loads):
            return False
        if _is_ring_fill_from_outside(instruction, nest):
            return _has_free_ring_slices(instruction, nest, prefetch_distance)
        if destination not in multi_buffers:
            return False
        for item in nest.body:
            if item is instruction:
                return True
            if item not in early_loads and has_access_to_buffer(item, destination):
                return False
        return False


def _has_overwritten_source(
    nest: Nest, load: Instruction, early_loads: Sequence[Instruction]
) -> bool:
    """
    Return `True` if other iterations may write the source of a load, or its own
    iteration may write it before the load, except for an equally early load of its
    indices in its queue.
    """
    is_after = False
    for item in nest.body:
        is_after |= item is load
        if _is_index_load(item, load, early_loads):
            continue
        for write in (each for step in instructions_in([item]) for each in step.writes):
            for read in load.reads:
                if read.can_alias_later(write) if is_after else read.can_alias(write):
                    return True
    return False


def _is_index_load(
    item: Item, load: Instruction, early_loads: Sequence[Instruction]
) -> bool:
    """
    Return `True` if an item is an equally early load of a load's indices, in its queue.
    """
    if isinstance(item, Nest) or not load.is_indexed or item not in early_loads:
        return False
    return item.queue == load.queue


def _instructions_in_body(nest: Nest) -> list[Instruction]:
    return [item for item in nest.body if isinstance(item, Instruction)]


def _body_with_early_loads(
    nest: Nest, early_loads: Sequence[Instruction]
) -> list[Item]:
    """
    Return the body with early loads at its start, or after nests that they would delay.
    """
    remaining = [item for item in nest.body if item not in early_loads]
    early_by_position: dict[int, list[Item]] = {}
    for step in early_loads:
        if nest.stages > 1:
            position = _count_items_before_load(step, nest, remaining)
        else:
            position = _count_items_to_last_queue_load(step, remaining)
        early_by_position.setdefault(position, []).append(step)
    body = early_by_position.get(0, [])
    for index, item in enumerate(remaining, 1):
        body += [item, *early_by_position.get(index, ())]
    return body


def _count_items_before_load(
    instruction: Instruction, nest: Nest, remaining_items: Sequence[Item]
) -> int:
    """
    Return the number of items of a body that stay before an early load: all up to the
    last nest with loads in the same queue before the first use of its tile.
    """
    assert instruction.move_endpoints is not None
    count = 0
    if _is_ring_fill_from_outside(instruction, nest):
        return count
    for index, item in enumerate(remaining_items, 1):
        if has_access_to_buffer(
            item, instruction.move_endpoints[1]
        ) or _is_awaited_with_other_moves(instruction, item):
            break
        if isinstance(item, Nest) and _has_load_in_same_queue(item, instruction):
            count = index
    return count


def _is_awaited_with_other_moves(instruction: Instruction, item: Item) -> bool:
    """Return `True` if an item waits for a load together with other moves."""
    return (
        isinstance(item, Instruction)
        and len(item.completed_moves) > 1
        and instruction in item.completed_moves
    )


def _count_items_to_last_queue_load(
    instruction: Instruction, remaining_items: Sequence[Item]
) -> int:
    """
    Return the number of items of a body up to the last nest with loads in the same
    queue.
    """
    nests = [
        index
        for index, item in enumerate(remaining_items, 1)
        if isinstance(item, Nest) and _has_load_in_same_queue(item, instruction)
    ]
    return max(nests, default=0)


def _has_load_in_same_queue(nest: Nest, instruction: Instruction) -> bool:
    return any(each.queue == instruction.queue for each in nest.instructions())


def _accumulator_buffers(nest: Nest, moved_buffers: Sequence[Buffer]) -> list[Buffer]:
    """Return the buffers, allocated in a nest and not moved, that products write."""
    accumulators = {
        access.buffer: None
        for step in nest.instructions()
        if step.is_product
        for access in step.writes
        if access.buffer.allocation_nest is nest
    }
    return [each for each in accumulators if each not in moved_buffers]


def _is_ring_fill_from_outside(instruction: Instruction, nest: Nest) -> bool:
    """Return `True` if a move fills slices of a ring from outside of a nest."""
    if (
        instruction.move_endpoints is None
        or instruction.move_endpoints[1].slice_count == 1
    ):
        return False
    home = instruction.move_endpoints[1].allocation_nest
    return home is None or not home.is_within(nest)


def _has_free_ring_slices(
    move: Instruction, nest: Nest, prefetch_distance: int
) -> bool:
    """
    Return `True` if the ring slices that a move writes are free `prefetch_distance`
    iterations early.
    """
    (write,) = move.writes
    before = True
    for item in nest.body:
        if item is move:
            before = False
            continue
        steps = item.instructions() if isinstance(item, Nest) else [item]
        for step in steps:
            for read in step.reads_and_writes:
                if read.buffer is not write.buffer:
                    continue
                first = 0 if before else 1
                for distance in range(first, prefetch_distance + 1):
                    if _can_ring_slices_overlap(read, write, nest, distance):
                        return False
    return True


def _can_ring_slices_overlap(
    read_access: BufferAccess,
    write_access: BufferAccess,
    nest: Nest,
    prefetch_distance: int,
) -> bool:
    """
    Return `True` if a write may overlap the ring slices that a read of the iteration
    `prefetch_distance` earlier accesses.
    """
    shift, slices = (
        write_access.first_slice - read_access.first_slice,
        write_access.buffer.slice_count,
    )
    if shift.terms or any(
        nest.counters != (each,) for each, _ in read_access.first_slice.terms
    ):
        return True
    step = sum(step_of_index(read_access.first_slice, each) for each in nest.counters)
    distance = step * prefetch_distance + shift.constant
    return (
        not read_access.slice_count
        <= distance % slices
        <= slices - write_access.slice_count
    )
