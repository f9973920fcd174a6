"""
Selection of the loads whose lines the cache retains over those that a kernel stores.

The cache then writes stored lines back early and together. This pays on some GPUs for
kernels that load and store more than the cache holds: nothing that they load or store
would be in it for other kernels.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from tlf.analysis.buffers.memory_effects import root_buffer_of, root_buffers_written_in
from tlf.dialects import mem
from tlf.dialects.types import byte_count, memref_type
from tlf.lowering.mem_to_triton.dot_shapes import is_contraction_lowered_to_dot

RETAINED = "triton.retained"
"""Unit attribute of a load whose lines the cache retains over others."""


def select_retained_loads(kernel: func.FuncOp, cache_bytes: int) -> None:
    """Mark the loads of tensors that are larger than a cache, in a streaming kernel."""
    stored = root_buffers_written_in(kernel)
    if sum(map(_size_of, stored)) <= cache_bytes:
        return
    if any(map(is_contraction_lowered_to_dot, kernel.walk())):
        return
    for op in kernel.walk():
        if not isinstance(op, mem.LoadOp | mem.Im2colOp):
            continue
        root = root_buffer_of(op.source)
        if root not in stored and _size_of(root) > cache_bytes:
            op.attributes[RETAINED] = UnitAttr()


def eviction_argument(op: Operation) -> str:
    """Return the argument of the `tl.load` of an operation that is about the cache."""
    return ', eviction_policy="evict_last"' if RETAINED in op.attributes else ""


def _size_of(buffer: SSAValue) -> int:
    """Return the size of a buffer, in bytes."""
    return byte_count(memref_type(buffer))
