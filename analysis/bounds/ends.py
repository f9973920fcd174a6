"""
Time before the engines of any program can start, and after they have finished.

As the heads and tails of jobs on one machine: Carlier, The one-machine sequencing
problem, European Journal of Operational Research 11, 1982.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tlf.analysis.bounds.dependence import starts_with
from tlf.analysis.bounds.efforts import Efforts
from tlf.analysis.bounds.reads import Reads
from tlf.analysis.work.engines import startup_of
from tlf.dialects.target import Target
from tlf.dialects.target.schema import Level


class Margins(NamedTuple):
    """Cycles that come to those in which a part of a chip is busy, if it is at all."""

    memory: float
    matrix: float
    vector: float


@dataclass(frozen=True)
class Ends:
    """Heads and tails: the time before and after the work of the parts of a chip."""

    heads: Margins
    """From the start to the first step of an engine; and from the last move out of the
    outermost memory until engines can start with it."""
    tails: Margins
    """From the last step of an engine until results are in the outermost memory; and
    from the last move of that memory to the end."""

    @property
    def around(self) -> Margins:
        """Before and after all work of a program; memory may move at once."""
        heads, tails = self.heads, self.tails
        return Margins(
            tails.memory, heads.matrix + tails.matrix, heads.vector + tails.vector
        )

    def least(self, other: Ends) -> Ends:
        """Return the margins that hold for both: the minimum of each."""
        return Ends(
            Margins(*map(min, self.heads, other.heads)),
            Margins(*map(min, self.tails, other.tails)),
        )


NO_ENDS = Ends(Margins(0.0, 0.0, 0.0), Margins(0.0, 0.0, 0.0))


def ends_of(reads: Reads, efforts: Efforts, target: Target) -> Ends:
    """
    The least times on a target that moves tiles from one of its memories to the next,
    one burst at least. Where an engine may start with what no memory holds, such as
    numbers that programs are made of, it may start at once.
    """
    if target.backend != "npu" or len(target.levels) < 2:
        return NO_ENDS
    waits = _wait_for_inputs(reads, efforts)
    *_, near, far = target.levels.values()
    way = float(sum(_hop(*pair) for pair in pairwise(target.levels.values())))
    return Ends(
        Margins(
            way - _transfer(near, far),
            way if waits["matrix"] else 0.0,
            way if waits["vector"] else 0.0,
        ),
        Margins(
            max(near.latency, far.latency),
            way + startup_of(target, "matrix"),
            way + startup_of(target, "vector"),
        ),
    )


def _hop(near: Level, far: Level) -> int:
    """A burst from one memory to the next, or back, until it has arrived."""
    return _transfer(near, far) + max(near.latency, far.latency)


def _transfer(near: Level, far: Level) -> int:
    """A burst on the bus."""
    return max(-(-each.burst // each.bandwidth) for each in (near, far))


def _wait_for_inputs(reads: Reads, efforts: Efforts) -> dict[str, bool]:
    """Return for each engine whether all of its steps have to wait for a load."""
    flow = reads.flow
    loaded = {*flow.inputs, *flow.stored()}
    waits = {"matrix": True, "vector": True}
    for op in flow.operations:
        certain = [
            value in loaded and reads.needs(op, position)
            for position, value in enumerate(flow.operands(op))
        ]
        if any(certain):
            loaded |= {*op.results}
        if any(
            value in loaded and starts_with(op, position, certain[position])
            for position, value in enumerate(flow.operands(op))
        ):
            continue
        effort = efforts.of(op)
        waits["matrix"] &= not effort.macs
        waits["vector"] &= not effort.steps
    return waits
