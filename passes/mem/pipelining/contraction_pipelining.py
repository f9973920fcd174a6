"""Rewrite of the pass `mem-pipeline`: contractions that start iterations early."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation

from tlf.analysis.buffers.backward_slices import backward_slice_in_block
from tlf.dialects import mem
from tlf.passes.mem.pipelining.prefetch_distance import move_operations_to_block_start
from tlf.planner.overlap.ahead_selection import find_waits_before_product
from tlf.planner.overlap.mem_loop_body import MemLoopBody


def advance_contractions(
    body: MemLoopBody,
    products: Sequence[int],
    early_loads: Sequence[int],
    distance: int,
) -> None:
    """
    Start contractions `distance` iterations early, like prefetched loads: move them
    to the start of the body, after the loads.
    """
    loads = [body.ops[position] for position in early_loads]
    for position in products:
        product = body.ops[position]
        assert isinstance(product, mem.ContractOp)
        product.ahead = IntegerAttr(distance, i64)
        block = product.parent
        assert block is not None
        waits = find_waits_before_product(body.operations, position, early_loads)
        advanced = (product, *(body.ops[wait] for wait in waits))
        move_operations_to_block_start(
            block, _with_backward_slices((*loads, *advanced))
        )


def _with_backward_slices(ops: Sequence[Operation]) -> set[Operation]:
    return {each for op in ops for each in (op, *backward_slice_in_block(op))}
