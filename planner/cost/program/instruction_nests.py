"""Schedule of the cost model: nests of counted loops around instructions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import Protocol, TypeAlias

from xdsl.ir import Attribute

from tlf.analysis.buffers.subview_disjointness import Section, has_disjoint_sections
from tlf.machine.instruction_costs import Cost
from tlf.support.affine.index_access import AffineSum


@dataclass(eq=False, frozen=True)
class LoopCounter:
    """The counter of a loop. It is the symbol of its value."""

    lower: int
    step: int
    trips: int

    @property
    def last_value(self) -> int:
        """Its value in the last iteration."""
        return self.lower + self.step * (self.trips - 1)


Values: TypeAlias = Mapping[LoopCounter, int]
"""Values of the loop variables around an instruction."""


def evaluate_index(index: AffineSum, values: Values) -> int:
    """The value of an index whose symbols are all known."""
    total = index.constant
    for symbol, factor in index.terms:
        assert isinstance(symbol, LoopCounter)
        total += factor * values[symbol]
    return total


def gcd_of_index(index: AffineSum) -> int:
    """
    Return the greatest common divisor of the values of an index over all iterations; 0
    for an index that is 0.
    """
    found = index.constant
    steps = list[int]()
    for symbol, factor in index.terms:
        assert isinstance(symbol, LoopCounter)
        found += factor * symbol.lower
        if symbol.trips > 1:
            steps.append(factor * symbol.step)
    return gcd(found, *steps)


@dataclass(eq=False)
class Buffer:
    """A place in a memory level."""

    level: str
    bytes: int
    home: Nest | None
    """The loops in whose body it is allocated; None outside of all loops."""
    slices: int = 1
    """The slices of a ring; 1 for what is no ring."""
    multibuffer_nest: Nest | None = None
    """The loops whose iterations take its slots in turn."""
    order: tuple[int, ...] = ()
    """Its place among those of its level, in the order of the program."""

    @property
    def multibuffer_count(self) -> int:
        """As many copies as there are."""
        return 1 if self.multibuffer_nest is None else self.multibuffer_nest.slots


@dataclass(frozen=True)
class DisjointBox:
    """
    Box of a buffer that one iteration accesses, disjoint from all others. No two of
    them have elements in common.
    """

    nest: Nest
    offsets: tuple[AffineSum, ...]
    box: tuple[int, ...]

    @property
    def box_count(self) -> int:
        """Number of boxes."""
        return self.nest.trips

    def box_index(self, values: Values) -> int:
        """Return the number of the box."""
        return iteration_index(self.nest, values)

    def is_same_box(self, other: DisjointBox | ChunkBox | None) -> bool:
        """Return `True` if the other one is the same box of the same iteration."""
        return self == other


def counter_values(nest: Nest) -> Iterator[Values]:
    """The counters of a nest, in each iteration."""
    counts = [
        range(each.lower, each.lower + each.step * each.trips, each.step)
        for each in nest.variables
    ]
    for values in product(*counts):
        yield dict(zip(nest.variables, values, strict=True))


def iteration_index(nest: Nest, values: Values) -> int:
    """The number of an iteration of a nest."""
    number = 0
    for each in nest.variables:
        place = (values[each] - each.lower) // each.step
        number = number * each.trips + place
    return number


@dataclass(frozen=True)
class ChunkBox:
    """Part of a buffer that `period` iterations of a nest consume or produce."""

    move: Instruction
    """The instruction that moves the whole part without chunks."""
    nest: Nest
    period: int
    box_count: int

    def box_index(self, values: Values) -> int:
        """Return the number of the chunk, at most that of the last one."""
        return min(
            iteration_index(self.nest, values) // self.period, self.box_count - 1
        )

    def is_same_box(self, other: DisjointBox | ChunkBox | None) -> bool:
        """Return `True` if the other one is a chunk of the same move."""
        return isinstance(other, ChunkBox) and self.move is other.move


@dataclass(frozen=True)
class BufferAccess:
    """
    Memory access of an instruction: a buffer, a part of it, or some slices of a ring.
    """

    buffer: Buffer
    start: AffineSum = field(default_factory=AffineSum)
    """The first slice, modulo all of them."""
    extent: int = 1
    sections: tuple[Section, ...] = ()
    """Sections that contain the part."""
    disjoint_box: DisjointBox | ChunkBox | None = None
    """The box of an iteration, of those that all of them take in turn, or a chunk."""

    def can_alias(self, other: BufferAccess) -> bool:
        """
        Return `True` if both may touch the same bytes; slices of rings are not
        distinguished.
        """
        if self.buffer is not other.buffer:
            return False
        return not has_disjoint_sections(self.sections, other.sections)

    def can_alias_later(self, other: BufferAccess) -> bool:
        """
        Return `True` if both may touch the same bytes in different iterations of the
        nest around them.
        """
        is_same = (
            self.disjoint_box is not None and self.disjoint_box == other.disjoint_box
        )
        return self.can_alias(other) and not is_same


@dataclass(frozen=True)
class AxisRange:
    """Elements `offset` to `offset + size` of an axis of `bound` elements."""

    offset: AffineSum
    size: int
    bound: int

    def offset_if_outside(self, values: Values) -> int:
        """Return the first element if not all of them are within the axis; else 0."""
        start = evaluate_index(self.offset, values)
        return 0 if 0 <= start <= self.bound - self.size else start


@dataclass(frozen=True)
class BurstPhase:
    """Address whose remainder modulo a burst affects the cost."""

    place: AffineSum
    burst: int


class InstructionCost(Protocol):
    """
    Cost of an instruction, which may depend on the iterations of the loops around it.
    """

    @property
    def axis_ranges(self) -> Sequence[AxisRange]:
        """Axis ranges that leave the cost unchanged while they stay in bounds."""
        ...

    @property
    def phases(self) -> Sequence[BurstPhase]:
        """Addresses that leave the cost unchanged while their phases stay the same."""
        ...

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """Return the costs of the instructions that are executed."""
        ...


@dataclass(frozen=True)
class FixedCost:
    """A price that is always the same."""

    costs: tuple[Cost, ...]
    axis_ranges: tuple[AxisRange, ...] = ()
    phases: tuple[BurstPhase, ...] = ()

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """The instructions."""
        return self.costs


@dataclass(eq=False)
class Instruction:
    """An instruction."""

    cost: InstructionCost
    queue: int
    reads: tuple[BufferAccess, ...] = ()
    writes: tuple[BufferAccess, ...] = ()
    ahead: int = 0
    """Number of iterations before its own in which it is issued."""
    fills: bool = False
    """True if it fills a buffer with a number that a sum may start from."""
    sums: Buffer | None = None
    """The buffer that it adds to, all of it."""
    moves: tuple[Buffer, Buffer] | None = None
    """For a move, from where to where."""
    indexed: bool = False
    """True if the source of a move is given by indices."""
    product: bool = False
    """True if the matrix engine computes it."""
    half: Attribute | None = None
    """The 16-bit type of the factors of a product, or of what only rounds to it."""
    spare: int = 0
    """Bytes of what is computed in between."""
    finishes: tuple[Instruction, ...] = ()
    """The moves that have arrived here, for what is no instruction but a wait."""

    @property
    def reads_and_writes(self) -> Iterator[BufferAccess]:
        """Its reads and writes."""
        yield from self.reads
        yield from self.writes

    @property
    def accesses(self) -> Iterator[tuple[BufferAccess, bool]]:
        """Its accesses, with `True` for writes."""
        yield from ((access, False) for access in self.reads)
        yield from ((access, True) for access in self.writes)


@dataclass(eq=False)
class Nest:
    """Counted loops, outermost first, around one body."""

    variables: tuple[LoopCounter, ...]
    around: Nest | None
    stages: int = 1
    body: list[Item] = field(default_factory=list["Item"])
    slots: int = 1
    """Number of iterations that overlap."""
    order: int = 0
    """Position in the program."""
    opens: Nest | None = None
    """A nest that issues what it does ahead before this one."""

    @property
    def trips(self) -> int:
        """Trip count of the body."""
        return prod(each.trips for each in self.variables)

    def is_within(self, other: Nest) -> bool:
        """Return `True` if this is another nest, or inside of it."""
        nest: Nest | None = self
        while nest is not None and nest is not other:
            nest = nest.around
        return nest is other

    def instructions(self) -> Iterator[Instruction]:
        """All instructions inside."""
        return instructions_in(self.body)


Item: TypeAlias = Instruction | Nest


def instructions_in(items: Sequence[Item]) -> Iterator[Instruction]:
    """All instructions of some items."""
    for item in items:
        if isinstance(item, Nest):
            yield from item.instructions()
        else:
            yield item


def nests_in(items: Sequence[Item]) -> Iterator[Nest]:
    """All nests of some items, outer ones first."""
    for item in items:
        if isinstance(item, Nest):
            yield item
            yield from nests_in(item.body)
