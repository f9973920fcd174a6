"""
Analysis of stalls: cycles due to dependences and to the capacity of inner memories.

When the first element of a tensor is complete, all work that it depends on is complete,
and no step that needs a complete element of it has started. Operands of those steps are
either in inner memory at this time, up to its capacity, or are read afterwards. The
time before and the time after add up: the tensor has a head and a tail (Carlier, The
one-machine sequencing problem, European Journal of Operational Research 11, 1982). The
traffic afterwards follows from the argument of the red-blue pebble game (Hong and Kung,
I/O complexity: the red-blue pebble game, STOC 1981).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from xdsl.ir import SSAValue

from tlf.analysis.bounds.array_passes import ContractionDims
from tlf.analysis.bounds.backward_slices import BackwardSlices
from tlf.analysis.bounds.busy_time import ChipRates, SliceWork
from tlf.analysis.bounds.forward_slices import ForwardSlice, ForwardSlices
from tlf.analysis.bounds.head_tail_latency import LatencyMargins
from tlf.analysis.bounds.op_dependence import OpDependence
from tlf.analysis.bounds.op_work import EngineWork, OpWork
from tlf.analysis.bounds.operand_reads import OperandReads, tensor_shape_of
from tlf.analysis.bounds.outer_loads import (
    FloatArray,
    OuterLoads,
    StepLoads,
    whole_tensor_loads,
)
from tlf.analysis.bounds.strided_runs import (
    SINGLE,
    RunBox,
    StridedRun,
    single_element_box,
    whole_run_box,
)
from tlf.dialects.interfaces import ContractionInterface, ReferenceInterface

MIN_GAIN = 1.0005
"""Minimum factor by which a result must be able to raise a bound to be examined."""

MAX_RESULTS = 100
"""
Maximum number of results examined, evenly spaced among those that may raise a bound.
"""


@dataclass(frozen=True)
class StallBound:
    """
    Lower bounds on the cycles of a program from the work before and after one result.
    """

    cycles: float = 0.0
    cycles_quantised: float = 0.0
    cycles_any_engine: float = 0.0
    subject: str = ""
    """Result that determines `cycles`."""
    late_bytes: int = 0
    """
    Bytes read after the result because they exceed inner memory, if these reads bind.
    """

    @property
    def reason(self) -> str:
        """Origin of the bound: `capacity` or `order`."""
        return "capacity" if self.late_bytes else "order"

    def __str__(self) -> str:
        late = (
            f": {self.late_bytes:,} bytes are read after it" if self.late_bytes else ""
        )
        return f"{self.subject}{late}"

    def maximum_of_each_bound(self, other: StallBound) -> StallBound:
        """
        Return the entrywise maximum of the cycles of two bounds, with the subject of
        the larger `cycles`.
        """
        first = self if self.cycles >= other.cycles else other
        return replace(
            first,
            cycles_quantised=max(self.cycles_quantised, other.cycles_quantised),
            cycles_any_engine=max(self.cycles_any_engine, other.cycles_any_engine),
        )


NO_STALL = StallBound()


@dataclass(frozen=True)
class WorkAndTraffic:
    """
    Work of several operations, and the bytes moved over the outermost memory for it.
    """

    engine_work: Sequence[EngineWork]
    moved_bytes: float

    def cycles(
        self, chip: ChipRates, margins: LatencyMargins
    ) -> tuple[float, float, float]:
        """
        Return the cycles with an array that is never idle, in whole passes of the
        array, and with products on either engine.
        """
        selection = np.ones((len(self.engine_work), 1), np.bool_)
        memory = self.moved_bytes / chip.bandwidth
        work = SliceWork.of_relation_columns(
            selection, self.engine_work, np.array([memory])
        )
        continuous, passes = work.cycles_of_busiest_unit(chip.engines, margins)
        any_engine = chip.cycles_on_any_engine(self.engine_work, memory, margins)
        return continuous.item(), passes.item(), any_engine


@dataclass(frozen=True)
class StallBounds:
    """
    Stall bounds of the results of a dataflow, from their heads and tails. Arrays by
    operation index describe the operations that need a complete element of the result
    of this operation.
    """

    backward_slices: BackwardSlices
    forward_slices: ForwardSlices
    chip: ChipRates
    dependence: OpDependence
    engine_work: Sequence[EngineWork]
    """Work of each operation itself."""
    loads: OuterLoads
    """Upper bounds on the loads of each operation."""
    read_bytes: FloatArray
    """Bytes read from the outermost memory, each tensor once."""
    written_bytes: FloatArray
    """Bytes written to the outermost memory, on the bus."""

    def find_largest_stall_bound(self, known_bound: StallBound) -> StallBound:
        """
        Return the entrywise maximum of `known_bound` and the stall bounds of a sample
        of the most promising results.
        """
        continuous, passes = self._upper_limits_of_bounds()
        gains = np.maximum(
            continuous / max(known_bound.cycles, 1.0),
            passes / max(known_bound.cycles_quantised, 1.0),
        )
        candidates = np.argsort(-gains, kind="stable")[
            : np.count_nonzero(gains > MIN_GAIN)
        ]
        best = known_bound
        for index in candidates[:: -(-len(candidates) // MAX_RESULTS) or 1].tolist():
            if (
                continuous[index].item() > MIN_GAIN * best.cycles
                or passes[index].item() > MIN_GAIN * best.cycles_quantised
            ):
                for each in self._stall_bounds_at_result(index):
                    best = best.maximum_of_each_bound(each)
        return best

    def _upper_limits_of_bounds(self) -> tuple[FloatArray, FloatArray]:
        """
        Return an upper bound on the stall bound of each result: all possible work
        before the result, and all work after it.
        """
        chip, earlier = self.chip, self.dependence.ancestors.T
        loaded = self.loads.bytes_loaded_per_column(earlier) / chip.bandwidth
        moved_bytes = (
            np.maximum(0, self.read_bytes - chip.inner_capacity) + self.written_bytes
        )
        before = SliceWork.of_relation_columns(earlier, self.engine_work, loaded)
        after = SliceWork.of_relation_columns(
            self.dependence.steps_require_element,
            self.engine_work,
            moved_bytes / chip.bandwidth,
        )
        continuous, passes = (
            one + other
            for one, other in zip(
                before.cycles_of_busiest_unit(chip.engines, chip.latency.heads),
                after.cycles_of_busiest_unit(chip.engines, chip.latency.tails),
                strict=True,
            )
        )
        return continuous, passes

    def _stall_bounds_at_result(self, op_index: int) -> Iterator[StallBound]:
        """
        Yield the bounds at three points of a result: when its first element is
        complete, when the last one is complete, and for products when the last of their
        rows has a first element. Then each row has an element, and that row has only
        one.
        """
        op = self.backward_slices.reads.dataflow.operations[op_index]
        shape = tensor_shape_of(op.results[0])
        one, complete = single_element_box(shape), whole_run_box(shape)
        is_late = self.dependence.steps_require_element[:, op_index].tolist()
        all_after = ForwardSlice(
            tuple(compress(self.engine_work, is_late)),
            int(self.read_bytes[op_index]),
            int(self.written_bytes[op_index]),
        )
        yield self._stall_bound_at_box(op_index, one, all_after)
        if not self.backward_slices.op_work.is_fully_needed(op):
            return
        yield self._stall_bound_at_box(
            op_index, complete, self.forward_slices.forward_slice_of(op_index, one)
        )
        rows = (
            left_only_result_axes(op) if isinstance(op, ContractionInterface) else None
        )
        if rows is not None:
            firsts, last_row = (
                tuple(
                    StridedRun(extent) if (axis in rows) == is_row else SINGLE
                    for axis, extent in enumerate(shape)
                )
                for is_row in (True, False)
            )
            yield self._stall_bound_at_box(
                op_index,
                firsts,
                self.forward_slices.forward_slice_of(op_index, last_row),
            )

    def _stall_bound_at_box(
        self, op_index: int, complete_box: RunBox, forward_slice: ForwardSlice
    ) -> StallBound:
        """
        Return the sum of the time until a box is complete and the time of the work
        after it.
        """
        chip, backward = (
            self.chip,
            self.backward_slices.backward_slice_of(op_index, complete_box),
        )
        late_bytes = max(0, forward_slice.read_bytes - chip.inner_capacity)
        moved_bytes = late_bytes + forward_slice.written_bytes
        before = WorkAndTraffic(backward.engine_work, backward.read_bytes).cycles(
            chip, chip.latency.heads
        )
        after = WorkAndTraffic(forward_slice.engine_work, moved_bytes).cycles(
            chip, chip.latency.tails
        )
        binds = after[0] == moved_bytes / chip.bandwidth + chip.latency.tails.memory
        op = self.backward_slices.reads.dataflow.operations[op_index]
        name = op.results[0].name_hint
        return StallBound(
            *(one + other for one, other in zip(before, after, strict=True)),
            subject=f"%{name}" if name else op.name,
            late_bytes=late_bytes if binds else 0,
        )


def left_only_result_axes(op: ContractionInterface) -> frozenset[int] | None:
    """
    Return the axes of a product's result that belong to its left input only; None if
    there are batch axes.
    """
    sides, extents = (
        ContractionDims.of(op),
        [each.extent for each in op.iteration_domain()],
    )
    if any(extents[each] > 1 for each in sides.batch):
        return None
    return frozenset(
        axis
        for axis, access in enumerate(op.result_indexing_maps()[0])
        if any(each in sides.m for each, _ in access.terms)
    )


def stall_bound_of(
    reads: OperandReads,
    op_work: OpWork,
    chip: ChipRates,
    loaded_tensors: Sequence[SSAValue],
    bytes_by_stored_tensor: Mapping[SSAValue, int],
    known_bound: StallBound,
) -> StallBound:
    """
    Return the stall bound of a dataflow. `loaded_tensors` are the tensors loaded from
    the outermost memory, `bytes_by_stored_tensor` the stored tensors with their bytes
    on the bus.
    """
    flow, dependence = reads.dataflow, OpDependence.of(reads)
    if not flow.operations:
        return NO_STALL
    indices = {op: index for index, op in enumerate(flow.operations)}
    stored_bytes = np.zeros(len(indices))
    for value, byte_count in bytes_by_stored_tensor.items():
        if isinstance(owner := value.owner, ReferenceInterface) and owner in indices:
            stored_bytes += dependence.requires_element[indices[owner]] * float(
                byte_count
            )
    step_loads = StepLoads(flow, loaded_tensors, op_work)
    return StallBounds(
        BackwardSlices(reads, op_work, loaded_tensors),
        ForwardSlices(reads, op_work, step_loads, bytes_by_stored_tensor),
        chip,
        dependence,
        [op_work.work_of(op) for op in flow.operations],
        whole_tensor_loads(flow, loaded_tensors),
        step_loads.loads_of_operations().bytes_loaded_per_column(
            dependence.steps_require_element
        ),
        stored_bytes,
    ).find_largest_stall_bound(known_bound)
