"""
Loop-carried dependences between instructions, as synchronisation edges of the NPU code
generator.
"""

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
    """Loop-carried dependences of a loop body, and the edges that order them."""

    items: list[BlockItem]
    forward: BlockDependences
    loops: Sequence[scf.ForOp]
    """Loops around the items, outermost first."""
    step_ranges: Mapping[Operation, tuple[int, int]]
    """First and last step of every loop."""
    core_local_levels: frozenset[str] = frozenset()
    """Memory levels that are private to a core."""
    edges: list[SyncEdge] = field(default_factory=list[SyncEdge])

    def find_edges(self) -> list[SyncEdge]:
        count, max_period = len(self.items), self._max_period()
        progress: dict[Stream, Progress] = {}
        for waiting, done in self.forward.final_progress.items():
            merge_progress(progress.setdefault(waiting, {}), done, 1, count)
        after: dict[tuple[int, Stream], Progress] = {}
        for index, item in enumerate(self.items):
            for waiting in item.leaves:
                done = progress.setdefault(waiting, {})
                for leaves, late in item.wait_groups(waiting):
                    self._update_progress(index, waiting, late, done, after)
                    for iterations in range(1, max_period + 1):
                        self._add_edges(index, waiting, leaves, done, iterations, late)
            for stream in item.leaves:
                after[index, stream] = dict(progress[stream])
        return self.edges

    def _update_progress(
        self,
        number: int,
        waiting: Stream,
        late: bool,
        done: Progress,
        after: Mapping[tuple[int, Stream], Progress],
    ) -> None:
        """Merge the progress implied by the waits before an item."""
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
            # Accesses without slots already conflict in the next iteration.
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
        """Return the longest period of a multi-buffer slot, in iterations."""
        return max(
            (
                slot.period(self.loops[-1])
                for item in self.items
                for leaves in item.leaves.values()
                for leaf in leaves
                for access in leaf.accesses
                for slot in access.slots
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
        """Return `True` if a common inner loop already orders two accesses."""
        depth = len(self.loops)
        inner = zip(producer.loops[depth:], consumer.loops[depth:], strict=False)
        for level, (loop, other) in enumerate(inner, 1):
            if loop is not other:
                return False
            if self._can_conflict_across_cores(loop, first):
                return False
            common_loops = producer.loops[: depth + level]
            if producer.is_before_next(
                consumer, self.step_ranges[loop]
            ) and first.is_periodic_conflict(second, common_loops, level):
                return True
        return False

    def _can_conflict_across_cores(self, loop: scf.ForOp, touch: BufferAccess) -> bool:
        """
        Return `True` if other cores may access the same bytes in a loop that every core
        executes.
        """
        is_in_cores, parent = False, loop.parent_op()
        while parent is not None and parent is not self.loops[-1]:
            is_in_cores |= isinstance(parent, npu.CoresOp)
            parent = parent.parent_op()
        return is_in_cores and touch.extent.level not in self.core_local_levels
