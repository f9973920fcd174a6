"""The operations of a block as a line along which loads move up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from tlf.analysis.buffers.counters import is_pure
from tlf.analysis.buffers.touches import (
    BUFFERS,
    VIEWS,
    may_meet,
    root_of,
    written,
)
from tlf.dialects import mem
from tlf.passes.mem.pipelining.ahead import operands_of


@dataclass(frozen=True)
class Line:
    """A block, and the loads in it from one level to the next nearer one."""

    ops: Sequence[Operation]
    position: dict[Operation, int]
    touched: Sequence[frozenset[SSAValue]]
    """By operation, the buffers that it or one inside of it uses."""
    written: Sequence[frozenset[SSAValue]]
    """By operation, what it may write: buffers, and views of them."""
    fences: Sequence[bool]
    """By operation, whether it loads between the two levels, and has to stay."""
    loads: Sequence[mem.DmaOp]
    """Those that may move at all, in order."""

    @staticmethod
    def of(block: Block, near: str, far: str) -> Line:
        """Look at a block of buffers."""
        ops = list(block.ops)

        def is_load(op: Operation) -> bool:
            return (
                isinstance(op, mem.DmaOp)
                and mem.level_of(op.source.type) == far
                and mem.level_of(op.destination.type) == near
            )

        loads = [
            op
            for op in ops
            if isinstance(op, mem.DmaOp) and is_load(op) and _may_move(op, block)
        ]
        return Line(
            ops,
            {op: number for number, op in enumerate(ops)},
            [frozenset(_touched(op)) for op in ops],
            [frozenset(_written(op)) for op in ops],
            [op not in loads and any(map(is_load, op.walk())) for op in ops],
            loads,
        )

    def stops(self, load: mem.DmaOp, position: int) -> bool:
        """Return `True` if a load has to stay behind the operation at a position."""
        if self.fences[position]:
            return True
        buffer, source = root_of(load.destination), root_of(load.source)
        op = self.ops[position]
        if op in (buffer.owner, source.owner):
            return not isinstance(op, BUFFERS)
        return buffer in self.touched[position] or any(
            may_meet(load.source, each) for each in self.written[position]
        )

    def ordered(self, goals: Mapping[mem.DmaOp, int]) -> list[Operation]:
        """The operations in the order that loads make which go to other positions."""
        arriving: dict[int, list[mem.DmaOp]] = {}
        for load, goal in goals.items():
            arriving.setdefault(goal, []).append(load)
        order: dict[Operation, None] = {}
        for number, op in enumerate(self.ops):
            for load in arriving.get(number, ()):
                order.update(dict.fromkeys(_with_operands(load)))
            order[op] = None
        return list(order)


def _with_operands(load: mem.DmaOp) -> Iterator[Operation]:
    """Yield the operations that move up with a load, and the load itself, in order."""
    yield from _origins(load)
    yield from operands_of(load)
    yield load


def _origins(load: mem.DmaOp) -> list[Operation]:
    """Return the operations that define the buffers of a load, except arguments."""
    owners = [root_of(end).owner for end in (load.destination, load.source)]
    return [owner for owner in owners if isinstance(owner, BUFFERS)]


def _may_move(op: mem.DmaOp, block: Block) -> bool:
    """
    Return `True` if a load fills a buffer of the block, from an address that is known
    early.
    """
    owner = root_of(op.destination).owner
    if not isinstance(owner, mem.AllocOp) or owner.parent is not block:
        return False
    return all(is_pure(each) or isinstance(each, VIEWS) for each in operands_of(op))


def _touched(top: Operation) -> Iterator[SSAValue]:
    for op in top.walk():
        if isinstance(op, VIEWS):
            continue
        for value in op.operands:
            if isinstance(value.type, MemRefType):
                yield root_of(value)
        for move in _awaited(op):
            buffers = (e for e in move.operands if isinstance(e.type, MemRefType))
            yield from map(root_of, buffers)


def _written(top: Operation) -> Iterator[SSAValue]:
    for op in top.walk():
        yield from written(op)
        yield from (move.destination for move in _awaited(op))


def _awaited(op: Operation) -> Iterator[mem.Move]:
    """The moves that an operation waits for, whose effects come with it."""
    pending = list(op.operands) if isinstance(op, mem.WaitOp) else []
    seen = set(pending)
    while pending:
        token = pending.pop()
        if isinstance(token.owner, mem.Move):
            yield token.owner
            continue
        carried = [each for each in _carried(token) if each not in seen]
        seen.update(carried)
        pending += carried


def _carried(token: SSAValue) -> Sequence[SSAValue]:
    """Return the initial and the yielded value of a token that a loop carries."""
    loop, index = token.owner, 0
    if isinstance(token, BlockArgument):
        loop, index = token.owner.parent_op(), token.index - 1
    elif isinstance(token, OpResult):
        index = token.index
    assert isinstance(loop, scf.ForOp), "a move's token, or one that a loop carries"
    end = loop.body.block.last_op
    assert end is not None
    return loop.iter_args[index], end.operands[index]
