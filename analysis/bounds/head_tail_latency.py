"""
Head and tail latency: time before engines can start and after they have finished.

As the heads and tails of jobs on one machine: Carlier, The one-machine sequencing
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
    """Extra cycles of each part of a chip, if it is busy at all."""

    memory: float
    matrix: float
    vector: float


@dataclass(frozen=True)
class HeadTailLatency:
    """Heads and tails: the time before and after the work of the parts of a chip."""

    heads: LatencyMargins
    """From the start to the first step of an engine; and from the last move out of the
    outermost memory until engines can start with it."""
    tails: LatencyMargins
    """From the last step of an engine until results are in the outermost memory; and
    from the last move of that memory to the end."""

    @property
    def total_margins(self) -> LatencyMargins:
        """Before and after all work of a program; memory may move at once."""
        heads, tails = self.heads, self.tails
        return LatencyMargins(
            tails.memory, heads.matrix + tails.matrix, heads.vector + tails.vector
        )

    def take_minimum(self, other: HeadTailLatency) -> HeadTailLatency:
        """Return the margins that hold for both: the minimum of each."""
        return HeadTailLatency(
            LatencyMargins(*map(min, self.heads, other.heads)),
            LatencyMargins(*map(min, self.tails, other.tails)),
        )


NO_LATENCY = HeadTailLatency(
    LatencyMargins(0.0, 0.0, 0.0), LatencyMargins(0.0, 0.0, 0.0)
)


def head_tail_latency_of(
    reads: OperandReads, efforts: OpWork, target: TargetSpec
) -> HeadTailLatency:
    """
    Return the minimum head and tail latency of a program on a target. Where an engine
    may start with what no memory holds, such as numbers that programs are made of, it
    may start at once.
    """
    if target.backend != "npu" or len(target.levels) < 2:
        return NO_LATENCY
    waits = _find_waiting_engines(reads, efforts)
    *_, near, far = target.levels.values()
    way = float(sum(_hop_cycles(*pair) for pair in pairwise(target.levels.values())))
    return HeadTailLatency(
        LatencyMargins(
            way - _transfer_cycles(near, far),
            way if waits["matrix"] else 0.0,
            way if waits["vector"] else 0.0,
        ),
        LatencyMargins(
            max(near.latency, far.latency),
            way + startup_cycles_of(target, "matrix"),
            way + startup_cycles_of(target, "vector"),
        ),
    )


def _hop_cycles(near: Level, far: Level) -> int:
    """A burst from one memory to the next, or back, until it has arrived."""
    return _transfer_cycles(near, far) + max(near.latency, far.latency)


def _transfer_cycles(near: Level, far: Level) -> int:
    """A burst on the bus."""
    return max(-(-each.burst // each.bandwidth) for each in (near, far))


def _find_waiting_engines(reads: OperandReads, efforts: OpWork) -> dict[str, bool]:
    """Return for each engine whether all of its steps have to wait for a load."""
    flow = reads.dataflow
    loaded = {*flow.inputs, *flow.stored_constants()}
    waits = {"matrix": True, "vector": True}
    for op in flow.operations:
        certain = [
            value in loaded and reads.is_always_needed(op, position)
            for position, value in enumerate(flow.operands_of(op))
        ]
        if any(certain):
            loaded |= {*op.results}
        if any(
            value in loaded and is_read_in_every_step(op, position, certain[position])
            for position, value in enumerate(flow.operands_of(op))
        ):
            continue
        effort = efforts.work_of(op)
        waits["matrix"] &= not effort.macs
        waits["vector"] &= not effort.vector_steps
    return waits
