"""
Software pipelining of contractions: which may start iterations early.

Where other engines take the result of a product, and one product more takes theirs, the
array would stand still between the two. With the product of the next iteration in
between, it need not. (Modulo scheduling: M. Lam, Software Pipelining, PLDI 1988.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.buffers.memory_effects import (
    VIEW_OPS,
    has_access_to,
    root_of,
    written_buffers_of,
)
from tlf.analysis.buffers.normalized_loops import is_index_arithmetic
from tlf.dialects import mem
from tlf.passes.mem.pipelining.prefetch_distance import (
    backward_slice_in_block,
    move_to_block_start,
)


@dataclass(frozen=True)
class LoopContractions:
    """The contractions of a loop's body, with the loads that are prefetched."""

    loop: scf.ForOp
    loads: Sequence[mem.Move]

    @property
    def block(self) -> Block:
        """The body."""
        return self.loop.body.block

    def select_advanceable(
        self, slotted: Sequence[mem.AllocOp]
    ) -> list[mem.ContractOp]:
        """
        Return the contractions that later ones depend on through other engines, and
        that need nothing of this iteration but prefetched loads. Their results are to
        have slots.
        """
        if any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in self.block.ops):
            return []
        return [
            op
            for op in self.block.ops
            if isinstance(op, mem.ContractOp)
            and root_of(op.acc).owner in slotted
            and self._is_independent_of_body(op)
            and self._has_dependent_contraction(op)
        ]

    def _is_independent_of_body(self, product: mem.ContractOp) -> bool:
        """
        Return `True` if a product depends on nothing that the body computes before.
        """
        needed = backward_slice_in_block(product)
        if not product.always_overwrites or not all(
            map(_is_address_computation, needed)
        ):
            return False
        if not all(
            token.owner in self.loads
            for wait in load_waits_of(product, self.loads)
            for token in wait.tokens
        ):
            return False
        result = root_of(product.acc)
        inputs = {root_of(value) for value in product.input_operands}
        return not any(
            (op.is_before_in_block(product) and has_access_to(op, result))
            or any(root_of(buffer) in inputs for buffer in _buffers_written_in(op))
            for op in self.block.ops
            if op not in self.loads
        )

    def _has_dependent_contraction(self, product: mem.ContractOp) -> bool:
        """
        Return `True` if a later contraction of the body depends on the result of one.
        """
        made = {root_of(product.acc)}
        for op in self.block.ops:
            if not product.is_before_in_block(op):
                continue
            if not any(has_access_to(op, buffer) for buffer in made):
                continue
            if isinstance(op, mem.ContractOp):
                return True
            made.update(root_of(buffer) for buffer in _buffers_written_in(op))
        return False


def _is_address_computation(op: Operation) -> bool:
    """Return `True` if an operation only computes an address."""
    return is_index_arithmetic(op) or isinstance(op, VIEW_OPS)


def _buffers_written_in(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation, or one inside of it, may write."""
    for each in op.walk():
        yield from written_buffers_of(each)


def load_waits_of(
    product: mem.ContractOp, loads: Sequence[mem.Move]
) -> list[mem.WaitOp]:
    """Return the waits before a contraction for loads of its operands."""
    inputs = {root_of(value) for value in product.input_operands}
    tokens = {load.token for load in loads if root_of(load.destination) in inputs}
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
    products: Sequence[mem.ContractOp], loads: Sequence[mem.Move], iterations: int
) -> None:
    """
    Start contractions so many iterations early, as loads do: from the start of the
    body, behind its loads.
    """
    for product in products:
        product.ahead = IntegerAttr(iterations, i64)
        block = product.parent
        assert block is not None
        chosen = {product, *load_waits_of(product, loads)}
        needed = {each for op in chosen for each in backward_slice_in_block(op)}
        move_to_block_start(block, chosen | needed | _with_backward_slices(loads))


def _with_backward_slices(loads: Sequence[mem.Move]) -> set[Operation]:
    return {op for load in loads for op in (load, *backward_slice_in_block(load))}
