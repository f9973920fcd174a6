"""
Analysis in the NPU code generator: dependences within one execution of a block, as
synchronisation edges.
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


@dataclass
class BlockDependences:
    """Dependences within one execution of a block, and the edges that order them."""

    items: list[BlockItem]
    loops: Sequence[scf.ForOp]
    """Loops around the block, outermost first."""
    edges: list[SyncEdge] = field(default_factory=list[SyncEdge])
    final_progress: dict[EngineStream, Progress] = field(
        default_factory=dict[EngineStream, Progress]
    )
    """Progress known to each stream at the end of the block."""
    progress_after: dict[tuple[int, EngineStream], Progress] = field(
        default_factory=dict[tuple[int, EngineStream], Progress]
    )
    """Progress known to a stream after an item, by item index and stream."""
    chunk_syncs: list[ChunkSync] = field(default_factory=list[ChunkSync])
    """Chunk-wise waits that replace edges."""
    _positions: dict[EngineStream, list[int]] = field(
        default_factory=dict[EngineStream, list[int]]
    )
    """Indices of the items so far that have instructions of a stream, in order."""

    def find_sync_edges(self) -> None:
        """Fill `edges`, `chunk_syncs` and `progress_after` from the items in order."""
        for index, item in enumerate(self.items):
            for waiting in item.leaves:
                for leaves, late in item.instructions_sharing_waits(waiting):
                    self._add_edges_from_earlier_items(index, waiting, leaves, late)
            for each in self.chunk_syncs:
                if each.consumer_index == index and each.is_complete:
                    self._merge_progress_of_completed_item(
                        self.final_progress[each.waiting_stream],
                        each.signalling_stream,
                        each.producer_index,
                    )
            for stream in item.leaves:
                self.progress_after[index, stream] = dict(
                    self.final_progress.get(stream, {})
                )
                self._positions.setdefault(stream, []).append(index)

    def _add_edges_from_earlier_items(
        self,
        item_index: int,
        waiting_stream: EngineStream,
        leaves: list[InstructionLeaf],
        is_late: bool,
    ) -> None:
        """
        Add an edge or a chunk-wise wait for each earlier item that `leaves` depend on,
        unless known progress already orders them.
        """
        progress = self.final_progress.setdefault(waiting_stream, {})
        accessed = bytes_accessed_by(leaves)
        for position, stream in self._find_unordered_items(waiting_stream, progress):
            item = self.items[position]
            if not item.bytes_accessed_by(stream).can_conflict_with(accessed):
                continue
            if not self._has_dependent_pair(item.leaves[stream], leaves):
                continue
            if chunk_sync := self._find_chunk_sync_of_loops(
                position, stream, item_index, waiting_stream
            ):
                self.chunk_syncs.append(chunk_sync)
                continue
            check_prefetch_distance(self.items[item_index], stream, waiting_stream, 0)
            edge = SyncEdge(
                stream, position, waiting_stream, item_index, is_late=is_late
            )
            self.edges.append(edge)
            self._merge_progress_of_completed_item(progress, stream, position)

    def _find_unordered_items(
        self, waiting_stream: EngineStream, progress: Progress
    ) -> Iterator[tuple[int, EngineStream]]:
        """
        Yield the indices and streams of the items so far, the latest first, that are
        ordered neither by the engine nor by `progress`, which may grow meanwhile.
        """
        counts = {
            stream: len(positions)
            for stream, positions in self._positions.items()
            if not is_ordered_by_engine(stream, waiting_stream)
        }
        while counts:
            position = max(self._positions[each][n - 1] for each, n in counts.items())
            for stream in self.items[position].leaves:
                if stream not in counts:
                    continue
                counts[stream] -= 1
                # Progress at an item includes all earlier items of its stream.
                is_ordered = progress.get(stream, -1) >= position
                if is_ordered or not counts[stream]:
                    del counts[stream]
                if not is_ordered:
                    yield position, stream

    def _merge_progress_of_completed_item(
        self, progress: Progress, stream: EngineStream, item_index: int
    ) -> None:
        """Merge the progress implied by a stream that has completed an item."""
        merge_progress_of_stream(progress, self.progress_after[item_index, stream], 0)
        progress[stream] = max(item_index, progress.get(stream, item_index))

    def _has_dependent_pair(
        self, producers: list[InstructionLeaf], consumers: list[InstructionLeaf]
    ) -> bool:
        return any(
            True for _ in self._dependent_instruction_pairs(producers, consumers)
        )

    def _dependent_instruction_pairs(
        self, producers: list[InstructionLeaf], consumers: list[InstructionLeaf]
    ) -> Iterator[tuple[InstructionLeaf, InstructionLeaf, BufferAccess]]:
        """
        Yield the pairs of dependent instructions that the program orders, with the
        later access.
        """
        for producer, consumer in product(producers, consumers):
            if producer.is_ordered_before(consumer):
                for _, access in producer.conflicting_access_pairs(
                    consumer, self.loops, 0
                ):
                    yield producer, consumer, access

    def _find_chunk_sync_of_loops(
        self,
        earlier_index: int,
        stream: EngineStream,
        later_index: int,
        waiting_stream: EngineStream,
    ) -> ChunkSync | None:
        """
        Return the chunk-wise synchronisation of two loops, if one of them only moves
        chunks; otherwise `None`.
        """
        item, later = self.items[earlier_index], self.items[later_index]
        if not isinstance(item.op, scf.ForOp) or not isinstance(later.op, scf.ForOp):
            return None
        if list(item.leaves) == [stream]:
            move_class: type[ChunkedLoad | ChunkedStore] = ChunkedLoad
        elif list(later.leaves) == [waiting_stream]:
            move_class = ChunkedStore
        else:
            return None
        leaves = item.leaves[stream]
        pairs = list(
            self._dependent_instruction_pairs(leaves, later.leaves[waiting_stream])
        )
        if any(access.is_write for _, _, access in pairs):
            return None
        move = move_class.find_between_loops(
            [pair[:2] for pair in pairs], item.op, later.op
        )
        if move is None:
            return None
        last = max(leaves, key=lambda leaf: leaf.step)
        is_complete = last.op is move.last_producer_op
        return ChunkSync(
            stream, earlier_index, waiting_stream, later_index, move, is_complete
        )
