"""The room that loads have along a line, in the level that they load to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from xdsl.dialects import func

from tlf.analysis.buffers.mem_liveness import Liveness
from tlf.analysis.buffers.touches import root_of
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.passes.mem.mem_plan import planned_buffer
from tlf.passes.mem.prefetching.line import Line
from tlf.support.allocation import Buffer, align, apart, placed, places, ranked
from tlf.support.allocation.limits import SHARES, VISITS


@dataclass(frozen=True)
class Places:
    """The buffers of a function in one level."""

    level: Level
    liveness: Liveness
    buffers: Mapping[mem.AllocOp, Buffer]

    @staticmethod
    def of(function: func.FuncOp, level: Level) -> Places:
        """Look at a function as it stands."""
        liveness = Liveness.of(function.body)
        buffers = {
            op: planned_buffer(op, liveness, level.alignment)
            for op in function.body.walk()
            if isinstance(op, mem.AllocOp) and op.level == level.name
        }
        return Places(level, liveness, buffers)

    @property
    def are_found(self) -> bool:
        """True if `mem-plan` finds offsets for all buffers."""
        found = placed(list(self.buffers.values()), self.level.capacity)
        return found.peak <= self.level.capacity

    def goals(self, line: Line) -> Iterator[dict[mem.DmaOp, int]]:
        """
        Yield target positions of loads: each the earliest at which there is room for
        its buffer, then with less and less room taken. Loads that stay are left out.
        """
        for share in SHARES:
            goals = self._goals(line, int(self.level.capacity * share))
            if goals and self._is_likely(line, goals):
                yield goals

    def _goals(self, line: Line, limit: int) -> dict[mem.DmaOp, int]:
        """
        Return the target positions of loads with at most `limit` bytes live at once.
        """
        live = self._live(line)
        goals: dict[mem.DmaOp, int] = {}
        first = 0
        for load in line.loads:
            start = goal = line.position[load]
            buffer = self.buffers[_buffer_of(load)]
            size = align(buffer.size, buffer.alignment)
            while (
                goal > first
                and live[goal - 1] + size <= limit
                and not line.stops(load, goal - 1)
            ):
                goal -= 1
                live[goal] += size
            first = goal
            if goal < start:
                goals[load] = goal
        return goals

    def _live(self, line: Line) -> list[int]:
        """The most bytes that are live during each operation of a line."""
        steps = 2 + max((self.liveness.spans[op][1] for op in line.ops), default=0)
        changes = [0] * (steps + 1)
        for buffer in self.buffers.values():
            for span in buffer.spans:
                size = align(buffer.size, buffer.alignment)
                changes[span.start] += size
                changes[span.end] -= size
        totals = list(accumulate(changes))
        return [
            max(totals[first : last + 1])
            for first, last in (self.liveness.spans[op] for op in line.ops)
        ]

    def _is_likely(self, line: Line, goals: Mapping[mem.DmaOp, int]) -> bool:
        """
        Return `True` if offsets are likely to be found once loads are at their target
        positions.
        """
        moved = dict(self.buffers)
        for load, goal in goals.items():
            op = _buffer_of(load)
            (span,) = moved[op].spans
            first = min(span.start, self.liveness.spans[line.ops[goal]][0])
            moved[op] = Buffer.during(
                moved[op].size, first, span.end, moved[op].alignment
            )
        buffers = ranked(list(moved.values()))
        if apart(buffers).peak <= self.level.capacity:
            return True
        return places(buffers, self.level.capacity, VISITS) is not None


def _buffer_of(load: mem.DmaOp) -> mem.AllocOp:
    owner = root_of(load.destination).owner
    assert isinstance(owner, mem.AllocOp)
    return owner
