"""
Insertion of signals and waits by the NPU code generator: semaphores that order
dependent instructions.

An engine executes its instructions in order. Other dependences are ordered as follows:

- Within a block, an instruction (or loop) that depends on an earlier one of another
  engine waits for a signal that the other engine issues directly after it.
- A loop-carried dependence of distance `n` is ordered in the same way. In addition, `n`
  signals at the start of the program cover the first iterations, and `n` waits at its
  end consume the last signals. `n` is 1, or more if iterations use multi-buffer slots.
  This also orders the last iterations of a loop and the first ones of its next
  execution.

The n-th wait consumes the n-th signal, independent of their positions: the signals and
waits of a move are issued ahead with it.

An order implied by other edges gets no semaphore. Instructions in `npu.cores` are
ordered per core; signals and waits outside it are for all cores.
"""

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.normalized_loops import is_index_arithmetic
from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.block_dependences import BlockDependences
from tlf.lowering.mem_to_npu.chunk_sync import ChunkSync
from tlf.lowering.mem_to_npu.instruction_tree import (
    BlockItem,
    EngineStream,
    InstructionTree,
)
from tlf.lowering.mem_to_npu.loop_carried_dependences import LoopCarriedDependences
from tlf.lowering.mem_to_npu.lowered_operations import BUFFERS_AND_VIEWS
from tlf.lowering.mem_to_npu.sync_edges import SyncEdge


@dataclass
class Synchroniser:
    """Inserter of semaphore signals and waits between engines into an `npu` program."""

    tree: InstructionTree
    program: Block
    core_local_levels: frozenset[str] = frozenset()
    """Memory levels that are private to a core."""
    semaphore_count: int = 0
    """Number of semaphores allocated so far."""
    sync_operations: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """Signals and waits of each operation."""
    late_waits: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """Waits before a loop that its prologue does not need, in order."""
    chunk_loop_fronts: dict[Operation, Operation] = field(
        default_factory=dict[Operation, Operation]
    )
    """Chunk loop before which the prologue of a loop is inserted."""
    _loop_carried_edges: list[tuple[SyncEdge, int]] = field(
        default_factory=list[tuple[SyncEdge, int]]
    )

    def insert_signals_and_waits(self) -> None:
        """Insert signals and waits into the program."""
        self._synchronise_block(self.program, ())
        first, last = self.program.first_op, self.program.last_op
        assert first is not None
        assert last is not None
        for edge, semaphore in self._loop_carried_edges:
            for _ in range(edge.iterations):
                signal = npu.SignalOp(edge.signalling_stream.engine, semaphore)
                wait = npu.WaitOp(edge.waiting_stream.engine, semaphore)
                self.program.insert_op_before(signal, first)
                self.program.insert_op_before(wait, last)

    def _synchronise_block(self, block: Block, loops: tuple[scf.ForOp, ...]) -> None:
        """Insert the signals and waits of a block and, recursively, of its loops."""
        items = self.tree.instruction_items_of(block)
        forward = BlockDependences(items, loops)
        forward.find_sync_edges()
        carried: list[SyncEdge] = []
        if loops and isinstance(block.parent_op(), scf.ForOp):
            spans = self.tree.step_ranges
            carried = LoopCarriedDependences(
                items, forward, loops, spans, self.core_local_levels
            ).find_sync_edges()
        for each in forward.chunk_syncs:
            self._insert_chunkwise_sync(each)
        self._find_chunk_loop_fronts(items, forward.chunk_syncs)
        self._insert_signals_and_waits_of_edges(block, items, forward.edges, carried)
        for op in [item.op for item in items]:
            if isinstance(op, scf.ForOp):
                self._synchronise_block(op.body.block, (*loops, op))
            elif isinstance(op, npu.CoresOp):
                self._synchronise_block(op.body.block, loops)

    def _insert_signals_and_waits_of_edges(
        self,
        block: Block,
        items: list[BlockItem],
        forward_edges: list[SyncEdge],
        loop_carried_edges: list[SyncEdge],
    ) -> None:
        """
        Insert a signal and a wait per edge; forward edges of a stream pair share one
        semaphore, loop-carried edges have one each.
        """
        # Signals and waits of a pair of streams are in the same order, so that they
        # share one semaphore per block.
        shared: dict[tuple[EngineStream, EngineStream, bool], int] = {}
        for edge in forward_edges:
            pair = edge.signalling_stream, edge.waiting_stream, edge.is_late
            if pair not in shared:
                shared[pair] = self._allocate_semaphore()
            self._insert_signal_and_wait(block, items, edge, shared[pair])
        for edge in loop_carried_edges:
            semaphore = self._allocate_semaphore()
            self._loop_carried_edges.append((edge, semaphore))
            self._insert_signal_and_wait(block, items, edge, semaphore)

    def _insert_signal_and_wait(
        self, block: Block, items: list[BlockItem], edge: SyncEdge, semaphore: int
    ) -> None:
        """Insert a signal after an edge's producer, and a wait before its consumer."""
        signal = npu.SignalOp(edge.signalling_stream.engine, semaphore)
        wait = npu.WaitOp(edge.waiting_stream.engine, semaphore)
        earlier, later = items[edge.producer_index].op, items[edge.consumer_index].op
        block.insert_op_after(signal, earlier)
        late = self.late_waits.setdefault(later, [])
        front = self.chunk_loop_fronts.get(later)
        if front is not None and self._is_wait_before_chunk_loop(front, items, edge):
            block.insert_op_before(wait, front)
        else:
            block.insert_op_before(wait, later if edge.is_late or not late else late[0])
        if edge.is_late:
            late.append(wait)
        self.sync_operations.setdefault(earlier, []).append(signal)
        self.sync_operations.setdefault(later, []).append(wait)

    def _insert_chunkwise_sync(self, chunk_sync: ChunkSync) -> None:
        """Insert signals and waits of `chunk_sync`, and record them by operation."""
        for op, sync_op in chunk_sync.insert_signals_and_waits(
            self._allocate_semaphore()
        ).items():
            self.sync_operations.setdefault(op, []).append(sync_op)

    def _find_chunk_loop_fronts(
        self, items: list[BlockItem], chunk_syncs: list[ChunkSync]
    ) -> None:
        """
        Find the chunk loops before which prologues of loops are inserted, so that
        prefetched instructions precede the chunks in the queue.
        """
        for each in chunk_syncs:
            item, chunks = items[each.consumer_index], {items[each.producer_index].op}
            chunks |= {
                items[c.producer_index].op
                for c in chunk_syncs
                if c.consumer_index == each.consumer_index
            }
            front = _first_chunk_loop_before(
                chunks, item.op, each.signalling_stream.engine
            )
            if front is not None and item.prefetching_engines <= {
                each.signalling_stream.engine
            }:
                self.chunk_loop_fronts[item.op] = front

    def _is_wait_before_chunk_loop(
        self, chunk_loop: Operation, items: list[BlockItem], edge: SyncEdge
    ) -> bool:
        """
        Return `True` if a wait of prefetched instructions is inserted before the chunk
        loop `chunk_loop`.
        """
        front_index = next(
            index for index, item in enumerate(items) if item.op is chunk_loop
        )
        engines = {stream.engine for stream in items[front_index].leaves}
        if edge.is_late or edge.waiting_stream.engine not in engines:
            return False
        return edge.iterations > 0 or edge.producer_index < front_index

    def _allocate_semaphore(self) -> int:
        self.semaphore_count += 1
        return self.semaphore_count - 1


def _first_chunk_loop_before(
    chunk_loops: set[Operation], loop: Operation, engine: str
) -> Operation | None:
    """Return the first of the chunk loops before a loop, across idle operations."""
    first, op = None, loop.prev_op
    while op is not None and (op in chunk_loops or _is_idle_or_issued_by(op, engine)):
        first = op if op in chunk_loops else first
        op = op.prev_op
    return first


def _is_idle_or_issued_by(op: Operation, engine: str) -> bool:
    """
    Return `True` if an operation has no effect, or is a move or semaphore operation of
    the given engine.
    """
    if isinstance(op, npu.DmaOp | npu.SemaphoreOp):
        return op.engine == engine
    return is_index_arithmetic(op) or isinstance(
        op, (mem.Move, mem.WaitOp, *BUFFERS_AND_VIEWS)
    )
