"""Analysis of the contractions of a dataflow: their work on the matrix engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.bounds.array_passes import ContractionSteps
from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.tensor_demand import TensorDemand
from tlf.analysis.work.engine_throughput import Engines
from tlf.analysis.work.flops_and_bytes import (
    decomposed_operations_of,
    multiplication_type_of,
)
from tlf.dialects.interfaces import (
    ContractionInterface,
    DecompositionInterface,
    ElementwiseInterface,
    IteratorType,
)
from tlf.dialects.types import element_count_of


@dataclass(frozen=True)
class ProductWork:
    """
    Multiply-accumulates of one contraction, less those of results that nothing needs.
    """

    element: str
    """Type of the factors: an element type or a precision."""
    products: ContractionSteps
    unneeded_macs: int = 0
    """Multiply-accumulates of results that nothing needs."""

    @property
    def macs(self) -> int:
        """Number of needed multiply-accumulates."""
        return max(0, self.products.macs - self.unneeded_macs)

    def matrix_engine_cycles(self, engines: Engines, is_quantised: bool) -> float:
        """
        Return cycles of the matrix engine, in whole passes of its array if it has one
        and `is_quantised` is set.
        """
        least = self.macs / engines.macs_per_cycle(self.element)
        array = engines.array_shape
        if not is_quantised or array is None or self.unneeded_macs:
            return least
        passes = self.products.min_passes(*array)
        return max(least, passes * engines.cycles_per_pass(self.element))


def product_work_of_dataflow(
    flow: DataflowGraph, demands: Mapping[SSAValue, TensorDemand]
) -> tuple[ProductWork, ...]:
    """Return the products of all operations, including those inside composites."""
    found: list[ProductWork] = []
    for op in flow.operations:
        if any(demands.get(each, TensorDemand()).elements for each in op.results):
            found += product_work_of_op(op, demands)
    return tuple(found)


def product_work_of_op(
    op: Operation, demands: Mapping[SSAValue, TensorDemand]
) -> list[ProductWork]:
    """
    Return one entry per contraction that an operation is or decomposes into; empty for
    other operations.
    """
    match op:
        case ContractionInterface():
            (result,) = op.results
            total = element_count_of(result)
            unneeded = total - demands[result].elements if result in demands else 0
            terms = prod(
                each.extent
                for each in op.iteration_domain()
                if each.kind is IteratorType.REDUCTION
            )
            work = ProductWork(
                multiplication_type_of(op), ContractionSteps.of(op), unneeded * terms
            )
            return [work]
        case DecompositionInterface() if not isinstance(op, ElementwiseInterface):
            return [
                each
                for inner in decomposed_operations_of(op)
                for each in product_work_of_op(inner, demands)
            ]
        case _:
            return []
