"""
Products of a loop that may start iterations ahead.

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

from tlf.analysis.buffers.counters import is_pure
from tlf.analysis.buffers.touches import VIEWS, root_of, touches, written
from tlf.dialects import mem
from tlf.passes.mem.pipelining.ahead import operands_of, put_first


@dataclass(frozen=True)
class Products:
    """The products in the body of a loop, with the loads that start ahead."""

    loop: scf.ForOp
    loads: Sequence[mem.Move]

    @property
    def block(self) -> Block:
        """The body."""
        return self.loop.body.block

    def movable(self, slotted: Sequence[mem.AllocOp]) -> list[mem.ContractOp]:
        """
        Those that others wait for, through other engines, and that need nothing of this
        iteration but loads that start ahead. Their results are to have slots.
        """
        if any(isinstance(op, scf.ForOp | scf.ParallelOp) for op in self.block.ops):
            return []
        return [
            op
            for op in self.block.ops
            if isinstance(op, mem.ContractOp)
            and root_of(op.acc).owner in slotted
            and self._is_first(op)
            and self._leads_to_another(op)
        ]

    def _is_first(self, product: mem.ContractOp) -> bool:
        """
        Return `True` if a product depends on nothing that the body computes before.
        """
        needed = operands_of(product)
        if not product.always_overwrites or not all(map(_is_address, needed)):
            return False
        if not all(
            token.owner in self.loads
            for wait in waits_of(product, self.loads)
            for token in wait.tokens
        ):
            return False
        result = root_of(product.acc)
        inputs = {root_of(value) for value in product.input_operands}
        return not any(
            (op.is_before_in_block(product) and touches(op, result))
            or any(root_of(buffer) in inputs for buffer in _written(op))
            for op in self.block.ops
            if op not in self.loads
        )

    def _leads_to_another(self, product: mem.ContractOp) -> bool:
        """
        Return `True` if a later product of the body depends on its result, through
        others.
        """
        made = {root_of(product.acc)}
        for op in self.block.ops:
            if not product.is_before_in_block(op):
                continue
            if not any(touches(op, buffer) for buffer in made):
                continue
            if isinstance(op, mem.ContractOp):
                return True
            made.update(root_of(buffer) for buffer in _written(op))
        return False


def _is_address(op: Operation) -> bool:
    """Return `True` if an operation only computes an address."""
    return is_pure(op) or isinstance(op, VIEWS)


def _written(op: Operation) -> Iterator[SSAValue]:
    """The buffers that an operation, or one inside of it, may write."""
    for each in op.walk():
        yield from written(each)


def waits_of(product: mem.ContractOp, loads: Sequence[mem.Move]) -> list[mem.WaitOp]:
    """The waits before a product for loads of what it reads."""
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


def start_products(
    products: Sequence[mem.ContractOp], loads: Sequence[mem.Move], iterations: int
) -> None:
    """
    Let products start so many iterations ahead, as loads do: from the start of the
    body, behind its loads.
    """
    for product in products:
        product.ahead = IntegerAttr(iterations, i64)
        block = product.parent
        assert block is not None
        chosen = {product, *waits_of(product, loads)}
        needed = {each for op in chosen for each in operands_of(op)}
        put_first(block, chosen | needed | _with_operands(loads))


def _with_operands(loads: Sequence[mem.Move]) -> set[Operation]:
    return {op for load in loads for op in (load, *operands_of(load))}
