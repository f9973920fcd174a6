"""
Stall bounds: cycles due to dependences and to the capacity of inner memories.

When the first element of a tensor is complete, all that it needs has been done, and no
step of what needs a complete element of it. So what those steps read either is near
then, no more than the memories near the engines hold, or is read afterwards. The time
before and the time after add up: the tensor has a head and a tail (Carlier, The
one-machine sequencing problem, European Journal of Operational Research 11, 1982). What
is read afterwards is the argument of the red-blue pebble game (Hong and Kung, I/O
complexity: the red-blue pebble game, STOC 1981).
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
from tlf.analysis.bounds.operand_reads import OperandReads, shape_of
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
"""A result that cannot raise a bound by more is left out."""

MAX_RESULTS = 100
"""
Maximum number of results examined, evenly spaced among those that may raise a bound.
"""


@dataclass(frozen=True)
class StallBound:
    """Lower bound on cycles that comes from the head and tail of one result."""

    cycles: float = 0.0
    cycles_quantised: float = 0.0
    cycles_any_engine: float = 0.0
    subject: str = ""
    """The result that `cycles` come from, before it and after it."""
    late_bytes: int = 0
    """The bytes that are read after it as they cannot be near before, where these take
    longest."""

    @property
    def reason(self) -> str:
        """Origin of the bound: `capacity` or `order`."""
        return "capacity" if self.late_bytes else "order"

    def __str__(self) -> str:
        late = (
            f": {self.late_bytes:,} bytes are read after it" if self.late_bytes else ""
        )
        return f"{self.subject}{late}"

    def merge_maximum(self, other: StallBound) -> StallBound:
        """The greater of each."""
        first = self if self.cycles >= other.cycles else other
        return replace(
            first,
            cycles_quantised=max(self.cycles_quantised, other.cycles_quantised),
            cycles_any_engine=max(self.cycles_any_engine, other.cycles_any_engine),
        )


NO_STALL = StallBound()


@dataclass(frozen=True)
class WorkAndTraffic:
    """Some work, and the bytes that are moved for it."""

    engine_work: Sequence[EngineWork]
    moved_bytes: float

    def cycles(
        self, chip: ChipRates, margins: LatencyMargins
    ) -> tuple[float, float, float]:
        """
        With an array that is never idle; in whole passes of it; and where the vector
        engine may do products too.
        """
        all_of = np.ones((len(self.engine_work), 1), np.bool_)
        memory = self.moved_bytes / chip.bandwidth
        share = SliceWork.of(all_of, self.engine_work, np.array([memory]))
        plain, passes = share.busy_cycles(chip.engines, margins)
        either = chip.cycles_on_any_engine(self.engine_work, memory, margins)
        return plain.item(), passes.item(), either


@dataclass(frozen=True)
class StallBounds:
    """
    Stall bounds of the results of a dataflow, from their heads and tails. What is there
    by the number of an operation is that of what needs a complete element of its
    result.
    """

    backward_slices: BackwardSlices
    forward_slices: ForwardSlices
    chip: ChipRates
    dependence: OpDependence
    engine_work: Sequence[EngineWork]
    """Of the operations themselves."""
    loads: OuterLoads
    """Upper bounds on their loads."""
    read_bytes: FloatArray
    """Bytes of the outermost memory that are read, each once."""
    written_bytes: FloatArray
    """And written, those on the bus."""

    def find_maximum(self, known: StallBound) -> StallBound:
        """The greatest bound, if it is more than what is known."""
        plain, passes = self._upper_estimates()
        gains = np.maximum(
            plain / max(known.cycles, 1.0), passes / max(known.cycles_quantised, 1.0)
        )
        hopeful = np.argsort(-gains, kind="stable")[
            : np.count_nonzero(gains > MIN_GAIN)
        ]
        found = known
        for number in hopeful[:: -(-len(hopeful) // MAX_RESULTS) or 1].tolist():
            if (
                plain[number].item() > MIN_GAIN * found.cycles
                or passes[number].item() > MIN_GAIN * found.cycles_quantised
            ):
                for each in self._bounds_at_result(number):
                    found = found.merge_maximum(each)
        return found

    def _upper_estimates(self) -> tuple[FloatArray, FloatArray]:
        """
        No less than what comes of each result: with all that may be before it, and all
        that comes after it.
        """
        chip, earlier = self.chip, self.dependence.ancestors.T
        loaded = self.loads.sum_over_columns(earlier) / chip.bandwidth
        moved = (
            np.maximum(0, self.read_bytes - chip.inner_capacity) + self.written_bytes
        )
        before = SliceWork.of(earlier, self.engine_work, loaded)
        after = SliceWork.of(
            self.dependence.steps_require_element,
            self.engine_work,
            moved / chip.bandwidth,
        )
        plain, passes = (
            one + other
            for one, other in zip(
                before.busy_cycles(chip.engines, chip.latency.heads),
                after.busy_cycles(chip.engines, chip.latency.tails),
                strict=True,
            )
        )
        return plain, passes

    def _bounds_at_result(self, number: int) -> Iterator[StallBound]:
        """
        Yield the bounds at three points of a result: when its first element is
        complete, when the last one is, and for products when the last of their rows has
        a first element: then each row has one, and that row no other.
        """
        op = self.backward_slices.reads.dataflow.operations[number]
        shape = shape_of(op.results[0])
        one, every = single_element_box(shape), whole_run_box(shape)
        is_late = self.dependence.steps_require_element[:, number].tolist()
        all_after = ForwardSlice(
            tuple(compress(self.engine_work, is_late)),
            int(self.read_bytes[number]),
            int(self.written_bytes[number]),
        )
        yield self._bound_around_box(number, one, all_after)
        if not self.backward_slices.op_work.is_fully_needed(op):
            return
        yield self._bound_around_box(
            number, every, self.forward_slices.slice_of(number, one)
        )
        rows = row_axes_of(op) if isinstance(op, ContractionInterface) else None
        if rows is not None:
            firsts, rest = (
                tuple(
                    StridedRun(extent) if (axis in rows) == is_row else SINGLE
                    for axis, extent in enumerate(shape)
                )
                for is_row in (True, False)
            )
            yield self._bound_around_box(
                number, firsts, self.forward_slices.slice_of(number, rest)
            )

    def _bound_around_box(
        self, number: int, complete: RunBox, fan: ForwardSlice
    ) -> StallBound:
        """The time until a box is complete, and the time of what comes after it."""
        chip, cone = self.chip, self.backward_slices.slice_of(number, complete)
        late = max(0, fan.read_bytes - chip.inner_capacity)
        moved = late + fan.written_bytes
        before = WorkAndTraffic(cone.engine_work, cone.read_bytes).cycles(
            chip, chip.latency.heads
        )
        after = WorkAndTraffic(fan.engine_work, moved).cycles(chip, chip.latency.tails)
        binds = after[0] == moved / chip.bandwidth + chip.latency.tails.memory
        op = self.backward_slices.reads.dataflow.operations[number]
        name = op.results[0].name_hint
        return StallBound(
            *(one + other for one, other in zip(before, after, strict=True)),
            subject=f"%{name}" if name else op.name,
            late_bytes=late if binds else 0,
        )


def row_axes_of(op: ContractionInterface) -> frozenset[int] | None:
    """
    The axes of a product's result that its left input has, and the right one has not;
    None where both have some, as batches do.
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
    efforts: OpWork,
    chip: ChipRates,
    read: Sequence[SSAValue],
    written: Mapping[SSAValue, int],
    known: StallBound,
) -> StallBound:
    """
    The bound of a dataflow, where tensors are read and written that lie in the
    outermost memory; those written with their bytes on the bus.
    """
    flow, dependence = reads.dataflow, OpDependence.of(reads)
    if not flow.operations:
        return NO_STALL
    numbers = {op: number for number, op in enumerate(flow.operations)}
    stored = np.zeros(len(numbers))
    for value, moved in written.items():
        if isinstance(owner := value.owner, ReferenceInterface) and owner in numbers:
            stored += dependence.requires_element[numbers[owner]] * float(moved)
    origins = StepLoads(flow, read, efforts)
    return StallBounds(
        BackwardSlices(reads, efforts, read),
        ForwardSlices(reads, efforts, origins, written),
        chip,
        dependence,
        [efforts.work_of(op) for op in flow.operations],
        whole_tensor_loads(flow, read),
        origins.loads_of_operations().sum_over_columns(
            dependence.steps_require_element
        ),
        stored,
    ).find_maximum(known)
