"""Analysis of backward slices: the work that must precede elements of a result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tlf.analysis.bounds.op_work import EngineWork, OpWork
from tlf.analysis.bounds.operand_reads import OperandReads
from tlf.analysis.bounds.strided_runs import RunBox, run_box_size
from tlf.dialects.interfaces import ReferenceInterface
from tlf.dialects.types import itemsize_of


@dataclass(frozen=True)
class BackwardSlice:
    """
    Lower bounds on the input bytes and the work that a box of a result depends on.
    """

    engine_work: Sequence[EngineWork]
    read_bytes: int
    """Bytes of inputs and stored constants."""


@dataclass
class BackwardSlices:
    """
    Backward slices of the operations of a dataflow, from boxes at unknown offsets. The
    elements needed of each tensor include a box of known size at an unknown offset;
    near borders, where windows extend beyond a tensor, the size is the minimum. If
    several operations need a tensor, the largest of their boxes counts.
    """

    reads: OperandReads
    op_work: OpWork
    outer_tensors: Collection[SSAValue]
    """Tensors in the outermost memory."""
    _known_work: dict[tuple[ReferenceInterface, RunBox], EngineWork] = field(
        default_factory=dict[tuple[ReferenceInterface, RunBox], EngineWork]
    )

    def backward_slice_of(self, op_index: int, box: RunBox) -> BackwardSlice:
        """
        Return the backward slice of a box of a result. `op_index` is the index of the
        operation in the order of the dataflow.
        """
        operations = self.reads.dataflow.operations
        boxes: dict[SSAValue, RunBox] = {operations[op_index].results[0]: box}
        op_work: list[EngineWork] = []
        for op in reversed(operations[: op_index + 1]):
            for position, result in enumerate(op.results):
                if (result_box := boxes.get(result)) is not None:
                    op_work.append(
                        self._add_needed_operand_boxes(op, position, result_box, boxes)
                    )
                    break
        read_bytes = sum(
            run_box_size(box) * itemsize_of(value)
            for value, box in boxes.items()
            if value in self.outer_tensors
        )
        return BackwardSlice(op_work, read_bytes)

    def _add_needed_operand_boxes(
        self,
        op: ReferenceInterface,
        op_index: int,
        box: RunBox,
        boxes: dict[SSAValue, RunBox],
    ) -> EngineWork:
        """
        Add the operand boxes that a box of a result needs to `boxes`, and return the
        work of the box.
        """
        needed = self.reads.needed_operand_boxes_of(op, op_index, box)
        for operand, operand_box in zip(
            self.reads.dataflow.operands_of(op), needed, strict=True
        ):
            if operand_box is None:
                continue
            known = boxes.get(operand)
            if known is None or run_box_size(known) < run_box_size(operand_box):
                boxes[operand] = operand_box
        key = (op, box)
        if key not in self._known_work:
            first = next(iter(needed), None)
            self._known_work[key] = self.op_work.work_of_result_box(op, box, first)
        return self._known_work[key]
