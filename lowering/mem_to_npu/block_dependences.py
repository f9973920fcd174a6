"""
Dependences within one execution of a block, as synchronisation edges of the NPU code
generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

from xdsl.dialects import scf

from tlf.lowering.mem_to_npu.chunk_sync import ChunkedLoad, ChunkedStore, ChunkSync
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
class BlockDependences:
    """Dependences within one execution of a block, and the edges that order them."""

    items: list[BlockItem]
    loops: Sequence[scf.ForOp]
    """Loops around the block, outermost first."""
    edges: list[SyncEdge] = field(default_factory=list[SyncEdge])
    final_progress: dict[Stream, Progress] = field(
        default_factory=dict[Stream, Progress]
    )
    """Progress known to each stream at the end of the block."""
    progress_after: dict[tuple[int, Stream], Progress] = field(
        default_factory=dict[tuple[int, Stream], Progress]
    )
    """Progress known to a stream after an item, by item index and stream."""
    chunk_syncs: list[ChunkSync] = field(default_factory=list[ChunkSync])
    """Chunk-wise waits that replace edges."""

    def find_edges(self) -> None:
        for index, item in enumerate(self.items):
            for waiting in item.leaves:
                for leaves, late in item.wait_groups(waiting):
                    self._add_edges(index, waiting, leaves, late)
            for each in self.chunk_syncs:
                if each.before == index and each.is_complete:
                    self._update_progress(
                        self.final_progress[each.waiting], each.stream, each.after
                    )
            for stream in item.leaves:
                self.progress_after[index, stream] = dict(
                    self.final_progress.get(stream, {})
                )

    def _add_edges(
        self, number: int, waiting: Stream, leaves: list[InstructionLeaf], late: bool
    ) -> None:
        progress = self.final_progress.setdefault(waiting, {})
        for position in range(number - 1, -1, -1):
            item = self.items[position]
            for stream, producers in item.leaves.items():
                if is_ordered(stream, waiting) or progress.get(stream, -1) >= position:
                    continue
                if not self._has_conflict(producers, leaves):
                    continue
                if chunk_sync := self._find_chunk_sync(
                    position, stream, number, waiting
                ):
                    self.chunk_syncs.append(chunk_sync)
                    continue
                check_prefetch_distance(self.items[number], stream, waiting, 0)
                edge = SyncEdge(stream, position, waiting, number, late=late)
                self.edges.append(edge)
                self._update_progress(progress, stream, position)

    def _update_progress(self, done: Progress, stream: Stream, position: int) -> None:
        """Merge the progress implied by a stream that has completed an item."""
        merge_progress(done, self.progress_after[position, stream], 0)
        done[stream] = max(position, done.get(stream, position))

    def _has_conflict(
        self, producers: list[InstructionLeaf], consumers: list[InstructionLeaf]
    ) -> bool:
        return any(True for _ in self._dependent_pairs(producers, consumers))

    def _dependent_pairs(
        self, producers: list[InstructionLeaf], consumers: list[InstructionLeaf]
    ) -> Iterator[tuple[InstructionLeaf, InstructionLeaf, BufferAccess]]:
        """
        Yield the pairs of dependent instructions that the program orders, with the
        later access.
        """
        for producer, consumer in product(producers, consumers):
            if producer.is_before(consumer):
                for _, access in producer.conflicting_accesses(consumer, self.loops, 0):
                    yield producer, consumer, access

    def _find_chunk_sync(
        self, position: int, stream: Stream, number: int, waiting: Stream
    ) -> ChunkSync | None:
        """
        Return the chunk-wise synchronisation of two loops, if one of them only moves
        chunks; otherwise `None`.
        """
        item, later = self.items[position], self.items[number]
        if not isinstance(item.op, scf.ForOp) or not isinstance(later.op, scf.ForOp):
            return None
        if list(item.leaves) == [stream]:
            move_class: type[ChunkedLoad | ChunkedStore] = ChunkedLoad
        elif list(later.leaves) == [waiting]:
            move_class = ChunkedStore
        else:
            return None
        leaves = item.leaves[stream]
        pairs = list(self._dependent_pairs(leaves, later.leaves[waiting]))
        if any(access.writes for _, _, access in pairs):
            return None
        move = move_class.of([pair[:2] for pair in pairs], item.op, later.op)
        if move is None:
            return None
        last = max(leaves, key=lambda leaf: leaf.step)
        is_complete = last.op is move.earlier
        return ChunkSync(stream, position, waiting, number, move, is_complete)
