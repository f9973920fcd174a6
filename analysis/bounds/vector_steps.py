"""Analysis of programs: lower bound on the lane steps of the vector engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from tlf.analysis.bounds.access_footprint import access_footprint_of, footprint_size
from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.tensor_demand import TensorDemand
from tlf.analysis.work.flops_and_bytes import decomposed_operations_of
from tlf.analysis.work.vector_step_costs import is_multi_step, scalar_steps
from tlf.dialects.indexed_write_interface import IndexedWriteInterface
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    DecompositionInterface,
    ElementwiseInterface,
    IndexedReadInterface,
    IteratorType,
    MovementInterface,
    TilingInterface,
)
from tlf.dialects.sort_interface import SortInterface
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import element_count_of, tensor_type

CONVERSIONS = (
    *(arith.ExtFOp, arith.TruncFOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp),
    *(arith.SIToFPOp, arith.UIToFPOp, arith.FPToSIOp, arith.FPToUIOp),
)
SUMS = (arith.AddfOp, arith.AddiOp)


@dataclass
class VectorSteps:
    """
    Lower bound on vector steps: elements times the lane steps that every schedule
    needs.

    Conversions, additions to a product, and padding are free: conversions are part of
    the operation before or after, additions become the initial value of the product,
    and moves fill the padding. A reduction of n elements takes n - 1 steps.
    """

    dataflow: DataflowGraph
    demands: Mapping[SSAValue, TensorDemand]
    target: TargetSpec
    _bodies: dict[Operation, tuple[Operation, ...]] = field(
        default_factory=dict[Operation, tuple[Operation, ...]]
    )

    def __post_init__(self) -> None:
        self._own = frozenset[Operation](self.dataflow.operations)

    @property
    def _has_indexed_gather(self) -> bool:
        """True if moves gather by indices, so that no vector step is needed."""
        return any(level.has_indexed_moves for level in self.target.tile_levels[:1])

    def _is_indexed_scatter(self, op: IndexedWriteInterface) -> bool:
        """
        Return `True` if moves or atomic operations scatter by indices, so that no
        vector step is needed.
        """
        if self.target.has_atomics:
            return op.combined_writes is not None
        has_moves = self.target.indexed_row_cycles is not None
        return has_moves and op.element_type_of_moves is not None

    def total_vector_steps(self) -> int:
        """Return the steps of all operations."""
        return sum(map(self.vector_steps_of, self.dataflow.operations))

    def vector_steps_of(self, op: Operation) -> int:
        """
        Return the minimum lane steps of the vector engine for the needed part of `op`;
        0 if it needs none.
        """
        match op:
            case ContractionInterface():
                return 0
            case ElementwiseInterface():
                needed = self._needed_elements(op)
                return needed * self._steps_per_element(op) if needed else 0
            case AccumulatingInterface():
                return _steps_of_reduction(op) if self._needed_elements(op) else 0
            case IndexedReadInterface() if self._has_indexed_gather:
                return 0
            case IndexedWriteInterface() if self._is_indexed_scatter(op):
                return 0
            case SortInterface() if self.target.sortable_extent:
                return 0
            case DecompositionInterface():
                return sum(map(self.vector_steps_of, decomposed_operations_of(op)))
            case _:
                return 0

    def _needed_elements(self, op: Operation) -> int:
        """
        Return the number of needed elements of the result; all for operations inside
        composites.
        """
        (result,) = op.results
        if op in self._own:
            return self.demands.get(result, TensorDemand()).elements
        return element_count_of(result)

    def _steps_per_element(self, op: ElementwiseInterface) -> int:
        """
        Return the minimum lane steps per needed element; 0 if a padding produces an
        operand.
        """
        owners = [each.owner for each in self.dataflow.operands_of(op)]
        if any(_has_padding(owner) for owner in owners):
            return 0
        figure = self.target.engines.get("vector", {}).get("transcendental", 1)
        factor = int(figure) if isinstance(figure, int | float) else 1
        free = SUMS if any(map(self._is_computed_by_product, owners)) else ()
        return sum(
            factor if is_multi_step(each) else 1
            for each in self._scalar_body(op)
            if not isinstance(each, (*CONVERSIONS, *free))
        )

    def _scalar_body(self, op: ElementwiseInterface) -> tuple[Operation, ...]:
        """Return the scalar operations without constants."""
        if op not in self._bodies:
            self._bodies[op] = scalar_steps(op)
        return self._bodies[op]

    def _is_computed_by_product(self, owner: Operation | Block) -> bool:
        """
        Return `True` if the owner is a product, or a sum with a product as a term.
        """
        if isinstance(owner, ContractionInterface):
            return True
        match owner:
            case ElementwiseInterface():
                free_ops = (*CONVERSIONS, *SUMS)
                if not all(
                    isinstance(each, free_ops) for each in self._scalar_body(owner)
                ):
                    return False
            case MovementInterface():
                pass
            case _:
                return False
        return any(
            self._is_computed_by_product(each.owner)
            for each in self.dataflow.operands_of(owner)
        )


def _has_padding(owner: Operation | Block) -> bool:
    return isinstance(owner, MovementInterface) and owner.padding_value(0) is not None


def _steps_of_reduction(op: TilingInterface) -> int:
    """
    Return the steps of a reduction: elements minus results. Elements shared by windows
    count once.
    """
    results, iterators = element_count_of(op.results[0]), op.iteration_domain()
    kinds = (each for each in iterators if each.kind is IteratorType.REDUCTION)
    if prod(each.extent for each in kinds) == 1:
        return 0
    accesses = op.indexing_maps()[0] or ()
    extents = [each.extent for each in iterators]
    shape = tensor_type(op.operands[0]).get_shape()
    read = footprint_size(access_footprint_of(accesses, extents, shape))
    return max(0, read - results)
