"""Capacity check for the slots of a nest's buffers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tlf.dialects.target import Level
from tlf.planner.cost.program.program import Buffer, Item, Nest, Step
from tlf.support.allocation import Buffer as Live
from tlf.support.allocation import align, live_bytes

Span = tuple[int, int]


@dataclass
class Spans:
    """Live ranges of buffers: from the first instruction that touches them on."""

    nests: dict[Nest, Span]
    buffers: dict[Buffer, Span]
    steps: dict[Step, int] = field(default_factory=dict[Step, int])
    uses: dict[Buffer, tuple[Step, Step]] = field(
        default_factory=dict[Buffer, tuple[Step, Step]]
    )
    """The first and the last instruction that touches each buffer."""

    @staticmethod
    def of(items: Sequence[Item]) -> Spans:
        """Number the instructions of a schedule."""
        spans = Spans({}, {})
        touched: list[tuple[Step, int, tuple[Nest, ...]]] = []
        spans._number(items, 0, (), touched)
        for step, at, around in touched:
            for access in step.touched:
                first, _ = spans.uses.get(access.buffer, (step, step))
                spans.uses[access.buffer] = first, step
            ended = (each for move in step.finishes for each in move.touched)
            for access in (*step.touched, *ended):
                spans._extend(access.buffer, at, around)
        return spans

    def _number(
        self,
        items: Sequence[Item],
        at: int,
        around: tuple[Nest, ...],
        touched: list[tuple[Step, int, tuple[Nest, ...]]],
    ) -> int:
        for item in items:
            if isinstance(item, Step):
                touched.append((item, at, around))
                self.steps[item] = at
                at += 1
                continue
            first = at
            at = self._number(item.body, at + 1, (*around, item), touched) + 1
            self.nests[item] = first, at - 1
        return at

    def _extend(self, buffer: Buffer, at: int, around: tuple[Nest, ...]) -> None:
        """A buffer from outside of a loop is live in all of it."""
        span = at, at
        for nest in around:
            if buffer.home is None or not buffer.home.is_in(nest):
                span = self.nests[nest]
                break
        known = self.buffers.get(buffer, span)
        self.buffers[buffer] = min(known[0], span[0]), max(known[1], span[1])


@dataclass
class Room:
    """Live buffers during a nest, with slots for some buffers of its body."""

    spans: Spans
    nest: Nest
    slotted: Collection[Buffer]
    slots: int

    def at_once(self, level: Level) -> bool:
        """Return `True` if the buffers live at any one instruction fit in a level."""
        return live_bytes([live for live, _ in self._live(level)]) <= level.capacity

    def side_by_side(self, level: Level) -> bool:
        """
        Return `True` if all buffers that are live in the nest fit without sharing.
        """
        first, last = self.spans.nests[self.nest]
        needed = sum(
            live.size
            for live, (start, end) in self._live(level)
            if start <= last and first <= end
        )
        steps = [step for step in self.nest.body if isinstance(step, Step)]
        inner = [step.spare for step in self.nest.steps() if step not in steps]
        needed += sum(step.spare for step in steps) + max(inner, default=0)
        return needed <= level.capacity

    def _live(self, level: Level) -> list[tuple[Live, Span]]:
        found: list[tuple[Live, Span]] = []
        for buffer, span in self.spans.buffers.items():
            if buffer.level != level.name:
                continue
            size = align(buffer.bytes, level.alignment) * buffer.slots
            if buffer in self.slotted:
                size, span = size * self.slots, self.spans.nests[self.nest]
            elif buffer.turns is not None:
                span = self.spans.nests[buffer.turns]
            found.append((Live.during(size, span[0], span[1] + 1), span))
        return found
