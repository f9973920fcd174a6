"""Select overlapping loops, multi-buffers and early loads, as `mem-pipeline` does."""

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
    instructions_in,
)
from tlf.planner.cost.program.multibuffer_capacity import LiveRanges, NestCapacity

SLOTS = 2
"""Of a tile that nests in a body use one is in use, and one on its way."""


@dataclass
class IterationOverlap:
    """Lets iterations of the nests of a schedule overlap."""

    items: Sequence[Item]
    levels: Sequence[Level]
    """The nearest first."""

    def overlap_nests(self) -> None:
        """Outer nests first."""
        self._names = [level.name for level in self.levels]
        self._visit_items(self.items)

    def _visit_items(self, items: Sequence[Item]) -> None:
        for item in items:
            if isinstance(item, Nest):
                self._overlap_nest(item)
                self._visit_items(item.body)
                self._prefetch_around(item)

    def _prefetch_around(self, nest: Nest) -> None:
        """Let what a nest loads for those in its body start an iteration ahead."""
        if nest.stages > 1 or nest.trips == 1:
            return
        buffers: list[Buffer] = []
        for buffer in self._loaded_buffers(nest):
            room = NestCapacity(
                LiveRanges.of(self.items), nest, [*buffers, buffer], SLOTS
            )
            if room.has_room_unshared(self.levels[0]):
                buffers.append(buffer)
        early = self._prefetchable_loads(nest, buffers, SLOTS - 1)
        moved = [step.moves[1] for step in early if step.moves is not None]
        self._multibuffer(nest, [each for each in buffers if each in moved], SLOTS)
        self._issue_ahead(nest, early, SLOTS - 1)

    def _loaded_buffers(self, nest: Nest) -> list[Buffer]:
        """The buffers that a body fills in the nearest level, for overlapping nests."""
        inner = [item for item in nest.body if isinstance(item, Nest)]
        if not any(each.stages > 1 for each in inner):
            return []
        ends = (
            step.moves[1]
            for step in _direct_instructions(nest)
            if step.moves is not None
        )
        nearest = self._names[0]
        found = [each for each in ends if each.home is nest and each.level == nearest]
        return list(dict.fromkeys(found))

    def _prefetchable_loads(
        self, nest: Nest, slotted: Sequence[Buffer], iterations: int
    ) -> list[Instruction]:
        """The loads that may be issued so many iterations ahead."""
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
        for number, buffer in enumerate(buffers):
            buffer.multibuffer_nest = nest
            buffer.order = (nest.order - 1, 1, number)

    @staticmethod
    def _issue_ahead(nest: Nest, early: Sequence[Instruction], iterations: int) -> None:
        """Issue loads so many iterations before their own."""
        for step in early:
            step.ahead = iterations
        nest.body = _place_early_loads(nest, early)

    def _overlap_nest(self, nest: Nest) -> None:
        slots = min(nest.stages, nest.trips)
        moved = self._moved_buffers(nest)
        fills = any(_is_ring_filled(each, nest) for each in _direct_instructions(nest))
        if slots < 2 or not (moved or fills):
            return
        summed = _accumulator_buffers(nest, moved)
        buffers = self._buffers_with_room(nest, [*moved, *summed], slots)
        if summed and not buffers:
            buffers = self._buffers_with_room(nest, moved, slots)
        if not (buffers or fills):
            return
        nest.slots = slots
        self._multibuffer(nest, buffers, slots)
        early = self._prefetchable_loads(nest, buffers, slots - 1)
        products = select_early_products(nest, early, buffers)
        self._issue_ahead(nest, early, slots - 1)
        if products and self._has_unshared_buffers(nest):
            first = with_waits(products, nest)
            for step in products:
                step.ahead = slots - 1
            chosen = [*early, *first]
            nest.body = chosen + [each for each in nest.body if each not in chosen]

    def _has_unshared_buffers(self, nest: Nest) -> bool:
        """
        Return `True` if no buffer that is live in a nest shares its bytes with another
        one.
        """
        room = NestCapacity(LiveRanges.of(self.items), nest, (), 1)
        return room.has_room_unshared(self.levels[0])

    def _moved_buffers(self, nest: Nest) -> list[Buffer]:
        """The buffers of a body that moves in it fill or empty: their near ends."""
        found: dict[Buffer, None] = {}
        for step in _direct_instructions(nest):
            if step.moves is not None:
                near = min(step.moves, key=lambda each: self._names.index(each.level))
                if near.home is nest:
                    found[near] = None
        return list(found)

    def _buffers_with_room(
        self, nest: Nest, moved: Sequence[Buffer], slots: int
    ) -> list[Buffer]:
        """Those in the farthest level, and nearer ones if the body has no loops."""
        used = [
            (level, [each for each in moved if each.level == level.name])
            for level in self.levels
        ]
        used = [pair for pair in used if pair[1]]
        if not used:
            return []
        room = NestCapacity(LiveRanges.of(self.items), nest, moved, slots)
        *nearer, (farthest, kept) = used
        if not room.has_room_shared(farthest):
            return []
        if any(isinstance(item, Nest) for item in nest.body):
            return kept
        near = [
            each
            for level, found in nearer
            if room.has_room_unshared(level)
            for each in found
        ]
        return [*kept, *near]

    def _can_prefetch(
        self,
        nest: Nest,
        step: Instruction,
        slotted: Sequence[Buffer],
        early: Sequence[Instruction],
        iterations: int,
    ) -> bool:
        """Return `True` if a load may be issued iterations ahead."""
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
            if item not in early and _has_access_to(item, destination):
                return False
        return False


def _is_overwritten(
    nest: Nest, load: Instruction, early: Sequence[Instruction]
) -> bool:
    """
    Return `True` if other iterations may write what a load reads, or its own may before
    it, except for an equally early load of its indices in its queue.
    """
    behind = False
    for item in nest.body:
        behind |= item is load
        if _is_index_load(item, load, early):
            continue
        for write in (each for step in instructions_in([item]) for each in step.writes):
            for read in load.reads:
                if read.can_alias_later(write) if behind else read.can_alias(write):
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
    """The body with early loads at its start, or behind nests they would hold up."""
    rest = [item for item in nest.body if item not in early]
    behind: dict[int, list[Item]] = {}
    for step in early:
        if nest.stages > 1:
            place = _count_items_before(step, nest, rest)
        else:
            place = _count_to_queue_end(step, rest)
        behind.setdefault(place, []).append(step)
    body = behind.get(0, [])
    for number, item in enumerate(rest, 1):
        body += [item, *behind.get(number, ())]
    return body


def _count_items_before(step: Instruction, nest: Nest, rest: Sequence[Item]) -> int:
    """
    Return the number of items of a body that stay before an early load: all up to the
    last nest before its tile is used that loads in the same queue.
    """
    assert step.moves is not None
    found = 0
    if _is_ring_filled(step, nest):
        return found
    for number, item in enumerate(rest, 1):
        if _has_access_to(item, step.moves[1]) or _is_awaited(step, item):
            break
        if isinstance(item, Nest) and _has_load_in_queue(item, step):
            found = number
    return found


def _is_awaited(step: Instruction, item: Item) -> bool:
    """Return `True` if an item waits for a load and for other moves, too."""
    return (
        isinstance(item, Instruction)
        and len(item.finishes) > 1
        and step in item.finishes
    )


def _count_to_queue_end(step: Instruction, rest: Sequence[Item]) -> int:
    """
    Return the number of items of a body up to the last nest that loads in a queue.
    """
    nests = [
        number
        for number, item in enumerate(rest, 1)
        if isinstance(item, Nest) and _has_load_in_queue(item, step)
    ]
    return max(nests, default=0)


def _has_load_in_queue(nest: Nest, step: Instruction) -> bool:
    return any(each.queue == step.queue for each in nest.instructions())


def _has_access_to(item: Item, buffer: Buffer) -> bool:
    steps = item.instructions() if isinstance(item, Nest) else [item]
    return any(
        each.buffer is buffer for step in steps for each in step.reads_and_writes
    )


def _accumulator_buffers(nest: Nest, moved: Sequence[Buffer]) -> list[Buffer]:
    """The buffers of a body that products are summed up in."""
    found = {
        access.buffer: None
        for step in nest.instructions()
        if step.product
        for access in step.writes
        if access.buffer.home is nest
    }
    return [each for each in found if each not in moved]


def _is_ring_filled(step: Instruction, nest: Nest) -> bool:
    """Return `True` if a move fills slices of a ring from outside of a nest."""
    if step.moves is None or step.moves[1].slices == 1:
        return False
    home = step.moves[1].home
    return home is None or not home.is_within(nest)


def _is_slot_free(move: Instruction, nest: Nest, iterations: int) -> bool:
    """
    Return `True` if the destination of a move in a ring is free `iterations` ahead.
    """
    (place,) = move.writes
    before = True
    for item in nest.body:
        if item is move:
            before = False
            continue
        steps = item.instructions() if isinstance(item, Nest) else [item]
        for step in steps:
            for read in step.reads_and_writes:
                if read.buffer is not place.buffer:
                    continue
                first = 0 if before else 1
                for earlier in range(first, iterations + 1):
                    if _is_overlapping(read, place, nest, earlier):
                        return False
    return True


def _is_overlapping(
    read: BufferAccess, place: BufferAccess, nest: Nest, iterations: int
) -> bool:
    """Return `True` if ring slices of two iterations may overlap."""
    forms = [_ring_access_form(each, nest) for each in (read, place)]
    if forms[0] is None or forms[1] is None or forms[0][0] != forms[1][0]:
        return True
    factor, slices = forms[0][0], place.buffer.slices
    apart = factor * iterations + forms[1][1] - forms[0][1]
    return not read.extent <= apart % slices <= slices - place.extent


def _ring_access_form(access: BufferAccess, nest: Nest) -> tuple[int, int] | None:
    """The slices that an access moves by in an iteration, and where it starts."""
    factor, constant = 0, access.start.constant
    for symbol, times in access.start.terms:
        if nest.variables != (symbol,):
            return None
        (variable,) = nest.variables
        factor += times * variable.step
        constant += times * variable.lower
    return factor, constant
