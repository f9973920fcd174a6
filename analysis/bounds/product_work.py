"""The products of a dataflow, as work for an array of cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tlf.analysis.bounds.dataflow import Dataflow, elements_of
from tlf.analysis.bounds.needs import Need
from tlf.analysis.bounds.products import Products
from tlf.analysis.work.engines import Engines
from tlf.analysis.work.work import multiplied_in, program_of
from tlf.dialects.interfaces import (
    ContractionInterface,
    DecompositionInterface,
    ElementwiseInterface,
    IteratorKind,
)


@dataclass(frozen=True)
class ProductWork:
    """The products of one operation that are needed."""

    element: str
    """Type of the factors: an element type, or a precision."""
    products: Products
    missing: int = 0
    """Multiply-accumulates of results that nothing needs."""

    @property
    def macs(self) -> int:
        """The multiply-accumulates that are needed."""
        return max(0, self.products.macs - self.missing)

    def cycles(self, engines: Engines, is_quantised: bool) -> float:
        """Cycles of the matrix engine, in whole passes of its array if it has one."""
        least = self.macs / engines.rate(self.element)
        array = engines.array
        if not is_quantised or array is None or self.missing:
            return least
        passes = self.products.passes(*array)
        return max(least, passes * engines.cycles_per_pass(self.element))


def products_of(
    flow: Dataflow, needs: Mapping[SSAValue, Need]
) -> tuple[ProductWork, ...]:
    """The products of all operations, those inside of composites too."""
    found: list[ProductWork] = []
    for op in flow.operations:
        if any(needs.get(each, Need()).elements for each in op.results):
            found += products_in(op, needs)
    return tuple(found)


def products_in(op: Operation, needs: Mapping[SSAValue, Need]) -> list[ProductWork]:
    """The products of one operation that are needed."""
    match op:
        case ContractionInterface():
            (result,) = op.results
            whole = elements_of(result)
            unneeded = whole - needs[result].elements if result in needs else 0
            terms = prod(
                each.extent
                for each in op.iterators()
                if each.kind is IteratorKind.REDUCTION
            )
            work = ProductWork(multiplied_in(op), Products.of(op), unneeded * terms)
            return [work]
        case DecompositionInterface() if not isinstance(op, ElementwiseInterface):
            return [
                each for inner in program_of(op) for each in products_in(inner, needs)
            ]
        case _:
            return []
