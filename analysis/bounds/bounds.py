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

from tlf.analysis.bounds.barriers import barrier
from tlf.analysis.bounds.cuts import Cut
from tlf.analysis.bounds.dataflow import Dataflow, elements_of, width_of
from tlf.analysis.bounds.efforts import Efforts
from tlf.analysis.bounds.ends import NO_ENDS, Ends, ends_of
from tlf.analysis.bounds.needs import Need, needs_of
from tlf.analysis.bounds.product_work import ProductWork, products_of
from tlf.analysis.bounds.reads import Reads
from tlf.analysis.bounds.reuse import products_moved_again
from tlf.analysis.bounds.spans import Chip
from tlf.analysis.bounds.vector_steps import VectorSteps
from tlf.analysis.bounds.waiting import NO_WAITING, Waiting, waiting_of
from tlf.analysis.work.engines import Engines, least_cycles
from tlf.dialects.graph import GroupOp
from tlf.dialects.target import Target


@dataclass(frozen=True)
class Bounds:
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
    cuts: tuple[Cut, ...]
    """Reasons why more than every tensor once is moved."""
    macs: int
    """Multiply-accumulates, those with the zeros around images left out."""
    parts: Parts
    """Breakdown of the figures."""

    @property
    def waits(self) -> tuple[Waiting, ...]:
        """The result that `cycles` come from, if one does."""
        waiting = self.parts.waiting
        return (waiting,) if self.binding == waiting.reason else ()

    @property
    def intensity(self) -> float:
        """Multiply-accumulates for each byte."""
        return self.macs / self.payload_bytes if self.payload_bytes else 0.0


@dataclass(frozen=True)
class Parts:
    """The work of each part of a chip."""

    payload: int
    bus: int
    products: tuple[ProductWork, ...]
    vector_steps: int
    cuts: tuple[Cut, ...]
    ends: Ends = NO_ENDS
    waiting: Waiting = NO_WAITING

    def __add__(self, other: Parts) -> Parts:
        return Parts(
            self.payload + other.payload,
            self.bus + other.bus,
            self.products + other.products,
            self.vector_steps + other.vector_steps,
            self.cuts + other.cuts,
            self.ends.least(other.ends),
            self.waiting.most(other.waiting),
        )


def bounds_of(
    body: func.FuncOp | GroupOp, target: Target, near: Collection[SSAValue] = ()
) -> Bounds:
    """
    The bounds of a function or a group on a target, when it runs by itself: its
    operands and constants come from the outermost memory, its results go there, but
    for those that are `near`, arguments and values that it yields.
    """
    return _bounds(_parts(body, target, near), target)


def bounds_of_partition(groups: Sequence[GroupOp], target: Target) -> Bounds:
    """
    The bounds of groups that hand on what they compute through the outermost memory:
    what two of them read counts twice. Their work may overlap in time.
    """
    first, *others = (_parts(each, target) for each in groups)
    return _bounds(sum(others, first), target)


def groups_of(function: func.FuncOp) -> tuple[GroupOp, ...]:
    """The outer groups of a function."""
    return tuple(op for op in function.body.block.ops if isinstance(op, GroupOp))


def near_bytes(target: Target) -> int:
    """
    The bytes of all memories but the outermost, those of every core counted, and of the
    registers of a GPU.
    """
    cores = Engines.of(target).cores
    *near, _ = target.levels.values()
    registers = 4 * target.gpu.registers * cores if target.gpu is not None else 0
    return registers + sum(
        level.capacity * (cores if level.scope == "core" else 1) for level in near
    )


def _bounds(parts: Parts, target: Target) -> Bounds:
    busy, waiting = Busy.of(parts, target), parts.waiting
    times = {**busy.times, waiting.reason: waiting.cycles}
    return Bounds(
        payload_bytes=parts.payload,
        bus_bytes=parts.bus,
        cycles=ceil(max(times.values())),
        cycles_quantised=ceil(max(busy.quantised, waiting.cycles_quantised)),
        cycles_any_engine=ceil(max(busy.any_engine, waiting.cycles_any_engine)),
        binding=max(times, key=lambda part: times[part]),
        cuts=parts.cuts,
        macs=sum(work.macs for work in parts.products),
        parts=parts,
    )


@dataclass(frozen=True)
class Busy:
    """Cycles of the parts of a chip, with what comes before and after their work."""

    times: Mapping[str, float]
    quantised: float
    any_engine: float

    @staticmethod
    def of(parts: Parts, target: Target) -> Busy:
        """The cycles of some work on a target."""
        engines, around = Engines.of(target), parts.ends.around
        products = [(work.cycles(engines, True), work.macs) for work in parts.products]
        vector = parts.vector_steps / engines.vector_rate
        times = {
            "memory": _with(parts.bus / target.outermost.bandwidth, around.memory),
            "matrix": _with(
                sum(work.cycles(engines, False) for work in parts.products),
                around.matrix,
            ),
            "vector": _with(vector, around.vector),
        }
        least = max(times["memory"], times["vector"])
        in_passes = sum(cycles for cycles, _ in products)
        either = least_cycles(products, vector, engines)
        return Busy(
            times,
            max(least, _with(in_passes, around.matrix)),
            max(times["memory"], _with(either, min(around.matrix, around.vector))),
        )


def _with(cycles: float, margin: float) -> float:
    return cycles + margin if cycles else 0.0


def _parts(
    body: func.FuncOp | GroupOp, target: Target, near: Collection[SSAValue] = ()
) -> Parts:
    flow, burst = Dataflow.of(body), target.outermost.burst
    near = {flow.seen(flow.value(each)) for each in near}
    needs = needs_of(flow, burst)
    read = [each for each in (*flow.inputs, *flow.stored()) if each not in near]
    moved = [needs.get(each, Need()) for each in read]
    widths = [width_of(each) for each in read]
    written = {
        each: -(-elements_of(each) * width_of(each) // burst) * burst
        for each in _written(flow)
        if each not in near
    }
    payload = sum(
        need.elements * width for need, width in zip(moved, widths, strict=True)
    ) + sum(elements_of(each) * width_of(each) for each in written)
    bus = burst * sum(need.bursts for need in moved) + sum(written.values())
    cuts = () if near else _cuts(flow, target)
    again = sum(cut.bytes for cut in cuts)
    steps = VectorSteps(flow, needs, target)
    reads, efforts = Reads(flow), Efforts(Engines.of(target), needs, steps)
    ends = NO_ENDS if near else ends_of(reads, efforts, target)
    chip = Chip(efforts.engines, target.outermost.bandwidth, near_bytes(target), ends)
    parts = Parts(
        payload + again,
        bus + again,
        products_of(flow, needs),
        steps.total(),
        cuts,
        ends,
    )
    busy = Busy.of(parts, target)
    known = Waiting(max(busy.times.values()), busy.quantised, busy.any_engine)
    waiting = waiting_of(reads, efforts, chip, read, written, known)
    return replace(parts, waiting=waiting)


def _cuts(flow: Dataflow, target: Target) -> tuple[Cut, ...]:
    """Return the reasons why more than every tensor once is moved."""
    room = near_bytes(target)
    cuts = products_moved_again(flow, room)
    found = barrier(flow, room)
    if found is not None and found.bytes > sum(cut.bytes for cut in cuts):
        return (found,)
    return cuts


def _written(flow: Dataflow) -> list[SSAValue]:
    """
    The results that have to be written: not what lies outside already, under whichever
    shape, and one of several that are the same.
    """
    roots = dict.fromkeys(flow.seen(each) for each in flow.outputs)
    known = {*flow.inputs, *flow.stored()}
    return [each for each in roots if each not in known]
