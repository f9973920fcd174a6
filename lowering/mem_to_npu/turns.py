"""The box that an iteration takes of a buffer, where iterations take them in turn."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from tlf.analysis.buffers.turns import turns
from tlf.dialects import mem
from tlf.lowering.mem_to_npu.slots import Form, Slot


def turns_of(op: mem.DmaOp, buffer: SSAValue) -> tuple[Slot, ...]:
    """
    The box that an iteration of the loop around a move takes of one of its sides, if it
    is known to be one of as many as there are iterations.
    """
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return ()
    is_source = buffer is op.source
    offsets = op.mixed_source_offsets if is_source else op.mixed_destination_offsets
    if (count := turns(loop, buffer, offsets, op.box)) is None:
        return ()
    return (Slot(count, Form(0, {loop: 1}), family=(buffer, offsets, op.box)),)
