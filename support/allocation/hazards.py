"""
Pipeline hazards, without IR: stalls of engines because buffers share bytes.

Instructions pass through the engines in one direction: loads, matrix products,
elementwise operations, stores. Each engine runs ahead in the program as far as it can.
An engine that uses a buffer for the first time waits for the last use of the buffer
that occupied its bytes before. The engine stalls if that last use is further down the
pipeline: the more, the further down it is, and the closer both are in the program.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tlf.support.allocation.lifetime_extension import Loops

REACH = 8
"""
Distance, in first and last uses of other buffers, from which on sharing bytes causes no
stall.
"""

REPEATED = 4
"""Assumed ratio of the executions of a loop body to those of the enclosing code."""


@dataclass(frozen=True)
class BufferUse:
    """Steps and pipeline stages of the first and the last use of a buffer."""

    first_step: int
    """Step of the first instruction that uses the buffer."""
    last_step: int
    first_stage: int
    """
    Pipeline stage of the engine of the first instruction; see
    `pipeline_stage_of_engine`.
    """
    last_stage: int
    """Pipeline stage of the engine of the last instruction."""
    loops: Loops = ()
    """Steps [start, end) of the loops around the buffer, outermost first."""


def pipeline_stage_of_engine(
    levels: int, move: tuple[int, int] | None, *, is_product: bool
) -> int:
    """
    Return the pipeline stage of the engine of an instruction, on a machine with
    `levels` memory levels: of a transfer between two levels, 0 being the innermost, of
    a matrix product, or else of an elementwise operation.
    """
    if move is None:
        return levels if is_product else levels + 1
    source, destination = move
    return levels - 1 - source if source > destination else levels + 2 + source


Hazards: TypeAlias = Sequence[Mapping[int, int]]
"""Cost of sharing bytes, by buffer and other buffer."""


def find_hazards(
    uses: Sequence[BufferUse], live_together: Sequence[Collection[int]]
) -> Hazards:
    """
    Return the hazards among buffers that are not live `live_together`, which share no
    bytes anyway.
    """
    return _HazardFinder(uses, live_together).find_all_hazards()


class _HazardFinder:
    """
    Detection of hazards; distances are counted in first and last uses instead of steps.
    """

    def __init__(
        self, uses: Sequence[BufferUse], live_together: Sequence[Collection[int]]
    ) -> None:
        self.uses = uses
        self.together = live_together
        self.events = sorted(
            {step for use in uses for step in (use.first_step, use.last_step)}
        )
        self.starting: dict[int, list[int]] = {}
        for index, use in enumerate(uses):
            self.starting.setdefault(self._rank_of_step(use.first_step), []).append(
                index
            )

    def find_all_hazards(self) -> Hazards:
        """
        Return the stall costs of sharing bytes, summed over both orders of a pair.
        """
        hazards: list[dict[int, int]] = [{} for _ in self.uses]
        for index in range(len(self.uses)):
            for other, distance in self._buffers_used_soon_after(index).items():
                if cost := self._stall_cost_of_sharing(index, other, distance):
                    hazards[index][other] = hazards[index].get(other, 0) + cost
                    hazards[other][index] = hazards[other].get(index, 0) + cost
        return hazards

    def _rank_of_step(self, step: int) -> int:
        return bisect_left(self.events, step)

    def _buffers_used_soon_after(self, buffer_index: int) -> dict[int, int]:
        """Return the buffers that are used soon after a buffer, and their distances."""
        distances: dict[int, int] = {}
        for other, distance in self._next_uses_after(buffer_index):
            if other != buffer_index and other not in self.together[buffer_index]:
                distances[other] = min(distance, distances.get(other, REACH))
        return distances

    def _next_uses_after(self, buffer_index: int) -> Iterator[tuple[int, int]]:
        """
        Yield the buffers used next and their distances, in this iteration of each loop
        and in the next one.
        """
        use = self.uses[buffer_index]
        last = self._rank_of_step(use.last_step)
        for distance in range(1, REACH):
            for other in self.starting.get(last + distance, ()):
                yield other, distance
        for loop in use.loops:
            start, remaining = (
                self._rank_of_step(loop[0]),
                self._rank_of_step(loop[1]) - last,
            )
            for distance in range(max(1, remaining), REACH):
                for other in self.starting.get(start + distance - remaining, ()):
                    other_use = self.uses[other]
                    if (
                        other_use.first_step < use.first_step
                        and loop in other_use.loops
                    ):
                        yield other, distance

    def _stall_cost_of_sharing(
        self, earlier_buffer: int, later_buffer: int, distance: int
    ) -> int:
        """
        Return the estimated stall cost of allocating the second buffer at the bytes of
        the first.
        """
        before, after = self.uses[earlier_buffer], self.uses[later_buffer]
        stages = max(0, before.last_stage - after.first_stage)
        pairs = zip(before.loops, after.loops, strict=False)
        common = sum(loop == other_loop for loop, other_loop in pairs)
        return stages * (REACH - distance) * REPEATED**common
