"""
A schedule as the cost model sees it: nests of counted loops around instructions that
touch buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import Protocol, TypeAlias

from xdsl.ir import Attribute

from tlf.analysis.buffers.regions import Section, are_apart
from tlf.machine.costs import Cost
from tlf.support.affine.access import Linear


@dataclass(eq=False, frozen=True)
class Variable:
    """The counter of a loop. It is the symbol of its value."""

    lower: int
    step: int
    trips: int

    @property
    def last(self) -> int:
        """Its value in the last iteration."""
        return self.lower + self.step * (self.trips - 1)


Values: TypeAlias = Mapping[Variable, int]
"""Values of the loop variables around an instruction."""


def value_of(index: Linear, values: Values) -> int:
    """The value of an index whose symbols are all known."""
    total = index.constant
    for symbol, factor in index.terms:
        assert isinstance(symbol, Variable)
        total += factor * values[symbol]
    return total


def divisor_of(index: Linear) -> int:
    """
    Return the greatest common divisor of the values of an index over all iterations; 0
    for an index that is 0.
    """
    found = index.constant
    steps = list[int]()
    for symbol, factor in index.terms:
        assert isinstance(symbol, Variable)
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
    turns: Nest | None = None
    """The loops whose iterations take its slots in turn."""
    order: tuple[int, ...] = ()
    """Its place among those of its level, in the order of the program."""

    @property
    def slots(self) -> int:
        """As many copies as there are."""
        return 1 if self.turns is None else self.turns.slots


@dataclass(frozen=True)
class Turn:
    """
    One of as many boxes of a buffer as a nest has iterations. No two of them have
    elements in common.
    """

    nest: Nest
    offsets: tuple[Linear, ...]
    box: tuple[int, ...]

    @property
    def boxes(self) -> int:
        """Number of boxes."""
        return self.nest.trips

    def number(self, values: Values) -> int:
        """Return the number of the box."""
        return iteration(self.nest, values)

    def meets(self, other: Turn | Chunk | None) -> bool:
        """Return `True` if the other one is the same box of the same iteration."""
        return self == other


def iterations(nest: Nest) -> Iterator[Values]:
    """The counters of a nest, in each iteration."""
    counts = [
        range(each.lower, each.lower + each.step * each.trips, each.step)
        for each in nest.variables
    ]
    for values in product(*counts):
        yield dict(zip(nest.variables, values, strict=True))


def iteration(nest: Nest, values: Values) -> int:
    """The number of an iteration of a nest."""
    number = 0
    for each in nest.variables:
        place = (values[each] - each.lower) // each.step
        number = number * each.trips + place
    return number


@dataclass(frozen=True)
class Chunk:
    """
    A part of a buffer that is moved in chunks: the one that each `period` iterations
    of a nest need anew, or make.
    """

    move: Step
    """The instruction that moves the whole part without chunks."""
    nest: Nest
    period: int
    boxes: int

    def number(self, values: Values) -> int:
        """Return the number of the chunk, at most that of the last one."""
        return min(iteration(self.nest, values) // self.period, self.boxes - 1)

    def meets(self, other: Turn | Chunk | None) -> bool:
        """Return `True` if the other one is a chunk of the same move."""
        return isinstance(other, Chunk) and self.move is other.move


@dataclass(frozen=True)
class Access:
    """
    Memory access of an instruction: a buffer, a part of it, or some slices of a ring.
    """

    buffer: Buffer
    start: Linear = field(default_factory=Linear)
    """The first slice, modulo all of them."""
    extent: int = 1
    sections: tuple[Section, ...] = ()
    """Sections that contain the part."""
    turn: Turn | Chunk | None = None
    """The box of an iteration, of those that all of them take in turn, or a chunk."""

    def meets(self, other: Access) -> bool:
        """
        Return `True` if both may touch the same bytes; slices of rings are not
        distinguished.
        """
        if self.buffer is not other.buffer:
            return False
        return not are_apart(self.sections, other.sections)

    def meets_later(self, other: Access) -> bool:
        """
        Return `True` if both may touch the same bytes in different iterations of the
        nest around them.
        """
        is_same = self.turn is not None and self.turn == other.turn
        return self.meets(other) and not is_same


@dataclass(frozen=True)
class Reach:
    """The elements `offset` to `offset + size` of an axis of `bound` elements."""

    offset: Linear
    size: int
    bound: int

    def outside(self, values: Values) -> int:
        """Return the first element if not all of them are within the axis; else 0."""
        start = value_of(self.offset, values)
        return 0 if 0 <= start <= self.bound - self.size else start


@dataclass(frozen=True)
class Phase:
    """A place in bytes of which the rest modulo a burst matters."""

    place: Linear
    burst: int


class Price(Protocol):
    """
    Cost of an instruction, which may depend on the iterations of the loops around it.
    """

    @property
    def reaches(self) -> Sequence[Reach]:
        """It costs the same wherever these are inside of their axes."""
        ...

    @property
    def phases(self) -> Sequence[Phase]:
        """And wherever these places are the same modulo their bursts."""
        ...

    def of(self, values: Values) -> Sequence[Cost]:
        """The instructions that do something."""
        ...


@dataclass(frozen=True)
class Fixed:
    """A price that is always the same."""

    costs: tuple[Cost, ...]
    reaches: tuple[Reach, ...] = ()
    phases: tuple[Phase, ...] = ()

    def of(self, values: Values) -> Sequence[Cost]:
        """The instructions."""
        return self.costs


@dataclass(eq=False)
class Step:
    """An instruction."""

    price: Price
    queue: int
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
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
    finishes: tuple[Step, ...] = ()
    """The moves that have arrived here, for what is no instruction but a wait."""

    @property
    def touched(self) -> Iterator[Access]:
        """Its reads and writes."""
        yield from self.reads
        yield from self.writes

    @property
    def accesses(self) -> Iterator[tuple[Access, bool]]:
        """Its accesses, with `True` for writes."""
        yield from ((access, False) for access in self.reads)
        yield from ((access, True) for access in self.writes)


@dataclass(eq=False)
class Nest:
    """Counted loops, outermost first, around one body."""

    variables: tuple[Variable, ...]
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

    def is_in(self, other: Nest) -> bool:
        """Return `True` if this is another nest, or inside of it."""
        nest: Nest | None = self
        while nest is not None and nest is not other:
            nest = nest.around
        return nest is other

    def steps(self) -> Iterator[Step]:
        """All instructions inside."""
        return steps_of(self.body)


Item: TypeAlias = Step | Nest


def steps_of(items: Sequence[Item]) -> Iterator[Step]:
    """All instructions of some items."""
    for item in items:
        if isinstance(item, Nest):
            yield from item.steps()
        else:
            yield item


def nests_of(items: Sequence[Item]) -> Iterator[Nest]:
    """All nests of some items, outer ones first."""
    for item in items:
        if isinstance(item, Nest):
            yield item
            yield from nests_of(item.body)
