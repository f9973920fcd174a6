"""Forward slices: the work that must follow elements of a result, at any offset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.op_dependence import is_read_in_every_step
from tlf.analysis.bounds.op_work import NO_WORK, EngineWork, OpWork
from tlf.analysis.bounds.operand_reads import OperandReads, shape_of
from tlf.analysis.bounds.outer_loads import StepLoads
from tlf.analysis.bounds.reading_iterations import (
    ReadingIterations,
    min_reading_iterations,
)
from tlf.analysis.bounds.reload_barriers import EXACT_ACCESS_OPS
from tlf.analysis.bounds.strided_runs import (
    RunBox,
    StridedRun,
    min_reached_box,
    reshape_run_box,
    run_box_size,
    whole_run_box,
)
from tlf.dialects.graph.movement import reshape_groups
from tlf.dialects.interfaces import (
    ContractionInterface,
    ElementwiseInterface,
    IteratorType,
    ReferenceInterface,
    TilingInterface,
    ViewInterface,
)
from tlf.dialects.types import itemsize_of
from tlf.support.affine.index_access import Accesses, IndexAccess


@dataclass(frozen=True)
class ForwardSlice:
    """Work that depends on elements of a result, and its traffic."""

    engine_work: tuple[EngineWork, ...]
    read_bytes: int
    """Bytes of tensors in the outermost memory, each read once."""
    written_bytes: int
    """Bytes of results written to the outermost memory."""


@dataclass(frozen=True)
class SliceStep:
    """Part of one operation that depends on a box of one operand."""

    engine_work: EngineWork
    results: tuple[RunBox, ...]
    loads: tuple[tuple[SSAValue, int], ...]
    """Tensors in the outermost memory, and the bytes read of each."""


@dataclass
class ForwardSlices:
    """
    Forward slices of the operations of a dataflow, from boxes at unknown offsets. The
    dependents of a box include a box of known size of each tensor at an unknown offset.
    If an operation depends on the box through several operands, the operand with the
    most work counts.
    """

    reads: OperandReads
    op_work: OpWork
    step_loads: StepLoads
    written_bytes: Mapping[SSAValue, int]
    _steps: dict[tuple[ReferenceInterface, int, RunBox], SliceStep | None] = field(
        default_factory=dict[tuple[ReferenceInterface, int, RunBox], SliceStep | None]
    )

    def slice_of(self, number: int, box: RunBox) -> ForwardSlice:
        """
        Return the work that depends on a box of a result. `number` is the index of the
        operation in the order of the dataflow.
        """
        flow = self.reads.dataflow
        boxes: dict[SSAValue, RunBox] = {flow.operations[number].results[0]: box}
        efforts: list[EngineWork] = []
        loads: dict[SSAValue, int] = {}
        for op in flow.operations[number + 1 :]:
            steps = [
                step
                for position, operand in enumerate(flow.operands_of(op))
                if (operand_box := boxes.get(operand)) is not None
                and (step := self._cached_step(op, position, operand_box)) is not None
            ]
            if not steps:
                continue
            efforts.append(max((step.engine_work for step in steps), key=_total_steps))
            for step in steps:
                for result, operand_box in zip(op.results, step.results, strict=True):
                    known = boxes.get(result)
                    if known is None or run_box_size(known) < run_box_size(operand_box):
                        boxes[result] = operand_box
                for value, byte_count in step.loads:
                    loads[value] = max(byte_count, loads.get(value, 0))
        written = sum(
            min(byte_count, run_box_size(boxes[value]) * itemsize_of(value))
            for value, byte_count in self.written_bytes.items()
            if value in boxes
        )
        return ForwardSlice(tuple(efforts), sum(loads.values()), written)

    def _cached_step(
        self, op: ReferenceInterface, position: int, box: RunBox
    ) -> SliceStep | None:
        key = (op, position, box)
        if key not in self._steps:
            self._steps[key] = self._make_step(op, position, box)
        return self._steps[key]

    def _make_step(
        self, op: ReferenceInterface, position: int, box: RunBox
    ) -> SliceStep | None:
        operand = self.reads.dataflow.operands_of(op)[position]
        if isinstance(op, ViewInterface):
            source, shape = shape_of(operand), shape_of(op.results[0])
            groups = [(g.result, g.source) for g in reshape_groups(source, shape)]
            return SliceStep(
                NO_WORK, (reshape_run_box(groups, box, source, shape),), ()
            )
        if not isinstance(op, EXACT_ACCESS_OPS) or self.reads.is_broadcast_statistic(
            op, operand
        ):
            return None
        accesses = op.indexing_maps()[position]
        extents = [each.extent for each in op.iteration_domain()]
        lengths = [run.length if run.step == 1 else 1 for run in box]
        if accesses is None:
            return None
        reading = min_reading_iterations(accesses, lengths, extents, shape_of(operand))
        if reading is None or any(_is_diagonal(op, access) for access in accesses):
            return None
        runs = [StridedRun(count) for count in reading.values_per_iterator]
        results = [
            min_reached_box(accesses, runs, extents, shape_of(result))
            for result, accesses in zip(
                op.results, op.result_indexing_maps(), strict=True
            )
        ]
        boxes = tuple(each for each in results if each is not None)
        if len(boxes) < len(results):
            return None
        effort, loads = self._work_and_loads(op, position, box, boxes[0], reading)
        return SliceStep(effort, boxes, loads)

    def _work_and_loads(
        self,
        op: TilingInterface,
        position: int,
        box: RunBox,
        result: RunBox,
        touched: ReadingIterations,
    ) -> tuple[EngineWork, tuple[tuple[SSAValue, int], ...]]:
        """
        Return the work and loads of the box of the result that reads a box of an
        operand.
        """
        operand = self.reads.dataflow.operands_of(op)[position]
        is_required = is_read_in_every_step(
            op, position, isinstance(op, ElementwiseInterface)
        )
        if not is_required or not self.op_work.is_fully_needed(op):
            return NO_WORK, ()
        if box == whole_run_box(shape_of(operand)):
            effort = self.op_work.work_of(op)
        elif isinstance(op, ContractionInterface):
            effort = self.op_work.work_of_macs(
                op, touched.iterations, touched.values_per_iterator
            )
        else:
            elements = _min_elements_read(op.indexing_maps()[position] or (), touched)
            effort = self.op_work.work_of_elements(op, result, elements)
        return effort, self.step_loads.loads_of_other_operands(
            op, position, touched.values_per_iterator
        )


def _min_elements_read(accesses: Accesses, touched: ReadingIterations) -> int:
    """
    Return a lower bound on the number of elements that steps read; 0 for windows, which
    overlap.
    """
    if not all(each.is_loop_dim or not each.terms for each in accesses):
        return 0
    return prod(
        touched.values_per_iterator[each.terms[0][0]] for each in accesses if each.terms
    )


def _is_diagonal(op: TilingInterface, access: IndexAccess) -> bool:
    """
    Return `True` if several axes of results move along one axis of an operand. The
    dependents of some of its indices are then not a box.
    """
    iterators = op.iteration_domain()
    parallel = [
        each
        for each, _ in access.terms
        if iterators[each].kind is IteratorType.PARALLEL and iterators[each].extent > 1
    ]
    return len(parallel) > 1


def _total_steps(effort: EngineWork) -> float:
    return effort.pass_cycles + effort.vector_steps
