"""
Analysis of programs: lower bounds over all schedules on bytes moved and on cycles.

A schedule moves tiles between memories and computes the given operations in any order
and tiling, possibly with recomputation. Its moves do not depend on data, except for
reads at data-dependent indices, which are not counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from xdsl.dialects import func
from xdsl.ir import SSAValue

from tlf.analysis.bounds.busy_time import ChipRates
from tlf.analysis.bounds.dataflow import DataflowGraph
from tlf.analysis.bounds.extra_traffic import ExtraTraffic
from tlf.analysis.bounds.head_tail_latency import (
    NO_LATENCY,
    HeadTailLatency,
    head_tail_latency_of,
)
from tlf.analysis.bounds.matmul_traffic import find_matmul_reload_traffic
from tlf.analysis.bounds.op_work import OpWork
from tlf.analysis.bounds.operand_reads import OperandReads
from tlf.analysis.bounds.product_work import ProductWork, product_work_of_dataflow
from tlf.analysis.bounds.reload_barriers import find_largest_input_reload
from tlf.analysis.bounds.stall_bounds import NO_STALL, StallBound, stall_bound_of
from tlf.analysis.bounds.tensor_demand import TensorDemand, tensor_demands_of
from tlf.analysis.bounds.vector_steps import VectorSteps
from tlf.analysis.work.engine_throughput import Engines, min_cycles_on_both_engines
from tlf.dialects.graph import GroupOp
from tlf.dialects.target import TargetSpec
from tlf.dialects.types import element_count_of, itemsize_of


@dataclass(frozen=True)
class LowerBounds:
    """Lower bounds on the cost of a function, a group or several groups."""

    payload_bytes: int
    """Bytes moved to and from the outermost memory."""
    bus_bytes: int
    """Bytes moved on the bus, in whole bursts."""
    cycles: int
    """
    Cycles of the busiest of the outermost memory, the matrix engine for products, and
    the vector engine for all other operations; or the stall bound due to dependences or
    the capacity of inner memories.
    """
    cycles_quantised: int
    """Cycles with products in whole passes of the array."""
    cycles_any_engine: int
    """Cycles if the vector engine may also compute products."""
    binding: str
    """
    Resource that determines `cycles`: `memory`, `matrix`, `vector`, `order` or
    `capacity`.
    """
    extra_traffic: tuple[ExtraTraffic, ...]
    """Reasons for traffic beyond one access to every tensor."""
    macs: int
    """Number of multiply-accumulates, without padding zeros of images."""
    breakdown: WorkBreakdown
    """Breakdown of the bounds."""

    @property
    def binding_stalls(self) -> tuple[StallBound, ...]:
        """Stall bound that determines `cycles`, if any."""
        stall = self.breakdown.stall
        return (stall,) if self.binding == stall.reason else ()

    @property
    def intensity(self) -> float:
        """Multiply-accumulates per byte."""
        return self.macs / self.payload_bytes if self.payload_bytes else 0.0


@dataclass(frozen=True)
class WorkBreakdown:
    """
    Minimum traffic and work of a program, by the units of a chip, with stall bounds.
    """

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
            self.latency.minimum_of_margins(other.latency),
            self.stall.maximum_of_each_bound(other.stall),
        )


def lower_bounds_of(
    body: func.FuncOp | GroupOp,
    target: TargetSpec,
    inner_values: Collection[SSAValue] = (),
) -> LowerBounds:
    """
    Return the bounds of a function or a group that runs by itself on a target: operands
    and constants are loaded from the outermost memory, results are stored there, except
    for the arguments and yielded values in `inner_values`, which are resident.
    """
    return _bounds_of_breakdown(_break_down_work(body, target, inner_values), target)


def lower_bounds_of_partition(
    groups: Sequence[GroupOp], target: TargetSpec
) -> LowerBounds:
    """
    Return the bounds of groups that exchange intermediates through the outermost
    memory: a tensor that two of them read counts twice. Their work may overlap in time.
    """
    first, *remaining = (_break_down_work(each, target) for each in groups)
    return _bounds_of_breakdown(sum(remaining, first), target)


def outer_groups_of(function: func.FuncOp) -> tuple[GroupOp, ...]:
    """Return the top-level groups of a function."""
    return tuple(op for op in function.body.block.ops if isinstance(op, GroupOp))


def inner_capacity_of(target: TargetSpec) -> int:
    """Return the total bytes of all memories except the outermost, over all cores."""
    cores = Engines.of(target).engine_count
    *inner, _ = target.levels.values()
    registers = 4 * target.gpu.registers * cores if target.gpu is not None else 0
    return registers + sum(
        level.capacity * (cores if level.scope == "core" else 1) for level in inner
    )


def _bounds_of_breakdown(breakdown: WorkBreakdown, target: TargetSpec) -> LowerBounds:
    """
    Return bounds in bytes and cycles, the latter as the maximum of the units' busy
    cycles and the stall bound.
    """
    busy, stall = BusyCycles.of_breakdown(breakdown, target), breakdown.stall
    times = {**busy.times, stall.reason: stall.cycles}
    return LowerBounds(
        payload_bytes=breakdown.payload_bytes,
        bus_bytes=breakdown.bus_bytes,
        cycles=ceil(max(times.values())),
        cycles_quantised=ceil(max(busy.quantised, stall.cycles_quantised)),
        cycles_any_engine=ceil(max(busy.any_engine, stall.cycles_any_engine)),
        binding=max(times, key=lambda part: times[part]),
        extra_traffic=breakdown.extra_traffic,
        macs=sum(work.macs for work in breakdown.products),
        breakdown=breakdown,
    )


@dataclass(frozen=True)
class BusyCycles:
    """Busy cycles of the units of a chip, including head and tail latency."""

    times: Mapping[str, float]
    quantised: float
    any_engine: float

    @staticmethod
    def of_breakdown(breakdown: WorkBreakdown, target: TargetSpec) -> BusyCycles:
        """Return the busy cycles of some work on a target."""
        engines, margins = Engines.of(target), breakdown.latency.total_margins
        products = [
            (work.matrix_engine_cycles(engines, True), work.macs)
            for work in breakdown.products
        ]
        vector = breakdown.vector_steps / engines.vector_rate
        times = {
            "memory": _add_margin_to_busy_cycles(
                breakdown.bus_bytes / target.outermost_level.bandwidth, margins.memory
            ),
            "matrix": _add_margin_to_busy_cycles(
                sum(
                    work.matrix_engine_cycles(engines, False)
                    for work in breakdown.products
                ),
                margins.matrix,
            ),
            "vector": _add_margin_to_busy_cycles(vector, margins.vector),
        }
        least = max(times["memory"], times["vector"])
        in_passes = sum(cycles for cycles, _ in products)
        any_engine = min_cycles_on_both_engines(products, vector, engines)
        return BusyCycles(
            times,
            max(least, _add_margin_to_busy_cycles(in_passes, margins.matrix)),
            max(
                times["memory"],
                _add_margin_to_busy_cycles(
                    any_engine, min(margins.matrix, margins.vector)
                ),
            ),
        )


def _add_margin_to_busy_cycles(cycles: float, margin: float) -> float:
    return cycles + margin if cycles else 0.0


def _break_down_work(
    body: func.FuncOp | GroupOp,
    target: TargetSpec,
    inner_values: Collection[SSAValue] = (),
) -> WorkBreakdown:
    """
    Return the traffic, products, vector steps, latency and stall bound of `body`;
    `inner_values` are neither loaded nor stored.
    """
    flow, burst = DataflowGraph.of(body), target.outermost_level.burst
    inner_values = {
        flow.source_of_views(flow.resolve_alias(each)) for each in inner_values
    }
    needs = tensor_demands_of(flow, burst)
    read = [
        each
        for each in (*flow.inputs, *flow.stored_constants())
        if each not in inner_values
    ]
    written = _count_written_bus_bytes(flow, inner_values, burst)
    payload_bytes, bus_bytes = _count_payload_and_bus_bytes(read, needs, written, burst)
    extra = () if inner_values else _find_extra_traffic(flow, target)
    extra_bytes = sum(reload.bytes for reload in extra)
    steps = VectorSteps(flow, needs, target)
    reads, op_work = OperandReads(flow), OpWork(Engines.of(target), needs, steps)
    latency = (
        NO_LATENCY if inner_values else head_tail_latency_of(reads, op_work, target)
    )
    breakdown = WorkBreakdown(
        payload_bytes + extra_bytes,
        bus_bytes + extra_bytes,
        product_work_of_dataflow(flow, needs),
        steps.total_vector_steps(),
        extra,
        latency,
    )
    stall = _bound_stalls_of_breakdown(breakdown, target, reads, op_work, read, written)
    return replace(breakdown, stall=stall)


def _count_written_bus_bytes(
    flow: DataflowGraph, inner_values: Collection[SSAValue], burst: int
) -> dict[SSAValue, int]:
    """
    Return the bytes of each result to store outside `inner_values`, rounded up to whole
    bursts.
    """
    return {
        each: -(-element_count_of(each) * itemsize_of(each) // burst) * burst
        for each in _results_to_store(flow)
        if each not in inner_values
    }


def _count_payload_and_bus_bytes(
    read: Sequence[SSAValue],
    needs: Mapping[SSAValue, TensorDemand],
    written: Mapping[SSAValue, int],
    burst: int,
) -> tuple[int, int]:
    """Return the bytes of the tensors loaded and stored: payload, bytes on the bus."""
    read_demands = [needs.get(each, TensorDemand()) for each in read]
    widths = [itemsize_of(each) for each in read]
    payload_bytes = sum(
        need.elements * width for need, width in zip(read_demands, widths, strict=True)
    ) + sum(element_count_of(each) * itemsize_of(each) for each in written)
    bus_bytes = burst * sum(need.bursts for need in read_demands) + sum(
        written.values()
    )
    return payload_bytes, bus_bytes


def _bound_stalls_of_breakdown(
    breakdown: WorkBreakdown,
    target: TargetSpec,
    reads: OperandReads,
    op_work: OpWork,
    read: Sequence[SSAValue],
    written: Mapping[SSAValue, int],
) -> StallBound:
    """Return the stall bound of a dataflow, given the rest of its breakdown."""
    chip = ChipRates(
        op_work.engines,
        target.outermost_level.bandwidth,
        inner_capacity_of(target),
        breakdown.latency,
    )
    busy = BusyCycles.of_breakdown(breakdown, target)
    busy_bound = StallBound(max(busy.times.values()), busy.quantised, busy.any_engine)
    return stall_bound_of(reads, op_work, chip, read, written, busy_bound)


def _find_extra_traffic(
    flow: DataflowGraph, target: TargetSpec
) -> tuple[ExtraTraffic, ...]:
    """Return the reasons for traffic beyond one access to every tensor."""
    capacity = inner_capacity_of(target)
    reloads = find_matmul_reload_traffic(flow, capacity)
    barrier = find_largest_input_reload(flow, capacity)
    if barrier is not None and barrier.bytes > sum(reload.bytes for reload in reloads):
        return (barrier,)
    return reloads


def _results_to_store(flow: DataflowGraph) -> list[SSAValue]:
    """
    Return the results that must be written: without results that are views of inputs or
    stored constants, and without duplicates.
    """
    roots = dict.fromkeys(flow.source_of_views(each) for each in flow.outputs)
    known = {*flow.inputs, *flow.stored_constants()}
    return [each for each in roots if each not in known]
