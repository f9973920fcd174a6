"""Disjoint boxes of a buffer that loop iterations access, as slots."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from tlf.analysis.buffers.disjoint_accesses import count_disjoint_boxes
from tlf.dialects import mem
from tlf.lowering.mem_to_npu.multibuffer_slots import AffineForm, BufferSlot


def disjoint_slots_of(op: mem.DmaOp, buffer: SSAValue) -> tuple[BufferSlot, ...]:
    """Return the slot that each iteration accesses, if accesses are disjoint."""
    loop = op.parent_op()
    if not isinstance(loop, scf.ForOp):
        return ()
    is_source = buffer is op.source
    offsets = op.mixed_source_offsets if is_source else op.mixed_destination_offsets
    if (count := count_disjoint_boxes(loop, buffer, offsets, op.box)) is None:
        return ()
    return (
        BufferSlot(count, AffineForm(0, {loop: 1}), family=(buffer, offsets, op.box)),
    )
