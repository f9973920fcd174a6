"""The instructions that compute one tile of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike

from tlf.dialects.access import Box
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ElementwiseInterface,
)
from tlf.dialects.types import tensor_type
from tlf.machine.costs import Cost, Costs
from tlf.passes.analysis.work import is_slow
from tlf.passes.tiling.form import Form
from tlf.passes.tiling.model import TiledOperation, elements


class Instructions:
    """
    What computing tiles costs on a machine whose engines are named `matrix` and
    `vector`.
    """

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self._bodies: dict[tuple[str, str, str], tuple[bool, ...]] = {}
        self._costs: dict[tuple[int, bool], Cost] = {}
        self._known: dict[Operation, tuple[bool, ...]] = {}
        self._roles: dict[Operation, tuple[str, ...]] = {}

    def of(self, tiled: TiledOperation) -> Iterator[Cost]:
        """The instructions, in order; a sum starts from what is there."""
        op = tiled.op
        if tiled.form.is_seen:
            return
        match op:
            case ContractionInterface():
                yield self._product(op, tiled)
            case AccumulatingInterface():
                yield self._elementwise(_count(tiled.box))
            case ElementwiseInterface():
                count = self._computed(tiled)
                for slow in self._body(op):
                    yield self._elementwise(count, slow)
            case _:
                yield self._elementwise(self._computed(tiled))

    def _computed(self, tiled: TiledOperation) -> int:
        return elements(tiled.computed)

    def _elementwise(self, count: int, slow: bool = False) -> Cost:
        key = count, slow
        if (known := self._costs.get(key)) is None:
            known = self._costs[key] = self.costs.elementwise(*key)
        return known

    def _product(self, op: ContractionInterface, tiled: TiledOperation) -> Cost:
        """A product; iterators have roles by which operands and results they move."""
        sizes = {"batch": 1, "m": 1, "n": 1, "k": 1}
        for role, interval in zip(self._roles_of(tiled), tiled.box, strict=True):
            sizes[role] *= interval.room
        element = str(tensor_type(op.operands[0]).element_type)
        unit = self.costs.machine.engines["matrix"]
        kind = element if element in getattr(unit, "cycles", {}) else "f32"
        return self.costs.fastest_product(**sizes, kind=kind)

    def _roles_of(self, tiled: TiledOperation) -> tuple[str, ...]:
        """The role of each iterator of a product."""
        if tiled.op not in self._roles:
            self._roles[tiled.op] = tuple(roles_of(tiled.form))
        return self._roles[tiled.op]

    def _body(self, op: ElementwiseInterface) -> tuple[bool, ...]:
        """For each scalar operation of a body, whether it is slow."""
        if (known := self._known.get(op)) is not None:
            return known
        types = [tensor_type(each).element_type for each in op.operands]
        result = str(tensor_type(op.results[0]).element_type)
        key = op.name, " ".join(map(str, types)), f"{result} {op.properties}"
        if key not in self._bodies:
            body = Block(arg_types=types)
            op.scalar(Builder(InsertPoint.at_end(body)), *body.args)
            self._bodies[key] = tuple(
                is_slow(each) for each in body.ops if not each.has_trait(ConstantLike)
            )
        self._known[op] = self._bodies[key]
        return self._bodies[key]


def roles_of(form: Form) -> Iterator[str]:
    """
    The roles of a product's iterators, by what each moves: `m`, `n`, `k` or `batch`.
    """
    left, right = form.operands[:2]
    used = [
        {iterator for access in accesses or () for iterator, _ in access.terms}
        for accesses in (form.result, left, right)
    ]
    for iterator in range(len(form.extents)):
        in_result, in_left, in_right = (iterator in each for each in used)
        if not in_result:
            yield "k"
        elif in_left and in_right:
            yield "batch"
        else:
            yield "n" if in_right else "m"


def _count(box: Box) -> int:
    return prod(interval.room for interval in box)
