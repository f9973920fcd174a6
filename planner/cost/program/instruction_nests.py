"""
Cost model of NPU tile programs: data structure of the schedule that replaces IR, nests
of counted loops around instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import gcd, prod
from typing import Protocol, TypeAlias

from xdsl.ir import Attribute

from tlf.analysis.buffers.index_congruence import Congruence
from tlf.analysis.buffers.subview_disjointness import Section, has_disjoint_sections
from tlf.machine.instruction_costs import Cost
from tlf.support.affine.index_access import AffineSum


@dataclass(eq=False, frozen=True)
class LoopCounter:
    """Counter of a loop with constant bounds; also its symbol in affine sums."""

    lower: int
    step: int
    trips: int

    @property
    def last_value(self) -> int:
        """Value in the last iteration."""
        return self.lower + self.step * (self.trips - 1)


Values: TypeAlias = Mapping[LoopCounter, int]
"""Values of the loop counters around an instruction."""


def evaluate_index(index: AffineSum, values: Values) -> int:
    """Return the integer value of an index at given values of all its loop counters."""
    total = index.constant
    for symbol, factor in index.terms:
        assert isinstance(symbol, LoopCounter)
        total += factor * values[symbol]
    return total


def step_of_index(index: AffineSum, counter: LoopCounter) -> int:
    """Return the step of an index per iteration of a loop."""
    return index.factor_of(counter) * counter.step


def congruence_of_index(index: AffineSum) -> Congruence:
    """Return the congruence of the values of an index over all iterations."""
    start, modulus = index.constant, 0
    for symbol, factor in index.terms:
        assert isinstance(symbol, LoopCounter)
        start += factor * symbol.lower
        if symbol.trips > 1:
            modulus = gcd(modulus, factor * symbol.step)
    return modulus, start % modulus if modulus else start


@dataclass(eq=False)
class Buffer:
    """Buffer in a memory level."""

    level: str
    bytes: int
    allocation_nest: Nest | None
    """Nest in whose body the buffer is allocated; `None` outside of all loops."""
    slice_count: int = 1
    """Number of slices of a ring buffer; 1 for other buffers."""
    multibuffer_nest: Nest | None = None
    """Nest whose iterations rotate through the slots of the buffer."""
    level_position: tuple[int, ...] = ()
    """Position among the buffers of its level, in program order."""

    @property
    def multibuffer_count(self) -> int:
        """Number of copies."""
        return 1 if self.multibuffer_nest is None else self.multibuffer_nest.slot_count


@dataclass(frozen=True)
class DisjointBox:
    """
    Box of a buffer that one iteration accesses, disjoint from those of all others.
    """

    nest: Nest
    offsets: tuple[AffineSum, ...]
    box_shape: tuple[int, ...]

    @property
    def box_count(self) -> int:
        """Number of boxes."""
        return self.nest.iteration_count

    def box_index(self, values: Values) -> int:
        """Return the index of the box."""
        return iteration_index(self.nest, values)

    def is_same_box(self, other: DisjointBox | ChunkBox | None) -> bool:
        """Return `True` if `other` is the same box of the same iteration."""
        return self == other


def counter_values(counters: Sequence[LoopCounter]) -> Iterator[Values]:
    """Yield the values of loop counters in each iteration, in execution order."""
    counts = [
        range(each.lower, each.lower + each.step * each.trips, each.step)
        for each in counters
    ]
    for values in product(*counts):
        yield dict(zip(counters, values, strict=True))


def iteration_index(nest: Nest, values: Values) -> int:
    """Return the position of an iteration in a nest's execution order, from 0."""
    index = 0
    for each in nest.counters:
        position = (values[each] - each.lower) // each.step
        index = index * each.trips + position
    return index


@dataclass(frozen=True)
class ChunkBox:
    """
    Chunk of a buffer that `iterations_per_chunk` iterations of a nest consume or
    produce.
    """

    unsplit_move: Instruction
    """The unsplit move of all chunks."""
    nest: Nest
    iterations_per_chunk: int
    box_count: int

    def box_index(self, values: Values) -> int:
        """Return the index of the chunk, at most that of the last chunk."""
        return min(
            iteration_index(self.nest, values) // self.iterations_per_chunk,
            self.box_count - 1,
        )

    def is_same_box(self, other: DisjointBox | ChunkBox | None) -> bool:
        """Return `True` if `other` is a chunk of the same move."""
        return isinstance(other, ChunkBox) and self.unsplit_move is other.unsplit_move


@dataclass(frozen=True)
class BufferAccess:
    """
    Memory access of an instruction: a buffer, a region of it, or slices of a ring.
    """

    buffer: Buffer
    first_slice: AffineSum = field(default_factory=AffineSum)
    """First slice, modulo the number of slices."""
    slice_count: int = 1
    sections: tuple[Section, ...] = ()
    """Sections that contain the region."""
    disjoint_box: DisjointBox | ChunkBox | None = None
    """Disjoint box of an iteration, or a chunk."""

    def can_alias(self, other: BufferAccess) -> bool:
        """
        Return `True` if both may access the same bytes; slices of rings are not
        distinguished.
        """
        if self.buffer is not other.buffer:
            return False
        return not has_disjoint_sections(self.sections, other.sections)

    def can_alias_later(self, other: BufferAccess) -> bool:
        """
        Return `True` if both may access the same bytes in different iterations of the
        surrounding nest.
        """
        is_same = (
            self.disjoint_box is not None and self.disjoint_box == other.disjoint_box
        )
        return self.can_alias(other) and not is_same


@dataclass(frozen=True)
class AxisRange:
    """Elements `offset` to `offset + size` of an axis of `axis_extent` elements."""

    offset: AffineSum
    size: int
    axis_extent: int

    def offset_if_out_of_bounds(self, values: Values) -> int:
        """Return the offset if some elements are out of bounds, else 0."""
        start = evaluate_index(self.offset, values)
        return 0 if 0 <= start <= self.axis_extent - self.size else start


@dataclass(frozen=True)
class BurstPhase:
    """Address whose remainder modulo a burst affects the cost."""

    address: AffineSum
    burst_bytes: int


class InstructionCost(Protocol):
    """
    Cost of an instruction, which may depend on the iteration of surrounding loops.
    """

    @property
    def axis_ranges(self) -> Sequence[AxisRange]:
        """Axis ranges; the cost is unchanged while they stay in bounds."""
        ...

    @property
    def phases(self) -> Sequence[BurstPhase]:
        """Addresses; the cost is unchanged while their phases stay the same."""
        ...

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """Return the costs of the instructions that are executed."""
        ...


@dataclass(frozen=True)
class FixedCost:
    """Cost that does not depend on the iteration."""

    costs: tuple[Cost, ...]
    axis_ranges: tuple[AxisRange, ...] = ()
    phases: tuple[BurstPhase, ...] = ()

    def costs_at(self, values: Values) -> Sequence[Cost]:
        """Return the costs of the instructions."""
        return self.costs


@dataclass(eq=False)
class Instruction:
    """Scheduled instruction of an engine, or wait for moves."""

    cost: InstructionCost
    queue: int
    reads: tuple[BufferAccess, ...] = ()
    writes: tuple[BufferAccess, ...] = ()
    prefetch_distance: int = 0
    """Prefetch distance: the number of iterations by which it is issued early."""
    fill_value: float | None = None
    """Number that it fills a buffer with; None unless it is a fill."""
    accumulator: Buffer | None = None
    """Buffer that it accumulates into, as a whole."""
    neutral_element: float | None = None
    """Initial value of an accumulator that does not change the result."""
    move_endpoints: tuple[Buffer, Buffer] | None = None
    """Source and destination of a move."""
    is_indexed: bool = False
    """True if indices address one side of a move."""
    is_filled: bool = False
    """True if a move fills the elements of its box outside of the source."""
    is_product: bool = False
    """True if it is a matrix product."""
    half_type: Attribute | None = None
    """16-bit type of the factors of a product, or of the result of a rounding cast."""
    temporary_bytes: int = 0
    """Bytes of temporaries."""
    completed_moves: tuple[Instruction, ...] = ()
    """Moves that a wait completes; empty for instructions."""

    @property
    def reads_and_writes(self) -> Iterator[BufferAccess]:
        """Reads, then writes."""
        yield from self.reads
        yield from self.writes

    @property
    def accesses(self) -> Iterator[tuple[BufferAccess, bool]]:
        """Accesses, with `True` for writes."""
        yield from ((access, False) for access in self.reads)
        yield from ((access, True) for access in self.writes)


@dataclass(eq=False)
class Nest:
    """Counted loops of a schedule, outermost first, around one body of items."""

    counters: tuple[LoopCounter, ...]
    surrounding_nest: Nest | None
    stages: int = 1
    body: list[Item] = field(default_factory=list["Item"])
    slot_count: int = 1
    """Number of iterations that overlap."""
    is_normalized: bool = False
    """True if one loop of the compiled program replaces the counted loops."""
    program_position: int = 0
    """Position in the program."""
    prologue_nest: Nest | None = None
    """Nest whose early instructions are issued before this nest."""
    is_core_loop: bool = False
    """True if its iterations may be distributed over cores."""
    core_count: int = 1
    """Number of cores that the body or the iterations are distributed over."""
    is_core_region: bool = False
    """True if it is no loop, but is executed by every core."""

    @property
    def is_distributed(self) -> bool:
        """True if each core runs some of the iterations."""
        return self.core_count > 1 and not self.is_core_region

    @property
    def iteration_count(self) -> int:
        """Number of iterations, on all cores together if they are distributed."""
        return prod(each.trips for each in self.counters)

    @property
    def trip_count(self) -> int:
        """Trip count of the body, on the busiest core."""
        return -(-self.iteration_count // self.core_count)

    def is_within(self, other: Nest) -> bool:
        """Return `True` if this nest is `other`, or nested in it at any depth."""
        nest: Nest | None = self
        while nest is not None and nest is not other:
            nest = nest.surrounding_nest
        return nest is other

    def instructions(self) -> Iterator[Instruction]:
        """Return all instructions of the nest."""
        return instructions_in(self.body)


Item: TypeAlias = Instruction | Nest


def instructions_in(items: Sequence[Item]) -> Iterator[Instruction]:
    """Yield each instruction of `items` and of nests in them once, in program order."""
    for item in items:
        if isinstance(item, Nest):
            yield from item.instructions()
        else:
            yield item


def has_access_to_buffer(item: Item, buffer: Buffer) -> bool:
    """Return `True` if an instruction, or one inside a nest, accesses a buffer."""
    return any(
        access.buffer is buffer
        for step in instructions_in([item])
        for access in step.reads_and_writes
    )


def nests_in(items: Sequence[Item]) -> Iterator[Nest]:
    """Yield all nests in `items`, at any depth, each before those in its body."""
    for item in items:
        if isinstance(item, Nest):
            yield item
            yield from nests_in(item.body)
