"""
Cost model of `mem-pipeline`: selection of overlapping loops, multi-buffers and early
loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tlf.dialects.target import Level
from tlf.planner.cost.program.early_products import select_early_products, with_waits
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    BufferAccess,
    Instruction,
    Item,
    Nest,
    has_access_to,
    instructions_in,
    step_of_index,
)
from tlf.planner.cost.program.multibuffer_capacity import LiveRanges, NestCapacity

SLOTS = 2
"""Slots of a tile that nests in a body use: one in use, one being loaded."""


@dataclass
class IterationOverlap:
    """Overlap of the iterations of a schedule's nests."""

    items: Sequence[Item]
    levels: Sequence[Level]
    """Memory levels, innermost first."""

    def overlap_nests(self) -> None:
        """Overlap the iterations of nests, outer nests first."""
        self._names = [level.name for level in self.levels]
        self._visit_items(self.items)

    def _visit_items(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Nest):
                self._overlap_nest(item)
                self._visit_items(item.body)
                self._prefetch_around(item)

    def _prefetch_around(self, nest: Nest) -> None:
        """Issue the loads of a nest for nests in its body one iteration early."""
        if nest.stages > 1 or nest.trips == 1:
            return
        buffers: list[Buffer] = []
        for buffer in self._loaded_buffers(nest):
            capacity = NestCapacity(
                LiveRanges.of(self.items), nest, [*buffers, buffer], SLOTS
            )
            if capacity.has_room_unshared(self.levels[0]):
                buffers.append(buffer)
        early = self._prefetchable_loads(nest, buffers, SLOTS - 1)
        loaded = [step.moves[1] for step in early if step.moves is not None]
        self._multibuffer(nest, [each for each in buffers if each in loaded], SLOTS)
        self._issue_ahead(nest, early, SLOTS - 1)

    def _loaded_buffers(self, nest: Nest) -> list[Buffer]:
        """
        Return the buffers of the innermost level that a body loads for overlapping
        nests.
        """
        inner = [item for item in nest.body if isinstance(item, Nest)]
        if not any(each.stages > 1 for each in inner):
            return []
        destinations = (
            step.moves[1]
            for step in _direct_instructions(nest)
            if step.moves is not None
        )
        innermost = self._names[0]
        buffers = [
            each
            for each in destinations
            if each.home is nest and each.level == innermost
        ]
        return list(dict.fromkeys(buffers))

    def _prefetchable_loads(
        self, nest: Nest, slotted: Sequence[Buffer], iterations: int
    ) -> list[Instruction]:
        """Return the loads that may be issued `iterations` iterations early."""
        early: list[Instruction] = []
        for step in _direct_instructions(nest):
            if self._can_prefetch(nest, step, slotted, early, iterations):
                early.append(step)
        return early

    def _multibuffer(self, nest: Nest, buffers: Sequence[Buffer], slots: int) -> None:
        """Rotate the slots of multi-buffers over the iterations of a nest."""
        if not buffers:
            return
        nest.slots = slots
        for index, buffer in enumerate(buffers):
            buffer.multibuffer_nest = nest
            buffer.order = (nest.order - 1, 1, index)

    @staticmethod
    def _issue_ahead(nest: Nest, early: Sequence[Instruction], iterations: int) -> None:
        """Issue loads `iterations` iterations early."""
        for step in early:
            step.ahead = iterations
        nest.body = _place_early_loads(nest, early)

    def _overlap_nest(self, nest: Nest) -> None:
        slots = min(nest.stages, nest.trips)
        moved = self._moved_buffers(nest)
        fills = any(_is_ring_filled(each, nest) for each in _direct_instructions(nest))
        if slots < 2 or not (moved or fills):
            return
        accumulators = _accumulator_buffers(nest, moved)
        buffers = self._buffers_with_room(nest, [*moved, *accumulators], slots)
        if accumulators and not buffers:
            buffers = self._buffers_with_room(nest, moved, slots)
        if not (buffers or fills):
            return
        nest.slots = slots
        self._multibuffer(nest, buffers, slots)
        early = self._prefetchable_loads(nest, buffers, slots - 1)
        products = select_early_products(nest, early, buffers)
        self._issue_ahead(nest, early, slots - 1)
        if products and self._has_unshared_buffers(nest):
            early_products = with_waits(products, nest)
            for step in products:
                step.ahead = slots - 1
            chosen = [*early, *early_products]
            nest.body = chosen + [each for each in nest.body if each not in chosen]

    def _has_unshared_buffers(self, nest: Nest) -> bool:
        """
        Return `True` if no buffer that is live in a nest shares bytes with another.
        """
        capacity = NestCapacity(LiveRanges.of(self.items), nest, (), 1)
        return capacity.has_room_unshared(self.levels[0])

    def _moved_buffers(self, nest: Nest) -> list[Buffer]:
        """Return the buffers of a body that are the inner side of its moves."""
        buffers: dict[Buffer, None] = {}
        for step in _direct_instructions(nest):
            if step.moves is not None:
                inner = min(step.moves, key=lambda each: self._names.index(each.level))
                if inner.home is nest:
                    buffers[inner] = None
        return list(buffers)

    def _buffers_with_room(
        self, nest: Nest, moved: Sequence[Buffer], slots: int
    ) -> list[Buffer]:
        """
        Return the buffers of the outermost level in use, and those of inner levels if
        the body has no loops, as far as there is capacity.
        """
        used = [
            (level, [each for each in moved if each.level == level.name])
            for level in self.levels
        ]
        used = [pair for pair in used if pair[1]]
        if not used:
            return []
        capacity = NestCapacity(LiveRanges.of(self.items), nest, moved, slots)
        *inner_levels, (outermost, outer_buffers) = used
        if not capacity.has_room_shared(outermost):
            return []
        if any(isinstance(item, Nest) for item in nest.body):
            return outer_buffers
        inner_buffers = [
            each
            for level, buffers in inner_levels
            if capacity.has_room_unshared(level)
            for each in buffers
        ]
        return [*outer_buffers, *inner_buffers]

    def _can_prefetch(
        self,
        nest: Nest,
        step: Instruction,
        slotted: Sequence[Buffer],
        early: Sequence[Instruction],
        iterations: int,
    ) -> bool:
        """Return `True` if a load may be issued `iterations` iterations early."""
        if step.moves is None:
            return False
        source, destination = step.moves
        if self._names.index(source.level) <= self._names.index(destination.level):
            return False
        if _is_overwritten(nest, step, early):
            return False
        if _is_ring_filled(step, nest):
            return _is_slot_free(step, nest, iterations)
        if destination not in slotted:
            return False
        for item in nest.body:
            if item is step:
                return True
            if item not in early and has_access_to(item, destination):
                return False
        return False


def _is_overwritten(
    nest: Nest, load: Instruction, early: Sequence[Instruction]
) -> bool:
    """
    Return `True` if other iterations may write the source of a load, or its own
    iteration may write it before the load, except for an equally early load of its
    indices in its queue.
    """
    is_after = False
    for item in nest.body:
        is_after |= item is load
        if _is_index_load(item, load, early):
            continue
        for write in (each for step in instructions_in([item]) for each in step.writes):
            for read in load.reads:
                if read.can_alias_later(write) if is_after else read.can_alias(write):
                    return True
    return False


def _is_index_load(item: Item, load: Instruction, early: Sequence[Instruction]) -> bool:
    """
    Return `True` if an item is an equally early load of a load's indices, in its queue.
    """
    if isinstance(item, Nest) or not load.indexed or item not in early:
        return False
    return item.queue == load.queue


def _direct_instructions(nest: Nest) -> list[Instruction]:
    return [item for item in nest.body if isinstance(item, Instruction)]


def _place_early_loads(nest: Nest, early: Sequence[Instruction]) -> list[Item]:
    """
    Return the body with early loads at its start, or after nests that they would delay.
    """
    remaining = [item for item in nest.body if item not in early]
    early_by_position: dict[int, list[Item]] = {}
    for step in early:
        if nest.stages > 1:
            position = _count_items_before(step, nest, remaining)
        else:
            position = _count_to_queue_end(step, remaining)
        early_by_position.setdefault(position, []).append(step)
    body = early_by_position.get(0, [])
    for index, item in enumerate(remaining, 1):
        body += [item, *early_by_position.get(index, ())]
    return body


def _count_items_before(step: Instruction, nest: Nest, rest: Sequence[Item]) -> int:
    """
    Return the number of items of a body that stay before an early load: all up to the
    last nest with loads in the same queue before the first use of its tile.
    """
    assert step.moves is not None
    count = 0
    if _is_ring_filled(step, nest):
        return count
    for index, item in enumerate(rest, 1):
        if has_access_to(item, step.moves[1]) or _is_awaited(step, item):
            break
        if isinstance(item, Nest) and _has_load_in_queue(item, step):
            count = index
    return count


def _is_awaited(step: Instruction, item: Item) -> bool:
    """Return `True` if an item waits for a load together with other moves."""
    return (
        isinstance(item, Instruction)
        and len(item.finishes) > 1
        and step in item.finishes
    )


def _count_to_queue_end(step: Instruction, rest: Sequence[Item]) -> int:
    """
    Return the number of items of a body up to the last nest with loads in the same
    queue.
    """
    nests = [
        index
        for index, item in enumerate(rest, 1)
        if isinstance(item, Nest) and _has_load_in_queue(item, step)
    ]
    return max(nests, default=0)


def _has_load_in_queue(nest: Nest, step: Instruction) -> bool:
    return any(each.queue == step.queue for each in nest.instructions())


def _accumulator_buffers(nest: Nest, moved: Sequence[Buffer]) -> list[Buffer]:
    """Return the buffers of a body that products accumulate into."""
    accumulators = {
        access.buffer: None
        for step in nest.instructions()
        if step.product
        for access in step.writes
        if access.buffer.home is nest
    }
    return [each for each in accumulators if each not in moved]


def _is_ring_filled(step: Instruction, nest: Nest) -> bool:
    """Return `True` if a move fills slices of a ring from outside of a nest."""
    if step.moves is None or step.moves[1].slices == 1:
        return False
    home = step.moves[1].home
    return home is None or not home.is_within(nest)


def _is_slot_free(move: Instruction, nest: Nest, iterations: int) -> bool:
    """
    Return `True` if the ring slices that a move writes are free `iterations` iterations
    early.
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
                for distance in range(first, iterations + 1):
                    if _is_overlapping(read, write, nest, distance):
                        return False
    return True


def _is_overlapping(
    read: BufferAccess, place: BufferAccess, nest: Nest, iterations: int
) -> bool:
    """Return `True` if ring slices of two iterations may overlap."""
    shift, slices = place.start - read.start, place.buffer.slices
    if shift.terms or any(nest.variables != (each,) for each, _ in read.start.terms):
        return True
    step = sum(step_of_index(read.start, each) for each in nest.variables)
    distance = step * iterations + shift.constant
    return not read.extent <= distance % slices <= slices - place.extent
