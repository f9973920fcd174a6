"""Dependences between the single elements of a program, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.operand_reads import tensor_shape_of
from tlf.dialects.interfaces import ContractionInterface, TilingInterface

Element: TypeAlias = tuple[SSAValue, tuple[int, ...]]


@dataclass(frozen=True)
class Iteration:
    """One iteration of an operation: its reads and the element that it writes."""

    reads: tuple[tuple[Element, ...], ...]
    """Elements read, by operand."""
    written: Element
    is_product: bool


@dataclass
class Elements:
    """Iterations of a program whose accesses are one element wide."""

    flow: DataflowGraph
    iterations: list[Iteration] = field(default_factory=list[Iteration])

    def __post_init__(self) -> None:
        for op in self.flow.operations:
            assert isinstance(op, TilingInterface)
            self.iterations += self._of(op)

    def _of(self, op: TilingInterface) -> Iterator[Iteration]:
        is_product = isinstance(op, ContractionInterface)
        shapes = [tensor_shape_of(value) for value in op.operands]
        for point in product(*(range(each.extent) for each in op.iteration_domain())):
            reads: list[tuple[Element, ...]] = []
            sides = zip(
                self.flow.operands_of(op), op.indexing_maps(), shapes, strict=True
            )
            for value, accesses, shape in sides:
                index = tuple(
                    each.offset + sum(c * point[axis] for axis, c in each.terms)
                    for each in accesses or ()
                )
                is_there = all(0 <= i < n for i, n in zip(index, shape, strict=True))
                reads.append(((value, index),) if is_there else ())
            written = tuple(
                point[each.terms[0][0]] for each in op.result_indexing_maps()[0]
            )
            if not is_product or all(reads[:2]):
                yield Iteration(tuple(reads), (op.results[0], written), is_product)

    def before(self, element: Element) -> tuple[set[Element], int]:
        """
        Return all elements that an element depends on, and the number of products.
        """
        needed, products = {element}, 0
        for each in reversed(self.iterations):
            if each.written in needed:
                products += each.is_product
                needed.update(read for side in each.reads for read in side)
        return needed, products

    def after(self, element: Element) -> tuple[set[Element], int]:
        """
        Return the other elements read by iterations that depend on an element.

        Also returns the number of products among these iterations.
        """
        dependent, operands, products = {element}, set[Element](), 0
        for each in self.iterations:
            if any(read in dependent for side in each.reads for read in side):
                products += each.is_product
                dependent.add(each.written)
                operands.update(read for side in each.reads for read in side)
        return operands - dependent, products
