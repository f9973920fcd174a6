"""
What operations of `mem` do to buffers.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tlf.dialects import mem

VIEWS = (mem.WindowOp, memref.SubviewOp, memref.ReinterpretCastOp)

BUFFERS = (mem.AllocOp, memref.GetGlobalOp)
"""What buffers come from, other than arguments."""


def root_of(buffer: SSAValue) -> SSAValue:
    """The buffer that a view is part of."""
    while isinstance(owner := buffer.owner, VIEWS):
        buffer = owner.source
    return buffer


def written(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation may write, or views of them."""
    match op:
        case mem.DmaOp():
            yield op.destination
        case mem.StructuredOp():
            yield from op.output_operands
        case mem.LoadOp() | mem.WindowOp() | memref.SubviewOp():
            return
        case memref.ReinterpretCastOp():
            return
        case _:
            for value in op.operands:
                if isinstance(value.type, MemRefType):
                    yield value


def written_roots(top: Operation) -> set[SSAValue]:
    """The buffers that operations inside of another one write."""
    return {root_of(buffer) for op in top.walk() for buffer in written(op)}


def touches(top: Operation, buffer: SSAValue) -> bool:
    """Whether an operation, or one inside of it, uses a buffer or a view of it."""
    return any(
        isinstance(value.type, MemRefType) and root_of(value) is buffer
        for op in top.walk()
        if not isinstance(op, VIEWS)
        for value in op.operands
    )
