"""Loop-carried dependences between instructions, as synchronisation edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation

from tlf.dialects import npu
from tlf.lowering.mem_to_npu.block_dependences import BlockDependences
from tlf.lowering.mem_to_npu.instruction_tree import (
    BlockItem,
    BufferAccess,
    InstructionLeaf,
    Stream,
)
from tlf.lowering.mem_to_npu.sync_edges import (
    Progress,
    SyncEdge,
    check_prefetch_distance,
    is_ordered,
    merge_progress,
)


@dataclass
class LoopCarriedDependences:
    """The loop-carried dependences of a loop body, and the edges that order them."""

    items: list[BlockItem]
    forward: BlockDependences
    loops: Sequence[scf.ForOp]
    """The loops around the items, outermost first."""
    step_ranges: Mapping[Operation, tuple[int, int]]
    """The first and the last step of every loop."""
    core_local_levels: frozenset[str] = frozenset()
    """The levels that every core has for itself."""
    edges: list[SyncEdge] = field(default_factory=list[SyncEdge])

    def find_edges(self) -> list[SyncEdge]:
        count, reach = len(self.items), self._max_period()
        known: dict[Stream, Progress] = {}
        for waiting, done in self.forward.final_progress.items():
            merge_progress(known.setdefault(waiting, {}), done, 1, count)
        after: dict[tuple[int, Stream], Progress] = {}
        for number, item in enumerate(self.items):
            for waiting in item.leaves:
                done = known.setdefault(waiting, {})
                for leaves, late in item.wait_groups(waiting):
                    self._update_progress(number, waiting, late, done, after)
                    for iterations in range(1, reach + 1):
                        self._add_edges(number, waiting, leaves, done, iterations, late)
            for stream in item.leaves:
                after[number, stream] = dict(known[stream])
        return self.edges

    def _update_progress(
        self,
        number: int,
        waiting: Stream,
        late: bool,
        done: Progress,
        after: Mapping[tuple[int, Stream], Progress],
    ) -> None:
        """Merge the progress that the waits before an item imply."""
        for edge in self.forward.edges:
            if (edge.before, edge.waiting, edge.late) == (number, waiting, late):
                merge_progress(done, after[edge.after, edge.stream], 0)
                done[edge.stream] = max(done.get(edge.stream, edge.after), edge.after)

    def _add_edges(
        self,
        number: int,
        waiting: Stream,
        leaves: list[InstructionLeaf],
        done: Progress,
        iterations: int,
        late: bool,
    ) -> None:
        count = len(self.items)
        if iterations > 1:
            # Whatever has no slots meets in the next iteration already.
            leaves = [leaf for leaf in leaves if leaf.has_slots]
        for position in range(count - 1, -1, -1) if leaves else ():
            item, time = self.items[position], position - iterations * count
            for stream, producers in item.leaves.items():
                if is_ordered(stream, waiting) or done.get(stream, time - 1) >= time:
                    continue
                if not self._has_conflict(producers, leaves, iterations):
                    continue
                check_prefetch_distance(self.items[number], stream, waiting, iterations)
                if stream.engine == waiting.engine:
                    continue
                edge = SyncEdge(stream, position, waiting, number, iterations, late)
                self.edges.append(edge)
                before = self.forward.progress_after[position, stream]
                merge_progress(done, before, iterations, count)
                done[stream] = time

    def _max_period(self) -> int:
        """Return the iterations after which all multi-buffer slots repeat."""
        return max(
            (
                slot.period(self.loops[-1])
                for item in self.items
                for leaves in item.leaves.values()
                for leaf in leaves
                for touch in leaf.accesses
                for slot in touch.slots
            ),
            default=1,
        )

    def _has_conflict(
        self,
        producers: list[InstructionLeaf],
        consumers: list[InstructionLeaf],
        iterations: int,
    ) -> bool:
        span = self.step_ranges[self.loops[-1]]
        return any(
            producer.is_before_next(consumer, span)
            and any(
                not self._is_ordered_inside(producer, consumer, first, second)
                for first, second in producer.conflicting_accesses(
                    consumer, self.loops, iterations
                )
            )
            for producer in producers
            if iterations == 1 or producer.has_slots
            for consumer in consumers
        )

    def _is_ordered_inside(
        self,
        producer: InstructionLeaf,
        consumer: InstructionLeaf,
        first: BufferAccess,
        second: BufferAccess,
    ) -> bool:
        """Return `True` if an inner loop around both already orders them."""
        depth = len(self.loops)
        inner = zip(producer.loops[depth:], consumer.loops[depth:], strict=False)
        for number, (loop, other) in enumerate(inner, 1):
            if loop is not other:
                return False
            if self._can_conflict_across_cores(loop, first):
                return False
            around = producer.loops[: depth + number]
            if producer.is_before_next(
                consumer, self.step_ranges[loop]
            ) and first.is_periodic_conflict(second, around, number):
                return True
        return False

    def _can_conflict_across_cores(self, loop: scf.ForOp, touch: BufferAccess) -> bool:
        """
        Return `True` if other cores may touch the same bytes in a loop that each core
        runs.
        """
        inside, around = False, loop.parent_op()
        while around is not None and around is not self.loops[-1]:
            inside |= isinstance(around, npu.CoresOp)
            around = around.parent_op()
        return inside and touch.extent.level not in self.core_local_levels
