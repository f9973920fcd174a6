"""The instructions that compute one tile of an operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tlf.analysis.operations.bands import Bands, SystolicArray, Windows, Work
from tlf.analysis.operations.form import Form
from tlf.analysis.tiling.banded import windows_of
from tlf.analysis.tiling.model import TiledOperation, elements
from tlf.analysis.work.steps import is_slow, scalar_steps
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
)
from tlf.dialects.types import tensor_type
from tlf.machine.costs import Cost, Costs
from tlf.machine.parts import MatrixEngine
from tlf.planner.cost.npu.cut_products import CutWork
from tlf.support.affine.access import Box


class Instructions:
    """
    Cost of computing tiles on a machine whose engines are named `matrix` and `vector`.
    """

    def __init__(self, costs: Costs, cut: CutWork | None = None) -> None:
        """Tiles may be cut again, for a nearer memory."""
        self.costs = costs
        self._bodies: dict[tuple[str, str, str], tuple[bool, ...]] = {}
        self._costs: dict[tuple[int, bool], Cost] = {}
        self._known: dict[Form, tuple[bool, ...]] = {}
        self._products: dict[tuple[Form, tuple[int, ...], bool], Cost] = {}
        self._cut = cut
        self._array = SystolicArray.of(costs.machine)

    def of(self, tiled: TiledOperation) -> Iterator[Cost]:
        """The instructions, in order; a sum starts from what is there."""
        op, form = tiled.op, tiled.form
        if form.is_seen:
            return
        if isinstance(op, ContractionInterface):
            yield self._product(op, tiled)
        elif form.is_accumulating:
            yield self._elementwise(_count(tiled.box))
        elif isinstance(op, ElementwiseInterface):
            count = self._computed(tiled)
            for slow in self._body(op, form):
                yield self._elementwise(count, slow)
        else:
            yield self._elementwise(self._computed(tiled))

    def filled(self, tiled: TiledOperation) -> Iterator[Cost]:
        """Yield the cost of filling a tile of a constant that leaves a group."""
        yield self._elementwise(elements(tiled.result))

    def _computed(self, tiled: TiledOperation) -> int:
        return elements(tiled.computed)

    def _elementwise(self, count: int, slow: bool = False) -> Cost:
        key = count, slow
        if (known := self._costs.get(key)) is None:
            known = self._costs[key] = self.costs.elementwise(*key)
        return known

    def _product(self, op: ContractionInterface, tiled: TiledOperation) -> Cost:
        """A product; iterators have roles by which operands and results they move."""
        extents = tuple([interval.room for interval in tiled.box])
        windows = windows_of(op, tiled.box, tiled.form)
        key = tiled.form, extents, windows is None
        if (known := self._products.get(key)) is None:
            work = self._work(tiled.form.roles, extents, windows)
            known = self.costs.fastest_product(*work, kind=self._kind(op))
            self._products[key] = known
        return known

    def _kind(self, op: ContractionInterface) -> str:
        """
        The kind of a product, by the type of its elements; the slowest for a type that
        the matrix engine does not have, which is refused later.
        """
        element = str(tensor_type(op.operands[0]).element_type)
        unit = self.costs.machine.engines["matrix"]
        assert isinstance(unit, MatrixEngine)
        cycles = unit.cycles
        return element if element in cycles else max(cycles, key=cycles.__getitem__)

    def _work(
        self, roles: Sequence[str], extents: Sequence[int], windows: Windows | None
    ) -> Work:
        """The product that a tile is, with neighbours as columns where that helps."""
        if (array := self._array) is None:
            return Work.of(roles, extents)
        if self._cut is not None:
            return self._cut(roles, extents, windows, array)
        bands = None if windows is None else Bands.of(windows, extents, array)
        return Work.of(roles, extents) if bands is None else bands.work

    def _body(self, op: ElementwiseInterface, form: Form) -> tuple[bool, ...]:
        """For each scalar operation of a body, whether it is slow."""
        if (known := self._known.get(form)) is not None:
            return known
        types = [tensor_type(each).element_type for each in op.operands]
        result = str(tensor_type(op.results[0]).element_type)
        key = op.name, " ".join(map(str, types)), f"{result} {op.properties}"
        if key not in self._bodies:
            self._bodies[key] = tuple(map(is_slow, scalar_steps(op)))
        self._known[form] = self._bodies[key]
        return self._bodies[key]


def _count(box: Box) -> int:
    return prod(interval.room for interval in box)
