"""Backward dependence cones: the work that precedes elements of a result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import width_of
from tlf.analysis.bounds.efforts import Effort, Efforts
from tlf.analysis.bounds.reads import Reads
from tlf.analysis.bounds.runs import Box, elements_in
from tlf.dialects.interfaces import ReferenceInterface


@dataclass(frozen=True)
class Cone:
    """The inputs that elements of a result need, and the work that computes them."""

    efforts: Sequence[Effort]
    bytes: int
    """Of inputs and stored constants."""


@dataclass
class Cones:
    """
    The cones of the operations of a dataflow. What an element needs is a box of each
    tensor at least, of which the size is known but not the place: near a border, where
    windows reach beyond it, the least that there is. Where several operations need a
    part of a tensor, the largest of their boxes counts.
    """

    reads: Reads
    efforts: Efforts
    outside: Collection[SSAValue]
    """Tensors that lie in the outermost memory."""
    _parts: dict[tuple[ReferenceInterface, Box], Effort] = field(
        default_factory=dict[tuple[ReferenceInterface, Box], Effort]
    )

    def of(self, number: int, box: Box) -> Cone:
        """
        Return the dependence cone of a box of a result. The result is given by the
        index of its operation in the order of the dataflow.
        """
        operations = self.reads.flow.operations
        boxes: dict[SSAValue, Box] = {operations[number].results[0]: box}
        efforts: list[Effort] = []
        for op in reversed(operations[: number + 1]):
            for position, result in enumerate(op.results):
                if (part := boxes.get(result)) is not None:
                    efforts.append(self._follow(op, position, part, boxes))
                    break
        moved = sum(
            elements_in(box) * width_of(value)
            for value, box in boxes.items()
            if value in self.outside
        )
        return Cone(efforts, moved)

    def _follow(
        self,
        op: ReferenceInterface,
        number: int,
        box: Box,
        boxes: dict[SSAValue, Box],
    ) -> Effort:
        """Add the needs of a box of a result to `boxes`, and return its work."""
        needed = self.reads.of(op, number, box)
        for operand, part in zip(self.reads.flow.operands(op), needed, strict=True):
            if part is None:
                continue
            known = boxes.get(operand)
            if known is None or elements_in(known) < elements_in(part):
                boxes[operand] = part
        key = (op, box)
        if key not in self._parts:
            first = next(iter(needed), None)
            self._parts[key] = self.efforts.part(op, box, first)
        return self._parts[key]
