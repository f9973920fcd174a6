"""Analysis of a `mem` program: live ranges of its buffers."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue

from tlf.analysis.buffers.memory_effects import VIEW_OPS
from tlf.dialects import mem
from tlf.dialects.types import byte_count
from tlf.support.allocation import Buffer

_MOVES = (mem.DmaOp, mem.DmaGatherOp, mem.DmaScatterOp)


@dataclass
class MemLiveness:
    """Step numbers of the operations of a region; a loop spans its body."""

    step_ranges: dict[Operation, tuple[int, int]] = field(
        default_factory=dict[Operation, tuple[int, int]]
    )

    @staticmethod
    def of(region: Region) -> "MemLiveness":
        return MemLiveness.of_operations(_operations_of(region))

    @staticmethod
    def of_operations(ops: Iterable[Operation]) -> "MemLiveness":
        """
        Return the steps of the operations of a block in the order of `ops`, which may
        differ from their order in the block.
        """
        liveness = MemLiveness()
        liveness._assign_step_numbers(ops, 0, None)
        return liveness

    @staticmethod
    def of_loop(loop: Operation, region: Region) -> "MemLiveness":
        """
        Return the steps of a loop in a region, and of the operations around it. Other
        loops are one step: buffers that are live only in their bodies are never live
        together with buffers of this loop.
        """
        opened = {*loop.walk()}
        parent = loop.parent_op()
        while parent is not None:
            opened.add(parent)
            parent = parent.parent_op()
        liveness = MemLiveness()
        liveness._assign_step_numbers(_operations_of(region), 0, opened)
        return liveness

    def _assign_step_numbers(
        self,
        ops: Iterable[Operation],
        step: int,
        expanded_ops: Collection[Operation] | None,
    ) -> int:
        """
        Number operations, and the nested operations of `expanded_ops`, or of all if it
        is None.
        """
        for op in ops:
            first = step
            step += 1
            if expanded_ops is None or op in expanded_ops:
                for nested in map(_operations_of, op.regions):
                    step = self._assign_step_numbers(nested, step, expanded_ops)
            self.step_ranges[op] = first, step
            step += 1
        return step

    def allocations(self) -> list[mem.AllocOp]:
        """Return the numbered allocations, in order."""
        return [op for op in self.step_ranges if type(op) is mem.AllocOp]

    def live_range_of(
        self, buffer: SSAValue, users: Sequence[Operation] | None = None
    ) -> tuple[int, int] | None:
        """
        Return the live range of a buffer: the first and the last step at which its
        contents are used. None if the buffer is never used.

        A use inside a loop that the buffer is defined outside of extends the range to
        the whole loop. `users` are the results of `users_of_buffer`, if known.
        """
        block = buffer.owner.parent if isinstance(buffer.owner, Operation) else None
        users = list(users_of_buffer(buffer) if users is None else users)
        if block is not None:
            users = [block.find_ancestor_op_in_block(op) or op for op in users]
        if not users:
            return None
        ranges = [self.step_ranges[op] for op in users]
        return min(low for low, _ in ranges), max(high for _, high in ranges)


def _operations_of(region: Region) -> Iterator[Operation]:
    """Yield the operations of all blocks of a region, without nested ones."""
    for block in region.blocks:
        yield from block.ops


def to_allocation_buffer(
    op: mem.AllocOp,
    liveness: MemLiveness,
    alignment: int,
    users: Sequence[Operation] | None = None,
) -> Buffer:
    """
    Return an allocation as a buffer with a live range: the step of the allocation if
    the buffer has no uses. `users` are those of the buffer, if known.
    """
    interval = liveness.live_range_of(op.buffer, users)
    first, last = interval if interval is not None else liveness.step_ranges[op]
    return Buffer.live_during(byte_count(op.buffer_type), first, last + 1, alignment)


def users_of_buffer(buffer: SSAValue) -> Iterator[Operation]:
    """
    Yield the operations that access a buffer or its views, the waits for moves from and
    to it, and the loops that carry the tokens of such moves.
    """
    pending, visited = [buffer], {buffer}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            kind = type(op)
            # Types are compared, as `isinstance` is slow for classes of operations.
            if kind in VIEW_OPS:
                values = op.results
            elif kind in _MOVES:
                yield op
                values = op.results
            elif kind is scf.ForOp:
                assert isinstance(op, scf.ForOp)
                carried = use.index - 3
                values = [op.body.block.args[carried + 1], op.results[carried]]
            elif kind is scf.YieldOp and isinstance(loop := op.parent_op(), scf.ForOp):
                yield loop
                values = [
                    loop.body.block.args[use.index + 1],
                    loop.results[use.index],
                ]
            else:
                yield op
                continue
            pending += [value for value in values if value not in visited]
            visited.update(values)
