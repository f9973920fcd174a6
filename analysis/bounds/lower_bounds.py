"""
Lower bounds over all schedules: bytes moved, and cycles.

A schedule moves tiles between memories and computes the operations as they are written,
in any order and any pieces, some of them more than once if it likes. What it moves does
not depend on data, but for reads at indices, which count nothing here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tlf.analysis.bounds.busy_time import ChipRates
from tlf.analysis.bounds.dataflow import DataflowGraph, element_count_of, itemsize_of
from tlf.analysis.bounds.extra_traffic import ExtraTraffic
from tlf.analysis.bounds.head_tail_latency import (
    NO_LATENCY,
    HeadTailLatency,
    head_tail_latency_of,
)
from tlf.analysis.bounds.matmul_traffic import find_product_reloads
from tlf.analysis.bounds.op_work import OpWork
from tlf.analysis.bounds.operand_reads import OperandReads
from tlf.analysis.bounds.product_work import ProductWork, product_work_of
from tlf.analysis.bounds.reload_barriers import find_barrier
from tlf.analysis.bounds.stall_bounds import NO_STALL, StallBound, stall_bound_of
from tlf.analysis.bounds.tensor_demand import TensorDemand, tensor_demands_of
from tlf.analysis.bounds.vector_steps import VectorSteps
from tlf.analysis.work.engine_throughput import Engines, min_balanced_cycles
from tlf.dialects.graph import GroupOp
from tlf.dialects.target import TargetSpec


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds on the cost of a function, a group or several groups."""

    payload_bytes: int
    """To and from the outermost memory."""
    bus_bytes: int
    """The same, in whole bursts."""
    cycles: int
    """Of the busiest of the outermost memory, the matrix engine, which does products,
    and the vector engine, which does all else; or what comes of the order of operations
    and the capacity of the memories near them."""
    cycles_quantised: int
    """The same, with products in whole passes of the array."""
    cycles_any_engine: int
    """The same, where the vector engine may do products too."""
    binding: str
    """
    Resource that `cycles` come from: `memory`, `matrix`, `vector`, `order` or
    `capacity`.
    """
    extra_traffic: tuple[ExtraTraffic, ...]
    """Reasons why more than every tensor once is moved."""
    macs: int
    """Multiply-accumulates, those with the zeros around images left out."""
    breakdown: WorkBreakdown
    """Breakdown of the figures."""

    @property
    def binding_stalls(self) -> tuple[StallBound, ...]:
        """The result that `cycles` come from, if one does."""
        waiting = self.breakdown.stall
        return (waiting,) if self.binding == waiting.reason else ()

    @property
    def intensity(self) -> float:
        """Multiply-accumulates for each byte."""
        return self.macs / self.payload_bytes if self.payload_bytes else 0.0


@dataclass(frozen=True)
class WorkBreakdown:
    """Breakdown of the work of a program by the parts of a chip."""

    payload_bytes: int
    bus_bytes: int
    products: tuple[ProductWork, ...]
    vector_steps: int
    extra_traffic: tuple[ExtraTraffic, ...]
    latency: HeadTailLatency = NO_LATENCY
    stall: StallBound = NO_STALL

    def __add__(self, other: WorkBreakdown) -> WorkBreakdown:
        return WorkBreakdown(
            self.payload_bytes + other.payload_bytes,
            self.bus_bytes + other.bus_bytes,
            self.products + other.products,
            self.vector_steps + other.vector_steps,
            self.extra_traffic + other.extra_traffic,
            self.latency.take_minimum(other.latency),
            self.stall.merge_maximum(other.stall),
        )


def lower_bounds_of(
    body: func.FuncOp | GroupOp, target: TargetSpec, near: Collection[SSAValue] = ()
) -> LowerBounds:
    """
    The bounds of a function or a group on a target, when it runs by itself: its
    operands and constants come from the outermost memory, its results go there, but
    for those that are `near`, arguments and values that it yields.
    """
    return _combine_bounds(_break_down_work(body, target, near), target)


def lower_bounds_of_partition(
    groups: Sequence[GroupOp], target: TargetSpec
) -> LowerBounds:
    """
    The bounds of groups that hand on what they compute through the outermost memory:
    what two of them read counts twice. Their work may overlap in time.
    """
    first, *others = (_break_down_work(each, target) for each in groups)
    return _combine_bounds(sum(others, first), target)


def outer_groups_of(function: func.FuncOp) -> tuple[GroupOp, ...]:
    """The outer groups of a function."""
    return tuple(op for op in function.body.block.ops if isinstance(op, GroupOp))


def inner_capacity_of(target: TargetSpec) -> int:
    """Return the bytes of all memories but the outermost, over all cores."""
    cores = Engines.of(target).cores
    *near, _ = target.levels.values()
    registers = 4 * target.gpu.registers * cores if target.gpu is not None else 0
    return registers + sum(
        level.capacity * (cores if level.scope == "core" else 1) for level in near
    )


def _combine_bounds(parts: WorkBreakdown, target: TargetSpec) -> LowerBounds:
    busy, waiting = BusyCycles.of(parts, target), parts.stall
    times = {**busy.times, waiting.reason: waiting.cycles}
    return LowerBounds(
        payload_bytes=parts.payload_bytes,
        bus_bytes=parts.bus_bytes,
        cycles=ceil(max(times.values())),
        cycles_quantised=ceil(max(busy.quantised, waiting.cycles_quantised)),
        cycles_any_engine=ceil(max(busy.any_engine, waiting.cycles_any_engine)),
        binding=max(times, key=lambda part: times[part]),
        extra_traffic=parts.extra_traffic,
        macs=sum(work.macs for work in parts.products),
        breakdown=parts,
    )


@dataclass(frozen=True)
class BusyCycles:
    """Cycles of the parts of a chip, with what comes before and after their work."""

    times: Mapping[str, float]
    quantised: float
    any_engine: float

    @staticmethod
    def of(parts: WorkBreakdown, target: TargetSpec) -> BusyCycles:
        """The cycles of some work on a target."""
        engines, around = Engines.of(target), parts.latency.total_margins
        products = [(work.cycles(engines, True), work.macs) for work in parts.products]
        vector = parts.vector_steps / engines.vector_rate
        times = {
            "memory": _add_margin(
                parts.bus_bytes / target.outermost.bandwidth, around.memory
            ),
            "matrix": _add_margin(
                sum(work.cycles(engines, False) for work in parts.products),
                around.matrix,
            ),
            "vector": _add_margin(vector, around.vector),
        }
        least = max(times["memory"], times["vector"])
        in_passes = sum(cycles for cycles, _ in products)
        either = min_balanced_cycles(products, vector, engines)
        return BusyCycles(
            times,
            max(least, _add_margin(in_passes, around.matrix)),
            max(
                times["memory"], _add_margin(either, min(around.matrix, around.vector))
            ),
        )


def _add_margin(cycles: float, margin: float) -> float:
    return cycles + margin if cycles else 0.0


def _break_down_work(
    body: func.FuncOp | GroupOp, target: TargetSpec, near: Collection[SSAValue] = ()
) -> WorkBreakdown:
    flow, burst = DataflowGraph.of(body), target.outermost.burst
    near = {flow.resolve_views(flow.resolve_value(each)) for each in near}
    needs = tensor_demands_of(flow, burst)
    read = [
        each for each in (*flow.inputs, *flow.stored_constants()) if each not in near
    ]
    moved = [needs.get(each, TensorDemand()) for each in read]
    widths = [itemsize_of(each) for each in read]
    written = {
        each: -(-element_count_of(each) * itemsize_of(each) // burst) * burst
        for each in _stored_results(flow)
        if each not in near
    }
    payload = sum(
        need.elements * width for need, width in zip(moved, widths, strict=True)
    ) + sum(element_count_of(each) * itemsize_of(each) for each in written)
    bus = burst * sum(need.bursts for need in moved) + sum(written.values())
    cuts = () if near else _find_extra_traffic(flow, target)
    again = sum(cut.bytes for cut in cuts)
    steps = VectorSteps(flow, needs, target)
    reads, efforts = OperandReads(flow), OpWork(Engines.of(target), needs, steps)
    ends = NO_LATENCY if near else head_tail_latency_of(reads, efforts, target)
    chip = ChipRates(
        efforts.engines, target.outermost.bandwidth, inner_capacity_of(target), ends
    )
    parts = WorkBreakdown(
        payload + again,
        bus + again,
        product_work_of(flow, needs),
        steps.total_steps(),
        cuts,
        ends,
    )
    busy = BusyCycles.of(parts, target)
    known = StallBound(max(busy.times.values()), busy.quantised, busy.any_engine)
    waiting = stall_bound_of(reads, efforts, chip, read, written, known)
    return replace(parts, stall=waiting)


def _find_extra_traffic(
    flow: DataflowGraph, target: TargetSpec
) -> tuple[ExtraTraffic, ...]:
    """Return the reasons why more than every tensor once is moved."""
    room = inner_capacity_of(target)
    cuts = find_product_reloads(flow, room)
    found = find_barrier(flow, room)
    if found is not None and found.bytes > sum(cut.bytes for cut in cuts):
        return (found,)
    return cuts


def _stored_results(flow: DataflowGraph) -> list[SSAValue]:
    """
    The results that have to be written: not what lies outside already, under whichever
    shape, and one of several that are the same.
    """
    roots = dict.fromkeys(flow.resolve_views(each) for each in flow.outputs)
    known = {*flow.inputs, *flow.stored_constants()}
    return [each for each in roots if each not in known]
