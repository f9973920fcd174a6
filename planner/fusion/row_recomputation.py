"""
Planning of fusion: choice of the elementwise operations that a reduction of long rows
recomputes.

A row that exceeds the level is read once more for each operation that needs a result of
the whole row. What is computed from tensors in memory is then computed again by each of
these readers, rather than stored by one and loaded by the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

from typing_extensions import TypeIs
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFacts
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.analysis.work.roofline import vector_operations_per_cycle
from tlf.analysis.work.vector_step_costs import lane_steps
from tlf.dialects.interfaces import (
    ConstantInterface,
    ContractionInterface,
    ElementwiseInterface,
    PositionDependentInterface,
    ReductionInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.types import dtype_of, element_count_of
from tlf.dialects.value_postorder import compute_in_postorder
from tlf.planner.settings.search_budgets import PARTITION


@dataclass(frozen=True)
class Recomputation:
    """Computation of a value from tensors in memory."""

    sources: frozenset[SSAValue] = frozenset()
    """Tensors in memory; the value itself if it is one."""
    steps: int = 0
    """Lane steps of all elements."""

    @staticmethod
    def of_all(parts: Sequence[Recomputation]) -> Recomputation:
        """Return the computation of several values."""
        sources = frozenset[SSAValue]().union(*(each.sources for each in parts))
        return Recomputation(sources, sum(each.steps for each in parts))


@dataclass
class RowRecomputation:
    """Choice of the operations that reductions of long rows recompute."""

    level: Level
    target: TargetSpec
    _known: dict[SSAValue, Recomputation | None] = field(
        default_factory=dict[SSAValue, "Recomputation | None"]
    )

    def operations_to_recompute(
        self, op: ReductionInterface
    ) -> Sequence[Operation] | None:
        """
        Return the operations that a reduction recomputes from tensors in memory, in
        program order; none if it reads such a tensor. Return None if its rows fit into
        the level, or if it reads a value that is computed where it is stored, such as
        in the epilogue of a product.
        """
        value = op.operands[0]
        if not self._exceeds_level(op) or self._recomputation_of(value) is None:
            return None
        computing, pending = set[Operation](), [value]
        while pending:
            current = pending.pop()
            if self._is_in_memory(current):
                continue
            owner = current.owner
            assert isinstance(owner, Operation)
            computing.add(owner)
            pending += _wide_operands_of(owner)
        block = op.parent
        return [] if block is None else [op for op in block.ops if op in computing]

    def computed_sources_of(self, op: ReductionInterface) -> list[Operation]:
        """
        Return the elementwise operations that compute the tensors in memory that a
        reduction reads.
        """
        known = self._recomputation_of(op.operands[0])
        values = () if known is None else map(_viewed_value_of, known.sources)
        owners = (value.owner for value in values)
        return [each for each in owners if isinstance(each, ElementwiseInterface)]

    def _exceeds_level(self, op: ReductionInterface) -> bool:
        """Return `True` if a row of a reduction does not fit into the level."""
        facts = OpFacts(op)
        extent = prod(facts.extents[each] for each in facts.reduction_dims)
        limit = self.target.tiling.max_elements
        needed = extent * dtype_of(op.accumulator_type).itemsize
        return needed > self.level.capacity or (limit is not None and extent > limit)

    def _is_in_memory(self, value: SSAValue) -> bool:
        known = self._recomputation_of(value)
        return known is None or known.sources <= {value}

    def _recomputation_of(self, value: SSAValue) -> Recomputation | None:
        """
        Return the computation of a value from tensors in memory; None if it is computed
        from a value that is not.
        """
        return compute_in_postorder(
            value, self._known, _operands_of_computation, self._find_recomputation
        )

    def _find_recomputation(self, value: SSAValue) -> Recomputation | None:
        """Return the computation of a value from those of its operands."""
        owner, loaded = value.owner, Recomputation(frozenset([value]))
        if isinstance(owner, ContractionInterface):
            return None
        if isinstance(owner, ConstantInterface):
            return Recomputation()
        if not _is_recomputable(owner):
            return loaded
        operands = [self._known[each] for each in _wide_operands_of(owner)]
        found = [each for each in operands if each is not None]
        total = Recomputation.of_all(found)
        if isinstance(owner, ViewInterface):
            is_loaded = total.sources <= {owner.operands[0]}
            return None if not found else loaded if is_loaded else total
        total = replace(total, steps=total.steps + lane_steps(owner, self.target))
        if len(found) == len(operands) and self._saves_time(total, value):
            return total
        return loaded if _is_read_around_reduction(value) else None

    def _saves_time(self, computation: Recomputation, value: SSAValue) -> bool:
        """
        Return `True` if a computation reads no more bytes than those of its value, and
        takes less time than to store and load the value.
        """
        moved = size_in_bytes([value])
        cycles = computation.steps / vector_operations_per_cycle(self.target)
        is_short = cycles * self.target.outermost_level.bandwidth <= 2 * moved
        return is_short and size_in_bytes(computation.sources) <= moved


def _wide_operands_of(op: Operation) -> list[SSAValue]:
    """Return the operands that do not have far fewer elements than the result."""
    elements = element_count_of(op.results[0])
    return [each for each in op.operands if not _is_narrow(each, elements)]


def _is_narrow(value: SSAValue, elements: int) -> bool:
    """Return `True` if a value has far fewer than a number of elements."""
    return element_count_of(value) * PARTITION.small_tensor_ratio < elements


def _is_recomputable(owner: Operation | Block) -> TypeIs[Operation]:
    """
    Return `True` if an operation is a view or elementwise, does not depend on
    positions, and has no readers outside of tiles, for which its result is stored in
    any case.
    """
    if not isinstance(owner, ElementwiseInterface | ViewInterface):
        return False
    readers = (use.operation for result in owner.results for use in result.uses)
    return not isinstance(owner, PositionDependentInterface) and all(
        isinstance(each, TilingInterface) for each in readers
    )


def _is_read_around_reduction(value: SSAValue) -> bool:
    """
    Return `True` if a value has several readers, among them a reduction, or an
    elementwise operation that combines it with a computed value of far fewer elements.
    """
    readers, pending = list[Operation](), [value]
    while pending:
        for use in pending.pop().uses:
            readers.append(use.operation)
            if isinstance(use.operation, ViewInterface):
                pending += use.operation.results
    elements = element_count_of(value)
    return value.uses.get_length() > 1 and any(
        isinstance(each, ReductionInterface)
        or any(
            isinstance(operand.owner, TilingInterface)
            and not isinstance(operand.owner, ConstantInterface)
            and _is_narrow(operand, elements)
            for operand in each.operands
        )
        for each in readers
    )


def _operands_of_computation(value: SSAValue) -> Sequence[SSAValue]:
    """Return the operands that the computation of a value depends on."""
    owner = value.owner
    is_computed = isinstance(owner, ElementwiseInterface | ViewInterface)
    return owner.operands if is_computed else ()


def _viewed_value_of(value: SSAValue) -> SSAValue:
    """Return the tensor that a value is a view of, or the value itself."""
    while isinstance(owner := value.owner, ViewInterface):
        value = owner.operands[0]
    return value


def have_other_readers(computing: Sequence[Operation], op: Operation) -> bool:
    """Return `True` if operations have readers besides each other and `op`."""
    readers = {op, *computing}
    return any(
        use.operation not in readers
        for each in computing
        for result in each.results
        for use in result.uses
    )
