"""
Analysis of forward slices: the work that must follow elements of a result, at any
offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import SSAValue

from tlf.analysis.bounds.op_dependence import is_read_in_every_step
from tlf.analysis.bounds.op_work import NO_WORK, EngineWork, OpWork
from tlf.analysis.bounds.operand_reads import OperandReads, tensor_shape_of
from tlf.analysis.bounds.outer_loads import StepLoads
from tlf.analysis.bounds.reading_iterations import (
    ReadingIterations,
    min_reading_iterations,
)
from tlf.analysis.bounds.reload_barriers import has_exact_accesses
from tlf.analysis.bounds.strided_runs import (
    RunBox,
    StridedRun,
    min_reached_box,
    reshape_run_box,
    run_box_size,
    whole_run_box,
)
from tlf.dialects.graph.movement import split_into_reshape_axis_groups
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
    """
    Lower bounds on the work that depends on a box of a result, and on its traffic.
    """

    engine_work: tuple[EngineWork, ...]
    read_bytes: int
    """Bytes of tensors in the outermost memory, each read once."""
    written_bytes: int
    """Bytes of results written to the outermost memory."""


@dataclass(frozen=True)
class SliceStep:
    """Part of one operation that certainly depends on a box of one operand."""

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

    def forward_slice_of(self, op_index: int, box: RunBox) -> ForwardSlice:
        """
        Return the work that depends on a box of a result. `op_index` is the index of
        the operation in the order of the dataflow.
        """
        flow = self.reads.dataflow
        boxes: dict[SSAValue, RunBox] = {flow.operations[op_index].results[0]: box}
        op_work: list[EngineWork] = []
        loads: dict[SSAValue, int] = {}
        for op in flow.operations[op_index + 1 :]:
            steps = [
                step
                for position, operand in enumerate(flow.operands_of(op))
                if (operand_box := boxes.get(operand)) is not None
                and (step := self._cached_slice_step(op, position, operand_box))
                is not None
            ]
            if not steps:
                continue
            op_work.append(
                max((step.engine_work for step in steps), key=_total_engine_steps)
            )
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
        return ForwardSlice(tuple(op_work), sum(loads.values()), written)

    def _cached_slice_step(
        self, op: ReferenceInterface, operand_index: int, box: RunBox
    ) -> SliceStep | None:
        """
        Return the part of `op` that depends on a box of an operand, computed once per
        box; None if it is unknown.
        """
        key = (op, operand_index, box)
        if key not in self._steps:
            self._steps[key] = self._compute_slice_step(op, operand_index, box)
        return self._steps[key]

    def _compute_slice_step(
        self, op: ReferenceInterface, operand_index: int, box: RunBox
    ) -> SliceStep | None:
        """
        Return the result boxes, engine work and loads of `op` that depend on a box of
        an operand; None if the dependents are no known boxes.
        """
        operand = self.reads.dataflow.operands_of(op)[operand_index]
        if isinstance(op, ViewInterface):
            return _reshape_box_through_view(op, operand, box)
        if not has_exact_accesses(op) or self.reads.is_broadcast_statistic(op, operand):
            return None
        accesses = op.indexing_maps()[operand_index]
        extents = [each.extent for each in op.iteration_domain()]
        lengths = [run.length if run.step == 1 else 1 for run in box]
        if accesses is None:
            return None
        reading = min_reading_iterations(
            accesses, lengths, extents, tensor_shape_of(operand)
        )
        if reading is None or any(
            _is_diagonal_access(op, access) for access in accesses
        ):
            return None
        runs = [StridedRun(count) for count in reading.values_per_iterator]
        results = [
            min_reached_box(accesses, runs, extents, tensor_shape_of(result))
            for result, accesses in zip(
                op.results, op.result_indexing_maps(), strict=True
            )
        ]
        boxes = tuple(each for each in results if each is not None)
        if len(boxes) < len(results):
            return None
        effort, loads = self._work_and_loads_of_readers(
            op, operand_index, box, boxes[0], reading
        )
        return SliceStep(effort, boxes, loads)

    def _work_and_loads_of_readers(
        self,
        op: TilingInterface,
        operand_index: int,
        box: RunBox,
        result_box: RunBox,
        reading_iterations: ReadingIterations,
    ) -> tuple[EngineWork, tuple[tuple[SSAValue, int], ...]]:
        """
        Return the work and loads of the box of the result that reads a box of an
        operand.
        """
        operand = self.reads.dataflow.operands_of(op)[operand_index]
        is_required = is_read_in_every_step(
            op, operand_index, isinstance(op, ElementwiseInterface)
        )
        if not is_required or not self.op_work.is_fully_needed(op):
            return NO_WORK, ()
        if box == whole_run_box(tensor_shape_of(operand)):
            effort = self.op_work.work_of(op)
        elif isinstance(op, ContractionInterface):
            effort = self.op_work.work_of_macs(
                op,
                reading_iterations.iterations,
                reading_iterations.values_per_iterator,
            )
        else:
            elements = _min_elements_read(
                op.indexing_maps()[operand_index] or (), reading_iterations
            )
            effort = self.op_work.work_of_elementwise_box(op, result_box, elements)
        return effort, self.step_loads.loads_of_other_operands(
            op, operand_index, reading_iterations.values_per_iterator
        )


def _reshape_box_through_view(
    op: ReferenceInterface, operand: SSAValue, box: RunBox
) -> SliceStep:
    """Return the slice step of a view: no work, and `box` reshaped to its result."""
    source, shape = tensor_shape_of(operand), tensor_shape_of(op.results[0])
    groups = [
        (g.result_axes, g.source_axes)
        for g in split_into_reshape_axis_groups(source, shape)
    ]
    return SliceStep(NO_WORK, (reshape_run_box(groups, box, source, shape),), ())


def _min_elements_read(
    accesses: Accesses, reading_iterations: ReadingIterations
) -> int:
    """
    Return a lower bound on the number of elements that steps read; 0 for windows, which
    overlap.
    """
    if not all(each.is_loop_dim or not each.terms for each in accesses):
        return 0
    return prod(
        reading_iterations.values_per_iterator[each.terms[0][0]]
        for each in accesses
        if each.terms
    )


def _is_diagonal_access(op: TilingInterface, access: IndexAccess) -> bool:
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


def _total_engine_steps(engine_work: EngineWork) -> float:
    return engine_work.pass_cycles + engine_work.vector_steps
