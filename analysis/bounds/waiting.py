"""
Cycles that come from how much can be near the engines when a result is first there.

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

from tlf.analysis.bounds.cones import Cones
from tlf.analysis.bounds.dependence import Dependence
from tlf.analysis.bounds.efforts import Effort, Efforts
from tlf.analysis.bounds.ends import Margins
from tlf.analysis.bounds.fans import Fan, Fans
from tlf.analysis.bounds.loads import Loads, Numbers, Origins, all_loads
from tlf.analysis.bounds.products import Sides
from tlf.analysis.bounds.reads import Reads, shape_of
from tlf.analysis.bounds.runs import ONE, Box, Run, any_element, whole_box
from tlf.analysis.bounds.spans import Chip, Share
from tlf.dialects.interfaces import ContractionInterface, ReferenceInterface

GAIN = 1.0005
"""A result that cannot raise a bound by more is left out."""

TRIES = 100
"""
Maximum number of results examined, evenly spaced among those that may raise a bound.
"""


@dataclass(frozen=True)
class Waiting:
    """Cycles that a program takes at least."""

    cycles: float = 0.0
    cycles_quantised: float = 0.0
    cycles_any_engine: float = 0.0
    what: str = ""
    """The result that `cycles` come from, before it and after it."""
    late: int = 0
    """The bytes that are read after it as they cannot be near before, where these take
    longest."""

    @property
    def reason(self) -> str:
        """Origin of the bound: `capacity` or `order`."""
        return "capacity" if self.late else "order"

    def __str__(self) -> str:
        late = f": {self.late:,} bytes are read after it" if self.late else ""
        return f"{self.what}{late}"

    def most(self, other: Waiting) -> Waiting:
        """The greater of each."""
        first = self if self.cycles >= other.cycles else other
        return replace(
            first,
            cycles_quantised=max(self.cycles_quantised, other.cycles_quantised),
            cycles_any_engine=max(self.cycles_any_engine, other.cycles_any_engine),
        )


NO_WAITING = Waiting()


@dataclass(frozen=True)
class Work:
    """Some work, and the bytes that are moved for it."""

    efforts: Sequence[Effort]
    moved: float

    def cycles(self, chip: Chip, margins: Margins) -> tuple[float, float, float]:
        """
        With an array that is never idle; in whole passes of it; and where the vector
        engine may do products too.
        """
        all_of = np.ones((len(self.efforts), 1), np.bool_)
        memory = self.moved / chip.bandwidth
        share = Share.of(all_of, self.efforts, np.array([memory]))
        plain, passes = share.cycles(chip.engines, margins)
        either = chip.any_engine(self.efforts, memory, margins)
        return plain.item(), passes.item(), either


@dataclass(frozen=True)
class Waits:
    """
    The heads and tails of the results of a dataflow. What is there by the number of an
    operation is that of what needs a complete element of its result.
    """

    cones: Cones
    fans: Fans
    chip: Chip
    dependence: Dependence
    efforts: Sequence[Effort]
    """Of the operations themselves."""
    loads: Loads
    """Upper bounds on their loads."""
    read: Numbers
    """Bytes of the outermost memory that are read, each once."""
    written: Numbers
    """And written, those on the bus."""

    def most(self, known: Waiting) -> Waiting:
        """The greatest bound, if it is more than what is known."""
        plain, passes = self._hopes()
        gains = np.maximum(
            plain / max(known.cycles, 1.0), passes / max(known.cycles_quantised, 1.0)
        )
        hopeful = np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > GAIN)]
        found = known
        for number in hopeful[:: -(-len(hopeful) // TRIES) or 1].tolist():
            if (
                plain[number].item() > GAIN * found.cycles
                or passes[number].item() > GAIN * found.cycles_quantised
            ):
                for each in self._at(number):
                    found = found.most(each)
        return found

    def _hopes(self) -> tuple[Numbers, Numbers]:
        """
        No less than what comes of each result: with all that may be before it, and all
        that comes after it.
        """
        chip, earlier = self.chip, self.dependence.ancestors.T
        loaded = self.loads.of(earlier) / chip.bandwidth
        moved = np.maximum(0, self.read - chip.room) + self.written
        before = Share.of(earlier, self.efforts, loaded)
        after = Share.of(self.dependence.starts, self.efforts, moved / chip.bandwidth)
        plain, passes = (
            one + other
            for one, other in zip(
                before.cycles(chip.engines, chip.ends.heads),
                after.cycles(chip.engines, chip.ends.tails),
                strict=True,
            )
        )
        return plain, passes

    def _at(self, number: int) -> Iterator[Waiting]:
        """
        Yield the bounds at three points of a result: when its first element is
        complete, when the last one is, and for products when the last of their rows has
        a first element: then each row has one, and that row no other.
        """
        op = self.cones.reads.flow.operations[number]
        shape = shape_of(op.results[0])
        one, every = any_element(shape), whole_box(shape)
        is_late = self.dependence.starts[:, number].tolist()
        all_after = Fan(
            tuple(compress(self.efforts, is_late)),
            int(self.read[number]),
            int(self.written[number]),
        )
        yield self._between(number, one, all_after)
        if not self.cones.efforts.is_needed_whole(op):
            return
        yield self._between(number, every, self.fans.of(number, one))
        rows = rows_of(op) if isinstance(op, ContractionInterface) else None
        if rows is not None:
            firsts, rest = (
                tuple(
                    Run(extent) if (axis in rows) == is_row else ONE
                    for axis, extent in enumerate(shape)
                )
                for is_row in (True, False)
            )
            yield self._between(number, firsts, self.fans.of(number, rest))

    def _between(self, number: int, complete: Box, fan: Fan) -> Waiting:
        """The time until a box is complete, and the time of what comes after it."""
        chip, cone = self.chip, self.cones.of(number, complete)
        late = max(0, fan.read - chip.room)
        moved = late + fan.written
        before = Work(cone.efforts, cone.bytes).cycles(chip, chip.ends.heads)
        after = Work(fan.efforts, moved).cycles(chip, chip.ends.tails)
        binds = after[0] == moved / chip.bandwidth + chip.ends.tails.memory
        op = self.cones.reads.flow.operations[number]
        name = op.results[0].name_hint
        return Waiting(
            *(one + other for one, other in zip(before, after, strict=True)),
            what=f"%{name}" if name else op.name,
            late=late if binds else 0,
        )


def rows_of(op: ContractionInterface) -> frozenset[int] | None:
    """
    The axes of a product's result that its left input has, and the right one has not;
    None where both have some, as batches do.
    """
    sides, extents = Sides.of(op), [each.extent for each in op.iterators()]
    if any(extents[each] > 1 for each in sides.batch):
        return None
    return frozenset(
        axis
        for axis, access in enumerate(op.result_accesses()[0])
        if any(each in sides.m for each, _ in access.terms)
    )


def waiting_of(
    reads: Reads,
    efforts: Efforts,
    chip: Chip,
    read: Sequence[SSAValue],
    written: Mapping[SSAValue, int],
    known: Waiting,
) -> Waiting:
    """
    The bound of a dataflow, where tensors are read and written that lie in the
    outermost memory; those written with their bytes on the bus.
    """
    flow, dependence = reads.flow, Dependence.of(reads)
    if not flow.operations:
        return NO_WAITING
    numbers = {op: number for number, op in enumerate(flow.operations)}
    stored = np.zeros(len(numbers))
    for value, moved in written.items():
        if isinstance(owner := value.owner, ReferenceInterface) and owner in numbers:
            stored += dependence.complete[numbers[owner]] * float(moved)
    origins = Origins(flow, read, efforts)
    return Waits(
        Cones(reads, efforts, read),
        Fans(reads, efforts, origins, written),
        chip,
        dependence,
        [efforts.of(op) for op in flow.operations],
        all_loads(flow, read),
        origins.loads().of(dependence.starts),
        stored,
    ).most(known)
