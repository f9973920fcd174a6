"""
Forward dependence fans: the work that follows elements of a result, at any offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.barriers import FOLLOWED
from tlf.analysis.bounds.dataflow import width_of
from tlf.analysis.bounds.dependence import starts_with
from tlf.analysis.bounds.efforts import NO_EFFORT, Effort, Efforts
from tlf.analysis.bounds.loads import Origins
from tlf.analysis.bounds.reads import Reads, shape_of
from tlf.analysis.bounds.runs import (
    Box,
    Run,
    elements_in,
    reached_box,
    reshaped_box,
    whole_box,
)
from tlf.analysis.bounds.touches import Touch, touch
from tlf.dialects.graph.movement import reshape_groups
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    IteratorKind,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.support.affine.access import Access, Accesses


@dataclass(frozen=True)
class Fan:
    """The work that depends on some elements, and its traffic."""

    efforts: tuple[Effort, ...]
    read: int
    """Bytes of tensors in the outermost memory, each once."""
    written: int
    """And those of results."""


@dataclass(frozen=True)
class Step:
    """The part of one operation that depends on a box of one operand."""

    effort: Effort
    results: tuple[Box, ...]
    loads: tuple[tuple[SSAValue, int], ...]
    """Tensors in the outermost memory, and the bytes of them that are read."""


@dataclass
class Fans:
    """
    The fans of the operations of a dataflow. What needs a box is a box of each
    tensor at least, of which the size is known but not the place. Where an operation
    needs it by several operands, the one counts by which it does most.
    """

    reads: Reads
    efforts: Efforts
    origins: Origins
    written: Mapping[SSAValue, int]
    _steps: dict[tuple[ReferenceInterface, int, Box], Step | None] = field(
        default_factory=dict[tuple[ReferenceInterface, int, Box], Step | None]
    )

    def of(self, number: int, box: Box) -> Fan:
        """
        Return the work that depends on a box of a result. The result is given by the
        index of its operation in the order of the dataflow.
        """
        flow = self.reads.flow
        boxes: dict[SSAValue, Box] = {flow.operations[number].results[0]: box}
        efforts: list[Effort] = []
        loads: dict[SSAValue, int] = {}
        for op in flow.operations[number + 1 :]:
            steps = [
                step
                for position, operand in enumerate(flow.operands(op))
                if (part := boxes.get(operand)) is not None
                and (step := self._step(op, position, part)) is not None
            ]
            if not steps:
                continue
            efforts.append(max((step.effort for step in steps), key=_size))
            for step in steps:
                for result, part in zip(op.results, step.results, strict=True):
                    known = boxes.get(result)
                    if known is None or elements_in(known) < elements_in(part):
                        boxes[result] = part
                for value, moved in step.loads:
                    loads[value] = max(moved, loads.get(value, 0))
        stored = sum(
            min(moved, elements_in(boxes[value]) * width_of(value))
            for value, moved in self.written.items()
            if value in boxes
        )
        return Fan(tuple(efforts), sum(loads.values()), stored)

    def _step(self, op: ReferenceInterface, position: int, box: Box) -> Step | None:
        key = (op, position, box)
        if key not in self._steps:
            self._steps[key] = self._found(op, position, box)
        return self._steps[key]

    def _found(self, op: ReferenceInterface, position: int, box: Box) -> Step | None:
        operand = self.reads.flow.operands(op)[position]
        if isinstance(op, ViewInterface):
            source, shape = shape_of(operand), shape_of(op.results[0])
            groups = [(g.result, g.source) for g in reshape_groups(source, shape)]
            return Step(NO_EFFORT, (reshaped_box(groups, box, source, shape),), ())
        if not isinstance(op, FOLLOWED) or self.reads.is_corrected(op, operand):
            return None
        accesses = op.operand_accesses()[position]
        extents = [each.extent for each in op.iterators()]
        lengths = [run.length if run.step == 1 else 1 for run in box]
        if accesses is None:
            return None
        touched = touch(accesses, lengths, extents, shape_of(operand))
        if touched is None or any(_is_diagonal(op, access) for access in accesses):
            return None
        runs = [Run(count) for count in touched.values]
        results = [
            reached_box(accesses, runs, extents, shape_of(result))
            for result, accesses in zip(op.results, op.result_accesses(), strict=True)
        ]
        boxes = tuple(each for each in results if each is not None)
        if len(boxes) < len(results):
            return None
        effort, loads = self._work(op, position, box, boxes[0], touched)
        return Step(effort, boxes, loads)

    def _work(
        self,
        op: TilingInterface,
        position: int,
        box: Box,
        result: Box,
        touched: Touch,
    ) -> tuple[Effort, tuple[tuple[SSAValue, int], ...]]:
        """The work on a box of the result that reads a box of an operand."""
        operand = self.reads.flow.operands(op)[position]
        starts = starts_with(op, position, isinstance(op, ElementwiseInterface))
        if not starts or not self.efforts.is_needed_whole(op):
            return NO_EFFORT, ()
        if box == whole_box(shape_of(operand)):
            effort = self.efforts.of(op)
        elif isinstance(op, ContractionInterface):
            effort = self.efforts.of_macs(op, touched.iterations, touched.values)
        else:
            read = _elements_read(op.operand_accesses()[position] or (), touched)
            effort = self.efforts.of_elements(op, result, read)
        return effort, self.origins.read_with(op, position, touched.values)


def _elements_read(accesses: Accesses, touched: Touch) -> int:
    """
    Return a lower bound on the number of elements that steps read; 0 for windows, which
    overlap.
    """
    if not all(each.is_plain or not each.terms for each in accesses):
        return 0
    return prod(touched.values[each.terms[0][0]] for each in accesses if each.terms)


def _is_diagonal(op: TilingInterface, access: Access) -> bool:
    """
    Return `True` if several axes of results move along one axis of an operand: the
    dependents of some of its indices are then not a box.
    """
    iterators = op.iterators()
    kept = [
        each
        for each, _ in access.terms
        if iterators[each].kind is IteratorKind.PARALLEL and iterators[each].extent > 1
    ]
    return len(kept) > 1


def _size(effort: Effort) -> float:
    return effort.passes + effort.steps
