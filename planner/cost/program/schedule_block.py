"""
Cost model of NPU tile programs: facts of chunking decisions, collected from the items
of its schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from tlf.analysis.buffers.strided_views import has_unique_stride, stride_steps_between
from tlf.planner.chunking.block_facts import BoxFacts, BufferUser, MoveFacts
from tlf.planner.cost.program.buffer_views import BufferView
from tlf.planner.cost.program.instruction_nests import (
    Buffer,
    Instruction,
    Item,
    LoopCounter,
    Nest,
    congruence_of_index,
    counter_values,
    evaluate_index,
    has_access_to_buffer,
    instructions_in,
)
from tlf.planner.cost.program.move_cost import MoveCost, MoveSide


@dataclass(frozen=True)
class ScheduleLoop:
    """Loop of the compiled program around an instruction."""

    nest: Nest
    counters: tuple[LoopCounter, ...]
    """Counters of the nest that the loop counts."""
    inner_trip_count: int = 1
    """Iterations of the nest per iteration of the loop."""

    @property
    def trip_count(self) -> int | None:
        """Trip count of the compiled loop; None if it depends on the core."""
        if self.nest.is_core_region:
            return self.nest.core_count
        if self.nest.core_count > 1:
            return None
        return prod(each.trips for each in self.counters)

    @staticmethod
    def loops_of_nest(nest: Nest) -> list[ScheduleLoop]:
        """Return the loops of a nest, outermost first."""
        if nest.is_normalized or nest.core_count > 1:
            return [ScheduleLoop(nest, nest.counters)]
        trips = [each.trips for each in nest.counters]
        return [
            ScheduleLoop(nest, (counter,), prod(trips[position + 1 :]))
            for position, counter in enumerate(nest.counters)
        ]


@dataclass(frozen=True)
class ScheduleTileAccess:
    """Read or write of a move in nests."""

    instruction: Instruction
    loops: Sequence[ScheduleLoop]
    """Loops around the move, outermost first."""
    box_shape: tuple[int, ...]
    side: MoveSide
    """Side of the move that accesses the buffer."""
    other_view: BufferView
    """View of the same buffer that another move accesses as a whole."""

    @property
    def trip_counts(self) -> Sequence[int | None]:
        """Trip counts of the loops, outermost first; None if unknown."""
        return [loop.trip_count for loop in self.loops]

    def view_offset(self, axis: int) -> int | None:
        """Return the offset of the other view; None if it is unknown."""
        return _offset_between(self.other_view, self.side.view, axis)

    def offsets_in_loop(self, loop_index: int, axis: int) -> list[int] | None:
        """Return the offset of the box in each iteration of a loop."""
        counters, offset = self.loops[loop_index].counters, self.side.offsets[axis]
        if self.loops[loop_index].trip_count is None:
            return None
        if any(symbol not in counters for symbol, _ in offset.terms):
            return None
        return [evaluate_index(offset, values) for values in counter_values(counters)]


@dataclass(frozen=True)
class ScheduleBlock:
    """Facts of the items of a schedule or of the body of a nest."""

    items: Sequence[Item]
    program: Sequence[Item]
    """Items of the whole schedule."""
    surrounding_nest: Nest | None = None
    """Nest whose body this is; None outside of all loops."""

    @property
    def length(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def loop_positions(self) -> Sequence[int]:
        """Positions of nests."""
        pairs = enumerate(self.items)
        return [position for position, item in pairs if isinstance(item, Nest)]

    def instruction_at(self, position: int) -> tuple[Instruction, MoveCost]:
        """Return the move of a box at a position, and its cost."""
        found = _move_of(self.items[position])
        assert found is not None
        return found

    def move_at(self, position: int) -> MoveFacts | None:
        """Return a move of a box; None for other items."""
        if (found := _move_of(self.items[position])) is None:
            return None
        move, cost = found
        source, destination = map(_box_facts_of, (cost.source, cost.destination))
        return MoveFacts(source, destination, cost.box_shape, move.is_filled)

    def is_passive_at(self, position: int) -> bool:
        """Return `True` for a wait."""
        item = self.items[position]
        return isinstance(item, Instruction) and bool(item.completed_moves)

    def buffers_at(self, position: int) -> Collection[Buffer]:
        """Return the buffers that an item accesses."""
        return {
            access.buffer
            for step in instructions_in([self.items[position]])
            for access in step.reads_and_writes
        }

    def wait_positions_of(self, position: int) -> Sequence[int]:
        """Return the positions of the waits for a move, which are in its block."""
        return [
            at
            for at, item in enumerate(self.items)
            if isinstance(item, Instruction)
            and self.items[position] in item.completed_moves
        ]

    def other_users(
        self, position: int, is_load: bool
    ) -> Sequence[BufferUser[ScheduleTileAccess]]:
        """Return the other users of the buffer that a load fills or a store reads."""
        move, cost = self.instruction_at(position)
        view = (cost.destination if is_load else cost.source).view
        users = [
            BufferUser(at, _tile_access_of(step, nests, view, is_load))
            for at, item in enumerate(self.items)
            for nests, step in _steps_accessing(item, view.buffer)
            if step is not move
        ]
        if view.buffer.allocation_nest is not self.surrounding_nest:
            steps = instructions_in(self.program)
            count = sum(has_access_to_buffer(step, view.buffer) for step in steps)
            users += [BufferUser(None, None)] * (count - len(users) - 1)
        return users


def _steps_accessing(
    item: Item, buffer: Buffer, nests: tuple[Nest, ...] = ()
) -> Iterator[tuple[tuple[Nest, ...], Instruction]]:
    """Yield the instructions that access a buffer, and the nests around them."""
    if isinstance(item, Nest):
        for each in item.body:
            yield from _steps_accessing(each, buffer, (*nests, item))
    elif has_access_to_buffer(item, buffer):
        yield nests, item


def _tile_access_of(
    user: Instruction, nests: tuple[Nest, ...], other_view: BufferView, is_read: bool
) -> ScheduleTileAccess | None:
    """Return the read or write of a buffer by a move; None if it is none."""
    if (found := _move_of(user)) is None:
        return None
    cost = found[1]
    side = cost.source if is_read else cost.destination
    if side.view.buffer is not other_view.buffer:
        return None
    loops = [loop for nest in nests for loop in ScheduleLoop.loops_of_nest(nest)]
    return ScheduleTileAccess(user, loops, cost.box_shape, side, other_view)


def _move_of(item: Item) -> tuple[Instruction, MoveCost] | None:
    """Return a move of a box and its cost; None for other items."""
    if isinstance(item, Nest) or item.is_indexed or item.move_endpoints is None:
        return None
    return (item, item.cost) if isinstance(item.cost, MoveCost) else None


def _box_facts_of(side: MoveSide) -> BoxFacts:
    """Return the facts of one side of a move."""
    view, is_variable = side.view, any(each.terms for each in side.offsets)
    return BoxFacts(
        view.buffer,
        view.buffer.level,
        view.shape,
        None if is_variable else tuple(each.constant for each in side.offsets),
        view.strides,
        view.item_bytes,
        congruence_of_index(side.byte_address()),
    )


def _offset_between(view: BufferView, base_view: BufferView, axis: int) -> int | None:
    """
    Return the offset of the first element of one view from that of another along an
    axis; `None` if it is unknown, or if the axis is not the same axis of their buffer.
    """
    if view == base_view:
        return 0
    if view.buffer is not base_view.buffer or len(view.shape) != len(base_view.shape):
        return None
    if (stride := view.strides[axis]) != base_view.strides[axis]:
        return None
    if not all(
        has_unique_stride(each.shape, each.strides, axis) for each in (view, base_view)
    ):
        return None
    first, second = view.ring_window, base_view.ring_window
    if first is not None and second is not None and axis == first.axis:
        distance = first.first_slice - second.first_slice
        return None if distance.terms else distance.constant
    if view.byte_offset.terms or base_view.byte_offset.terms:
        return 0 if view.byte_offset == base_view.byte_offset else None
    bases = view.byte_offset.constant, base_view.byte_offset.constant
    return stride_steps_between(*bases, stride, (*view.strides, *base_view.strides))
