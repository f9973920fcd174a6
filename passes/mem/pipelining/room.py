"""Capacity of memory levels for the slots of a loop's buffers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.mem_liveness import Liveness
from tlf.analysis.tiling.model import WIDEST
from tlf.dialects import mem
from tlf.dialects.target import Level
from tlf.dialects.types import byte_count
from tlf.passes.mem.mem_split_maps import is_structure
from tlf.support.allocation import Buffer, align, live_bytes


@dataclass(frozen=True)
class Room:
    """Live ranges in a loop whose body has some buffers with slots."""

    loop: Operation
    body: Block
    """The innermost body of the loop's nest."""
    slotted: Collection[mem.AllocOp]
    slots: int
    liveness: Liveness

    @staticmethod
    def of(
        loop: Operation, body: Block, slotted: Collection[mem.AllocOp], slots: int
    ) -> Room:
        """Look at a loop in its function."""
        op = loop
        while not isinstance(op, func.FuncOp):
            parent = op.parent_op()
            assert parent is not None
            op = parent
        liveness = Liveness.around(loop, op.body)
        return Room(loop, body, slotted, slots, liveness)

    def at_once(self, level: Level) -> bool:
        """
        Return `True` if the buffers that are live at the same step fit in a level.
        """
        return live_bytes(self._buffers(level)) <= level.capacity

    def side_by_side(self, level: Level) -> bool:
        """
        Return `True` if all buffers that are live in the loop, and intermediate values
        of maps of several operations, fit in a level without sharing.
        """
        buffers = self._buffers(level)
        (loop,) = self._during(0, self.liveness.spans[self.loop]).spans
        needed = sum(each.size for each in buffers if each.spans[0].meets(loop))
        inner = [
            _in_between(op) for op in self.body.walk() if op.parent is not self.body
        ]
        needed += sum(map(_in_between, self.body.ops)) + max(inner, default=0)
        return needed <= level.capacity

    def _buffers(self, level: Level) -> list[Buffer]:
        """The buffers in a level that may be live while the loop runs."""
        found: list[Buffer] = []
        for op in self.liveness.spans:
            if not isinstance(op, mem.AllocOp) or op.level != level.name:
                continue
            size = align(byte_count(op.buffer_type), level.alignment)
            live = self.liveness.interval(op.buffer)
            if op in self.slotted:
                size, live = size * self.slots, self.liveness.spans[self.loop]
            if live is not None:
                found.append(self._during(size, live))
        return found

    def _during(self, size: int, live: tuple[int, int]) -> Buffer:
        return Buffer.during(size, live[0], live[1] + 1)


def _in_between(op: Operation) -> int:
    """The bytes of what a map of several operations computes in between."""
    if not isinstance(op, mem.MapOp):
        return 0
    steps = [each for each in op.body.block.ops if not is_structure(each)]
    return prod(op.extents) * WIDEST * max(0, len(steps) - 1)
