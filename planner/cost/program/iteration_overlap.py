"""
Cost model of `mem-pipeline`, on its schedule instead of IR: overlapping loops,
multi-buffers, and loads and products that start iterations early.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from tlf.dialects.target import Level, TargetSpec
from tlf.planner.cost.program.instruction_nests import Buffer, Item, Nest
from tlf.planner.cost.program.live_ranges import LiveRangeAnalysis, LiveRanges
from tlf.planner.cost.program.schedule_body import ScheduleBody
from tlf.planner.overlap.ahead_selection import (
    find_last_loop_in_queue,
    find_loop_before_load,
    find_waits_before_product,
    select_loads_ahead,
    select_products_ahead,
)
from tlf.planner.overlap.slot_selection import (
    OUTER_LOOP_SLOTS,
    find_buffers_loaded_for_inner_loops,
    select_slots,
    select_slots_for_inner_loops,
)


def overlap_nests(items: list[Item], target: TargetSpec) -> None:
    """Overlap the iterations of nests as `mem-pipeline` does, outer nests first."""
    IterationOverlap(items, list(target.levels.values())).overlap_nests_in(items)


@dataclass(frozen=True)
class IterationOverlap:
    """Transformation, in place, that overlaps the iterations of a schedule's nests."""

    program: Sequence[Item]
    levels: Sequence[Level]
    """Memory levels, innermost first."""
    live_ranges: LiveRangeAnalysis = field(default_factory=LiveRangeAnalysis)

    def overlap_nests_in(self, items: Sequence[Item]) -> None:
        """
        Overlap the iterations of each nest in `items`, then of those in its body, and
        prefetch loads for the latter.
        """
        for item in items:
            if isinstance(item, Nest):
                self._overlap_iterations_of(item)
                self.overlap_nests_in(item.body)
                self._prefetch_loads_of_inner_nests(item)

    def _ranges_of_program(self) -> LiveRanges:
        return self.live_ranges.ranges_of(self.program)

    def _overlap_iterations_of(self, nest: Nest) -> None:
        """
        Give buffers of a nest a slot per stage, and issue its loads and early products
        that many iterations less one early.
        """
        # The number of iterations of a core is no constant in the compiled program.
        trips = nest.stages if nest.is_distributed else nest.trip_count
        slots = min(nest.stages, trips)
        body = ScheduleBody.of_nest(nest, self._ranges_of_program)
        selection = select_slots(body, self.levels, slots)
        if not selection.is_overlapped:
            return
        buffers = selection.multibuffers
        loads = select_loads_ahead(body, buffers, slots - 1, self.levels).early
        products = select_products_ahead(body, loads, buffers, slots, self.levels[0])
        nest.slot_count, nest.is_normalized = slots, True
        _rotate_buffer_slots(nest, buffers, slots)
        _issue_ahead(body, loads, products, slots - 1)
        self.live_ranges.forget_nest(nest)

    def _prefetch_loads_of_inner_nests(self, nest: Nest) -> None:
        """Issue the loads of a nest for nests in its body one iteration early."""
        if nest.stages > 1 or nest.trip_count == 1:
            return
        body, innermost = (
            ScheduleBody.of_nest(nest, self._ranges_of_program),
            self.levels[0],
        )
        candidates = find_buffers_loaded_for_inner_loops(body.operations, innermost)
        nest.is_normalized = bool(candidates)
        if not candidates:
            return
        distance = OUTER_LOOP_SLOTS - 1
        buffers = select_slots_for_inner_loops(body, innermost)
        loads = select_loads_ahead(body, buffers, distance, self.levels).early
        filled = [
            move.destination.identity
            for each in loads
            if (move := body.operations[each].move) is not None
        ]
        _rotate_buffer_slots(nest, [e for e in buffers if e in filled], distance + 1)
        _issue_ahead(body, loads, (), distance)
        self.live_ranges.forget_nest(nest)


def _rotate_buffer_slots(
    nest: Nest, buffers: Sequence[Hashable], slot_count: int
) -> None:
    """Rotate the slots of multi-buffers over the iterations of a nest."""
    if buffers:
        nest.slot_count = slot_count
    for index, buffer in enumerate(buffers):
        assert isinstance(buffer, Buffer)
        buffer.multibuffer_nest = nest
        buffer.level_position = (nest.program_position - 1, 1, index)


def _issue_ahead(
    body: ScheduleBody, loads: Sequence[int], products: Sequence[int], distance: int
) -> None:
    """
    Issue loads and products `distance` iterations early: at the start of the body,
    loads before products, or right after a loop that a load would delay.
    """
    operations = body.operations
    for each in (*loads, *products):
        body.instruction_at(each).prefetch_distance = distance
    loads_after: dict[int | None, list[int]] = {}
    for load in loads:
        loop = (
            find_loop_before_load(operations, load, loads)
            if body.nest.stages > 1
            else find_last_loop_in_queue(operations, load)
        )
        loads_after.setdefault(loop, []).append(load)
    order = dict.fromkeys(loads_after.get(None, ()))
    for product in products:
        order.update(
            dict.fromkeys(find_waits_before_product(operations, product, loads))
        )
        order[product] = None
    for position in range(len(operations)):
        if position not in loads:
            order[position] = None
        order.update(dict.fromkeys(loads_after.get(position, ())))
    body.nest.body = [body.items[position] for position in order]
