"""Backward slices: the work that must precede elements of a result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.bounds.dataflow import itemsize_of
from tlf.analysis.bounds.op_work import EngineWork, OpWork
from tlf.analysis.bounds.operand_reads import OperandReads
from tlf.analysis.bounds.strided_runs import RunBox, run_box_size
from tlf.dialects.interfaces import ReferenceInterface


@dataclass(frozen=True)
class BackwardSlice:
    """Input bytes and work that elements of a result depend on."""

    engine_work: Sequence[EngineWork]
    read_bytes: int
    """Of inputs and stored constants."""


@dataclass
class BackwardSlices:
    """
    Backward slices of the operations of a dataflow, from boxes at unknown offsets. What
    an element needs is a box of each tensor at least, of which the size is known but
    not the place: near a border, where windows reach beyond it, the least that there
    is. Where several operations need a part of a tensor, the largest of their boxes
    counts.
    """

    reads: OperandReads
    op_work: OpWork
    outer_tensors: Collection[SSAValue]
    """Tensors that lie in the outermost memory."""
    _known_work: dict[tuple[ReferenceInterface, RunBox], EngineWork] = field(
        default_factory=dict[tuple[ReferenceInterface, RunBox], EngineWork]
    )

    def slice_of(self, number: int, box: RunBox) -> BackwardSlice:
        """
        Return the backward slice of a box of a result. The result is given by the index
        of its operation in the order of the dataflow.
        """
        operations = self.reads.dataflow.operations
        boxes: dict[SSAValue, RunBox] = {operations[number].results[0]: box}
        efforts: list[EngineWork] = []
        for op in reversed(operations[: number + 1]):
            for position, result in enumerate(op.results):
                if (part := boxes.get(result)) is not None:
                    efforts.append(self._add_operand_boxes(op, position, part, boxes))
                    break
        moved = sum(
            run_box_size(box) * itemsize_of(value)
            for value, box in boxes.items()
            if value in self.outer_tensors
        )
        return BackwardSlice(efforts, moved)

    def _add_operand_boxes(
        self,
        op: ReferenceInterface,
        number: int,
        box: RunBox,
        boxes: dict[SSAValue, RunBox],
    ) -> EngineWork:
        """Add the needs of a box of a result to `boxes`, and return its work."""
        needed = self.reads.operand_boxes_of(op, number, box)
        for operand, part in zip(
            self.reads.dataflow.operands_of(op), needed, strict=True
        ):
            if part is None:
                continue
            known = boxes.get(operand)
            if known is None or run_box_size(known) < run_box_size(part):
                boxes[operand] = part
        key = (op, box)
        if key not in self._known_work:
            first = next(iter(needed), None)
            self._known_work[key] = self.op_work.work_of_box(op, box, first)
        return self._known_work[key]
