"""
Analysis of head and tail latency: time before engines can start and after they have
finished.

Source: heads and tails of jobs on one machine, Carlier, The one-machine sequencing
problem, European Journal of Operational Research 11, 1982.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tlf.analysis.bounds.op_dependence import is_read_in_every_step
from tlf.analysis.bounds.op_work import OpWork
from tlf.analysis.bounds.operand_reads import OperandReads
from tlf.analysis.work.engine_throughput import startup_cycles_of
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.schema import Level


class LatencyMargins(NamedTuple):
    """Cycles to add to the busy cycles of each unit of a chip, unless it is idle."""

    memory: float
    matrix: float
    vector: float


@dataclass(frozen=True)
class HeadTailLatency:
    """
    Head and tail latency of the units of a chip: time before and after their work.
    """

    heads: LatencyMargins
    """
    For engines, cycles from the start to their first step; for memory, cycles from the
    last load from the outermost memory until engines can use it.
    """
    tails: LatencyMargins
    """
    For engines, cycles from their last step until results are in the outermost memory;
    for memory, cycles from its last move to the end.
    """

    @property
    def total_margins(self) -> LatencyMargins:
        """
        Margins before and after all work of a program; memory may start immediately.
        """
        heads, tails = self.heads, self.tails
        return LatencyMargins(
            tails.memory, heads.matrix + tails.matrix, heads.vector + tails.vector
        )

    def minimum_of_margins(self, other: HeadTailLatency) -> HeadTailLatency:
        """
        Return the entrywise minimum of two latencies, which is a lower bound on both.
        """
        return HeadTailLatency(
            LatencyMargins(*map(min, self.heads, other.heads)),
            LatencyMargins(*map(min, self.tails, other.tails)),
        )


NO_LATENCY = HeadTailLatency(
    LatencyMargins(0.0, 0.0, 0.0), LatencyMargins(0.0, 0.0, 0.0)
)


def head_tail_latency_of(
    reads: OperandReads, op_work: OpWork, target: TargetSpec
) -> HeadTailLatency:
    """
    Return the minimum head and tail latency of a program on a target. An engine that
    may start with values that are in no memory, such as constants of the program, has
    no head latency.
    """
    if target.backend != "npu" or len(target.levels) < 2:
        return NO_LATENCY
    waits = _find_engines_waiting_for_loads(reads, op_work)
    *_, inner, outer = target.levels.values()
    path = float(
        sum(_latency_between_levels(*pair) for pair in pairwise(target.levels.values()))
    )
    return HeadTailLatency(
        LatencyMargins(
            path - _burst_cycles_between_levels(inner, outer),
            path if waits["matrix"] else 0.0,
            path if waits["vector"] else 0.0,
        ),
        LatencyMargins(
            max(inner.latency, outer.latency),
            path + startup_cycles_of(target, "matrix"),
            path + startup_cycles_of(target, "vector"),
        ),
    )


def _latency_between_levels(inner: Level, outer: Level) -> int:
    """Return the cycles until a burst has arrived in the adjacent memory."""
    return _burst_cycles_between_levels(inner, outer) + max(
        inner.latency, outer.latency
    )


def _burst_cycles_between_levels(inner: Level, outer: Level) -> int:
    """Return the cycles of a burst on the bus."""
    return max(-(-each.burst // each.bandwidth) for each in (inner, outer))


def _find_engines_waiting_for_loads(
    reads: OperandReads, op_work: OpWork
) -> dict[str, bool]:
    """Return, for each engine, `True` if all of its steps must wait for a load."""
    flow = reads.dataflow
    loaded = {*flow.inputs, *flow.stored_constants()}
    waits = {"matrix": True, "vector": True}
    for op in flow.operations:
        is_needed = [
            value in loaded and reads.is_operand_always_needed(op, position)
            for position, value in enumerate(flow.operands_of(op))
        ]
        if any(is_needed):
            loaded |= {*op.results}
        if any(
            value in loaded and is_read_in_every_step(op, position, is_needed[position])
            for position, value in enumerate(flow.operands_of(op))
        ):
            continue
        effort = op_work.work_of(op)
        waits["matrix"] &= not effort.macs
        waits["vector"] &= not effort.vector_steps
    return waits
