"""
Rewrite of the pass `mem-pipeline`: software pipelining of contractions.

If a contraction depends on another one through operations of other engines, the matrix
engine is stalled between the two. Starting the first contraction of the next iteration
in between hides this latency. (Modulo scheduling: M. Lam, Software Pipelining, PLDI
1988.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.backward_slices import backward_slice_in_block
from tlf.analysis.buffers.memory_effects import (
    VIEW_OPS,
    has_access_to_buffer,
    root_buffer_of,
    written_buffers_of,
)
from tlf.analysis.buffers.normalized_loops import is_index_arithmetic
from tlf.dialects import mem
from tlf.passes.mem.pipelining.prefetch_distance import move_operations_to_block_start


@dataclass(frozen=True)
class LoopContractions:
    """The contractions of a loop's body, with the loads that are prefetched."""

    loop: scf.ForOp
    prefetched_loads: Sequence[mem.Move]

    @property
    def block(self) -> Block:
        """Body of the loop."""
        return self.loop.body.block

    def select_contractions_to_advance(
        self, multibuffered: Sequence[mem.AllocOp]
    ) -> list[mem.ContractOp]:
        """
        Return the contractions that a later contraction depends on, and that depend
        only on prefetched loads of the iteration. Their results are buffers of
        `multibuffered`. Empty if the body has loops.
        """
        if any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in self.block.ops):
            return []
        return [
            op
            for op in self.block.ops
            if isinstance(op, mem.ContractOp)
            and root_buffer_of(op.acc).owner in multibuffered
            and self._has_only_prefetched_operands(op)
            and self._has_later_dependent_contraction(op)
        ]

    def _has_only_prefetched_operands(self, product: mem.ContractOp) -> bool:
        """
        Return `True` if a contraction depends only on prefetched loads and address
        computations of the body.
        """
        needed = backward_slice_in_block(product)
        if not product.is_always_overwriting or not all(
            map(_is_address_computation, needed)
        ):
            return False
        if not all(
            token.owner in self.prefetched_loads
            for wait in waits_for_operand_loads(product, self.prefetched_loads)
            for token in wait.tokens
        ):
            return False
        result = root_buffer_of(product.acc)
        inputs = {root_buffer_of(value) for value in product.input_operands}
        return not any(
            (op.is_before_in_block(product) and has_access_to_buffer(op, result))
            or any(
                root_buffer_of(buffer) in inputs for buffer in _buffers_written_in(op)
            )
            for op in self.block.ops
            if op not in self.prefetched_loads
        )

    def _has_later_dependent_contraction(self, product: mem.ContractOp) -> bool:
        """
        Return `True` if a later contraction of the body depends on the result of
        `product`.
        """
        dependent = {root_buffer_of(product.acc)}
        for op in self.block.ops:
            if not product.is_before_in_block(op):
                continue
            if not any(has_access_to_buffer(op, buffer) for buffer in dependent):
                continue
            if isinstance(op, mem.ContractOp):
                return True
            dependent.update(
                root_buffer_of(buffer) for buffer in _buffers_written_in(op)
            )
        return False


def _is_address_computation(op: Operation) -> bool:
    """Return `True` if an operation only computes an address."""
    return is_index_arithmetic(op) or isinstance(op, VIEW_OPS)


def _buffers_written_in(op: Operation) -> Iterator[SSAValue]:
    """Yield the buffers that an operation or a nested operation may write."""
    for each in op.walk():
        yield from written_buffers_of(each)


def waits_for_operand_loads(
    product: mem.ContractOp, loads: Sequence[mem.Move]
) -> list[mem.WaitOp]:
    """Return the waits before a contraction for loads of its operands."""
    inputs = {root_buffer_of(value) for value in product.input_operands}
    tokens = {
        load.token for load in loads if root_buffer_of(load.destination) in inputs
    }
    block = product.parent
    assert block is not None
    return [
        op
        for op in block.ops
        if isinstance(op, mem.WaitOp)
        and op.is_before_in_block(product)
        and not tokens.isdisjoint(op.tokens)
    ]


def advance_contractions(
    products: Sequence[mem.ContractOp], loads: Sequence[mem.Move], distance: int
) -> None:
    """
    Start contractions `distance` iterations early, like prefetched loads: move them
    to the start of the body, after the loads.
    """
    for product in products:
        product.ahead = IntegerAttr(distance, i64)
        block = product.parent
        assert block is not None
        advanced = {product, *waits_for_operand_loads(product, loads)}
        needed = {each for op in advanced for each in backward_slice_in_block(op)}
        move_operations_to_block_start(
            block, advanced | needed | _loads_with_backward_slices(loads)
        )


def _loads_with_backward_slices(loads: Sequence[mem.Move]) -> set[Operation]:
    return {op for load in loads for op in (load, *backward_slice_in_block(load))}
