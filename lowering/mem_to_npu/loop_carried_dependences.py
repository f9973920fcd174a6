"""
Analysis in the NPU code generator: loop-carried dependences between instructions, as
synchronisation edges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Operation

from tlf.dialects import npu
from tlf.lowering.mem_to_npu.block_dependences import BlockDependences
from tlf.lowering.mem_to_npu.instruction_tree import (
    BlockItem,
    BufferAccess,
    EngineStream,
    InstructionLeaf,
    bytes_accessed_by,
)
from tlf.lowering.mem_to_npu.sync_edges import (
    Progress,
    SyncEdge,
    check_prefetch_distance,
    is_ordered_by_engine,
    merge_progress_of_stream,
)


class AccessPair(NamedTuple):
    """Accesses to overlapping buffers, of instructions of different iterations."""

    producer: InstructionLeaf
    consumer: InstructionLeaf
    earlier: BufferAccess
    later: BufferAccess


@dataclass(eq=False)
class StreamConflicts:
    """Possible conflicts of instructions with those of a stream, iterations earlier."""

    position: int
    """Position of the item that contains the stream."""
    stream: EngineStream
    producers: Sequence[InstructionLeaf]
    """Instructions of the stream."""
    consumers: Sequence[InstructionLeaf]
    loop_steps: tuple[int, int]
    """First and last step of the loop."""

    @cached_property
    def pairs(self) -> list[AccessPair]:
        """Accesses of pairs of instructions that the program orders."""
        accessed = bytes_accessed_by(self.consumers)
        return [
            AccessPair(producer, consumer, earlier, later)
            for producer in self.producers
            if producer.accessed_bytes.can_conflict_with(accessed)
            for consumer in self.consumers
            if producer.is_ordered_before_next_iteration(consumer, self.loop_steps)
            for earlier, later in producer.overlapping_access_pairs(consumer)
        ]

    def between_slots(self) -> StreamConflicts:
        """Return the conflicts between instructions with slots."""
        return StreamConflicts(
            self.position,
            self.stream,
            [each for each in self.producers if each.has_slots],
            [each for each in self.consumers if each.has_slots],
            self.loop_steps,
        )


@dataclass
class LoopCarriedDependences:
    """Loop-carried dependences of a loop body, and the edges that order them."""

    items: list[BlockItem]
    block_dependences: BlockDependences
    loops: Sequence[scf.ForOp]
    """Loops around the items, outermost first."""
    step_ranges: Mapping[Operation, tuple[int, int]]
    """First and last step of every loop."""
    core_local_levels: frozenset[str] = frozenset()
    """Memory levels that are private to a core."""
    edges: list[SyncEdge] = field(default_factory=list[SyncEdge])

    def find_sync_edges(self) -> list[SyncEdge]:
        """Return the edges that order conflicts between iterations of the last loop."""
        count, max_period = len(self.items), self._max_slot_period()
        progress: dict[EngineStream, Progress] = {}
        for waiting, done in self.block_dependences.final_progress.items():
            merge_progress_of_stream(progress.setdefault(waiting, {}), done, 1, count)
        after: dict[tuple[int, EngineStream], Progress] = {}
        for index, item in enumerate(self.items):
            for waiting in item.leaves:
                done = progress.setdefault(waiting, {})
                for leaves, late in item.instructions_sharing_waits(waiting):
                    self._merge_progress_of_forward_waits(
                        index, waiting, late, done, after
                    )
                    conflicts = self._conflicts_with_streams(leaves, waiting)
                    for iterations in range(1, max_period + 1):
                        if iterations == 2:
                            # Other accesses already conflict in the next iteration.
                            conflicts = [each.between_slots() for each in conflicts]
                            conflicts = [each for each in conflicts if each.pairs]
                        self._add_edges_from_earlier_iteration(
                            index, waiting, conflicts, done, iterations, late
                        )
            for stream in item.leaves:
                after[index, stream] = dict(progress[stream])
        return self.edges

    def _merge_progress_of_forward_waits(
        self,
        item_index: int,
        waiting_stream: EngineStream,
        is_late: bool,
        progress: Progress,
        progress_after: Mapping[tuple[int, EngineStream], Progress],
    ) -> None:
        """
        Merge into `progress` the progress implied by the waits of an item on earlier
        items.
        """
        for edge in self.block_dependences.edges:
            if (edge.consumer_index, edge.waiting_stream, edge.is_late) == (
                item_index,
                waiting_stream,
                is_late,
            ):
                merge_progress_of_stream(
                    progress,
                    progress_after[edge.producer_index, edge.signalling_stream],
                    0,
                )
                progress[edge.signalling_stream] = max(
                    progress.get(edge.signalling_stream, edge.producer_index),
                    edge.producer_index,
                )

    def _add_edges_from_earlier_iteration(
        self,
        item_index: int,
        waiting_stream: EngineStream,
        conflicts: Sequence[StreamConflicts],
        progress: Progress,
        iterations: int,
        is_late: bool,
    ) -> None:
        """
        Add edges for conflicts with instructions `iterations` iterations earlier, and
        merge the progress that they imply.
        """
        count = len(self.items)
        for each in conflicts:
            position, stream = each.position, each.stream
            time = position - iterations * count
            if progress.get(stream, time - 1) >= time:
                continue
            if not self._has_unordered_conflict(each, iterations):
                continue
            check_prefetch_distance(
                self.items[item_index], stream, waiting_stream, iterations
            )
            if stream.engine == waiting_stream.engine:
                continue
            edge = SyncEdge(
                stream, position, waiting_stream, item_index, iterations, is_late
            )
            self.edges.append(edge)
            before = self.block_dependences.progress_after[position, stream]
            merge_progress_of_stream(progress, before, iterations, count)
            progress[stream] = time

    def _conflicts_with_streams(
        self, leaves: Sequence[InstructionLeaf], waiting_stream: EngineStream
    ) -> list[StreamConflicts]:
        """
        Return the conflicts of `leaves` with streams of items, the last item first,
        that the engine does not order.
        """
        span, accessed = self.step_ranges[self.loops[-1]], bytes_accessed_by(leaves)
        return [
            StreamConflicts(position, stream, item.leaves[stream], leaves, span)
            for position, item in reversed([*enumerate(self.items)])
            for stream in item.leaves
            if not is_ordered_by_engine(stream, waiting_stream)
            and item.bytes_accessed_by(stream).can_conflict_with(accessed)
        ]

    def _max_slot_period(self) -> int:
        """Return the longest period of a multi-buffer slot, in iterations."""
        return max(
            (
                slot.period_in_loop(self.loops[-1])
                for item in self.items
                for leaves in item.leaves.values()
                for leaf in leaves
                for access in leaf.accesses
                for slot in access.slots
            ),
            default=1,
        )

    def _has_unordered_conflict(
        self, conflicts: StreamConflicts, iterations: int
    ) -> bool:
        """
        Return `True` if accesses `iterations` apart conflict and no common inner loop
        already orders them. Pairs that one orders are dropped.
        """
        for pair in tuple(conflicts.pairs):
            if pair.earlier.has_disjoint_slots(pair.later, self.loops, iterations):
                continue
            if not self._is_ordered_by_inner_loop(pair):
                return True
            conflicts.pairs.remove(pair)
        return False

    def _is_ordered_by_inner_loop(self, pair: AccessPair) -> bool:
        """Return `True` if a common inner loop already orders two accesses."""
        producer, consumer, depth = pair.producer, pair.consumer, len(self.loops)
        inner = zip(producer.loops[depth:], consumer.loops[depth:], strict=False)
        for level, (loop, other) in enumerate(inner, 1):
            if loop is not other:
                return False
            if self._can_conflict_across_cores(loop, pair.earlier):
                return False
            common_loops = producer.loops[: depth + level]
            if producer.is_ordered_before_next_iteration(
                consumer, self.step_ranges[loop]
            ) and pair.earlier.has_periodic_conflict_with(
                pair.later, common_loops, level
            ):
                return True
        return False

    def _can_conflict_across_cores(self, loop: scf.ForOp, access: BufferAccess) -> bool:
        """
        Return `True` if other cores may access the same bytes in a loop that every core
        executes.
        """
        is_in_cores, parent = False, loop.parent_op()
        while parent is not None and parent is not self.loops[-1]:
            is_in_cores |= isinstance(parent, npu.CoresOp)
            parent = parent.parent_op()
        return is_in_cores and access.extent.level not in self.core_local_levels
