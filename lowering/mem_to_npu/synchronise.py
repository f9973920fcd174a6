"""
Signals and waits, so that instructions that depend on each other run in order.

Engines run their own instructions in order. For everything else:

- In one block, an instruction (or loop) that depends on an earlier one of another
  engine waits for a signal that the other engine gives right after it.
- From an iteration of a loop to one `n` later, the same, except that `n` signals are
  given at the start of the program, for the first iterations, and waited for at its
  end. `n` is 1, or more where iterations take slots of a buffer in turn. This orders
  the last iterations of a loop and the first ones of its next execution, too.

The n-th wait takes the n-th signal, wherever instructions stand: a move that is issued
some iterations ahead takes its signals and waits with it.

An order that follows from others is not built again. What is in `npu.cores` is ordered
in every core by itself; signals and waits outside of it are for all cores.
"""

from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Block, Operation

from tlf.analysis.buffers.counters import is_pure
from tlf.dialects import mem, npu
from tlf.lowering.mem_to_npu.carried import Carried
from tlf.lowering.mem_to_npu.clean import VIEWS
from tlf.lowering.mem_to_npu.dependences import Item, Stream, Tree
from tlf.lowering.mem_to_npu.edges import Edge
from tlf.lowering.mem_to_npu.forward import Forward
from tlf.lowering.mem_to_npu.paces import Chunked


@dataclass
class Synchroniser:
    """
    Inserts signals and waits into a program.
    """

    tree: Tree
    program: Block
    own: frozenset[str] = frozenset()
    """The levels that every core has for itself."""
    semaphores: int = 0
    """Number of semaphores in use."""
    beside: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """The signals and waits for each operation."""
    late: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """The waits before a loop that what it issues ahead goes before, in order."""
    fronts: dict[Operation, Operation] = field(
        default_factory=dict[Operation, Operation]
    )
    """For a loop, one over chunks that what it issues ahead goes before."""
    _carried: list[tuple[Edge, int]] = field(default_factory=list[tuple[Edge, int]])

    def run(self) -> None:
        """Synchronise the program."""
        self._block(self.program, ())
        first, last = self.program.first_op, self.program.last_op
        assert first is not None
        assert last is not None
        for edge, semaphore in self._carried:
            for _ in range(edge.iterations):
                signal = npu.SignalOp(edge.stream.engine, semaphore)
                wait = npu.WaitOp(edge.waiting.engine, semaphore)
                self.program.insert_op_before(signal, first)
                self.program.insert_op_before(wait, last)

    def _block(self, block: Block, loops: tuple[scf.ForOp, ...]) -> None:
        items = self.tree.items(block)
        forward = Forward(items, loops)
        forward.run()
        carried: list[Edge] = []
        if loops and isinstance(block.parent_op(), scf.ForOp):
            spans = self.tree.spans
            carried = Carried(items, forward, loops, spans, self.own).run()
        for each in forward.chunked:
            self._place_chunked(each)
        self._find_fronts(items, forward.chunked)
        self._insert(block, items, forward.edges, carried)
        for op in [item.op for item in items]:
            if isinstance(op, scf.ForOp):
                self._block(op.body.block, (*loops, op))
            elif isinstance(op, npu.CoresOp):
                self._block(op.body.block, loops)

    def _insert(
        self, block: Block, items: list[Item], forward: list[Edge], carried: list[Edge]
    ) -> None:
        # Signals and waits of one pair of streams come in the same order, so that one
        # semaphore does for all of a block.
        shared: dict[tuple[Stream, Stream, bool], int] = {}
        for edge in forward:
            pair = edge.stream, edge.waiting, edge.late
            if pair not in shared:
                shared[pair] = self._new()
            self._place(block, items, edge, shared[pair])
        for edge in carried:
            semaphore = self._new()
            self._carried.append((edge, semaphore))
            self._place(block, items, edge, semaphore)

    def _place(
        self, block: Block, items: list[Item], edge: Edge, semaphore: int
    ) -> None:
        signal = npu.SignalOp(edge.stream.engine, semaphore)
        wait = npu.WaitOp(edge.waiting.engine, semaphore)
        earlier, later = items[edge.after].op, items[edge.before].op
        block.insert_op_after(signal, earlier)
        late = self.late.setdefault(later, [])
        front = self.fronts.get(later)
        if front is not None and self._goes_before(front, items, edge):
            block.insert_op_before(wait, front)
        else:
            block.insert_op_before(wait, later if edge.late or not late else late[0])
        if edge.late:
            late.append(wait)
        self.beside.setdefault(earlier, []).append(signal)
        self.beside.setdefault(later, []).append(wait)

    def _place_chunked(self, chunked: Chunked) -> None:
        for op, made in chunked.place(self._new()).items():
            self.beside.setdefault(op, []).append(made)

    def _find_fronts(self, items: list[Item], chunked: list[Chunked]) -> None:
        """Let what loops issue ahead go before the chunks that they wait for."""
        for each in chunked:
            item, chunks = items[each.before], {items[each.after].op}
            chunks |= {items[c.after].op for c in chunked if c.before == each.before}
            front = _first_of(chunks, item.op, each.stream.engine)
            if front is not None and item.ahead <= {each.stream.engine}:
                self.fronts[item.op] = front

    def _goes_before(self, front: Operation, items: list[Item], edge: Edge) -> bool:
        """
        Return `True` if a wait of instructions that a loop issues ahead belongs before
        the loop over chunks, `front`.
        """
        at = next(number for number, item in enumerate(items) if item.op is front)
        engines = {stream.engine for stream in items[at].leaves}
        if edge.late or edge.waiting.engine not in engines:
            return False
        return edge.iterations > 0 or edge.after < at

    def _new(self) -> int:
        self.semaphores += 1
        return self.semaphores - 1


def _first_of(chunks: set[Operation], loop: Operation, engine: str) -> Operation | None:
    """
    The first of some loops that stand before another one, with nothing between but what
    the same engine does, and has not begun.
    """
    found, op = None, loop.prev_op
    while op is not None and (op in chunks or _is_idle(op, engine)):
        found = op if op in chunks else found
        op = op.prev_op
    return found


def _is_idle(op: Operation, engine: str) -> bool:
    """
    Return `True` if an operation has no effect, or is a move or semaphore operation of
    an engine.
    """
    if isinstance(op, npu.DmaOp | npu.SemaphoreOp):
        return op.engine == engine
    return is_pure(op) or isinstance(op, (mem.Move, mem.WaitOp, *VIEWS))
