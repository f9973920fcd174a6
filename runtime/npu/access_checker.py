"""
Simulator: checks of the order of memory accesses by engines, with vector clocks.

A vector clock has, per engine, the number of the last instruction of each engine that
is known to be complete. A signal carries the clock of its engine, and a wait joins that
into its own.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tlf.machine.machine_spec import Level
from tlf.runtime.npu.byte_footprint import (
    Footprint,
    compute_footprint,
    has_distinct_elements,
)
from tlf.runtime.npu.dtypes import DTYPES, ITEMSIZE, Array
from tlf.runtime.npu.npu_errors import Fault
from tlf.runtime.npu.npu_program import Address, Program
from tlf.runtime.npu.output_checker import OutputChecker
from tlf.runtime.npu.shadow_memory import Memory

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StridedArray:
    """A strided array in memory at a known address."""

    memory: Memory
    base: int
    shape: Sizes
    address: Address
    footprint: Footprint

    @property
    def first_address(self) -> int:
        """Lowest address covered."""
        return self.base + self.footprint.low

    @property
    def end_address(self) -> int:
        """End of the highest address covered."""
        return self.base + self.footprint.high

    def has_overlapping_addresses(self, other: "StridedArray") -> bool:
        """
        Return `True` if the covered address intervals, gaps included, of arrays of one
        memory overlap.
        """
        return (
            self.first_address < other.end_address
            and other.first_address < self.end_address
        )

    def is_same_array(self, other: "StridedArray") -> bool:
        """
        Return `True` if each element occupies the same bytes as in `other`, for arrays
        of the same shape.
        """
        own, theirs = self.address, other.address
        return (
            self.base == other.base
            and own.strides == theirs.strides
            and ITEMSIZE[own.dtype] == ITEMSIZE[theirs.dtype]
        )

    def view(self) -> Array:
        """Return the array as a numpy view."""
        dtype = DTYPES[self.address.dtype]
        return self.memory.view(self.base, self.shape, self.address.strides, dtype)


class AccessChecker:
    """All memories, with every access checked against earlier accesses."""

    memories: dict[str, list[Memory]]
    """Memories by level; one per core for levels that every core has."""
    core: int | None
    """Index of the current core; `None` outside of `cores`, where core 0 is used."""
    outputs: OutputChecker | None
    """Writers of the outputs, if each byte may be written only once."""
    lines: list[int]
    """
    Line of each engine instruction by its number; 0 is the state before the program.
    """

    def __init__(self, program: Program) -> None:
        machine = program.machine
        self._granule = program.granule
        self._cores = machine.cores
        self.core = None
        self._ids: dict[str, range] = {}
        names: list[str] = []
        for name in machine.engines:
            copies = machine.engine_copies(name)
            self._ids[name] = range(len(names), len(names) + copies)
            names += [machine.engine_unit_name(name, core) for core in range(copies)]
        self._clocks = [[0] * len(names) for _ in names]
        self.lines = [0]
        self.outputs = None
        self._signals: list[deque[list[int]]] = [
            deque() for _ in range(program.semaphores * machine.cores)
        ]
        self.memories = {
            name: _create_memories(level, machine.cores, program.granule, names)
            for name, level in machine.levels.items()
        }

    def _engine_index_on_core(self, engine: str) -> int:
        """Return the index of an engine of the current core."""
        ids = self._ids[engine]
        return ids[self.core] if self.core and len(ids) > 1 else ids[0]

    def _engines_and_semaphore_counters(
        self, engine: str, semaphore: int
    ) -> tuple[Sequence[int], range]:
        """
        Return the engines and the semaphore counters that a signal or a wait refers to.
        """
        first = semaphore * self._cores
        if self.core is None:
            return self._ids[engine], range(first, first + self._cores)
        own = first + self.core
        return (self._engine_index_on_core(engine),), range(own, own + 1)

    def number_next_instruction(self, engine: str, line: int) -> None:
        """
        Start the next instruction of `engine`, to which the following accesses belong.
        """
        own = self._engine_index_on_core(engine)
        self._clocks[own][own] = len(self.lines)
        self.lines.append(line)

    def record_signal(self, engine: str, semaphore: int) -> None:
        """Record a signal that `engine` sends when all its work so far is complete."""
        engines, counters = self._engines_and_semaphore_counters(engine, semaphore)
        clock = _join_vector_clocks([self._clocks[each] for each in engines])
        for counter in counters:
            self._signals[counter].append(clock)

    def order_after_signal(self, engine: str, semaphore: int) -> None:
        """Order later work of `engine` after the first signal not waited for."""
        engines, counters = self._engines_and_semaphore_counters(engine, semaphore)
        clock = _join_vector_clocks(
            [self._signals[counter].popleft() for counter in counters]
        )
        for each in engines:
            self._clocks[each] = list(map(max, self._clocks[each], clock))

    def locate_array(
        self, address: Address, base: int, shape: Sizes, *, written: bool = False
    ) -> StridedArray:
        """
        Return the non-empty array of `shape` at `base`. Faults if it is out of capacity
        or misaligned, or if it is `written` and its elements overlap.
        """
        size = ITEMSIZE[address.dtype]
        covered = compute_footprint(shape, address.strides, size, self._granule)
        memories = self.memories[address.level]
        memory = memories[self.core] if self.core and len(memories) > 1 else memories[0]
        memory.check_bounds_and_alignment(base, covered, size)
        if written and not has_distinct_elements(shape, address.strides, size):
            raise Fault("elements of the destination overlap", base)
        return StridedArray(memory, base, shape, address, covered)

    def check_and_record_read(
        self, array: StridedArray, engine: str, *, is_recorded: bool = True
    ) -> None:
        """
        Check that the instruction may read. Without `is_recorded`, the read is not
        recorded, because the same instruction writes the array.
        """
        own = self._engine_index_on_core(engine)
        clock = self._clocks[own]
        covered, number = array.footprint, clock[own]
        if self.outputs is not None:
            self.outputs.check_output_is_unread(
                array.memory.level.name, array.base, covered
            )
        array.memory.record_read(
            array.base, covered, own, number, clock, is_recorded=is_recorded
        )

    def check_and_record_write(
        self, array: StridedArray, engine: str, sources: Sequence[StridedArray] = ()
    ) -> None:
        """
        Record a write by the current instruction of `engine`, which reads `sources`;
        faults if it may not write.
        """
        own = self._engine_index_on_core(engine)
        clock = self._clocks[own]
        covered, number = array.footprint, clock[own]
        if self.outputs is not None:
            self.outputs.record_output_write(
                array.memory.level.name, array.base, covered, number
            )
        is_disjoint = not any(
            array.has_overlapping_addresses(source) for source in sources
        )
        array.memory.record_write(
            array.base, covered, own, number, clock, is_disjoint=is_disjoint
        )


def _create_memories(
    level: Level, cores: int, granule: int, engines: Sequence[str]
) -> list[Memory]:
    """Return one memory of `level`, or one for each core if the level is per core."""
    if not level.of_core or cores == 1:
        return [Memory(level, granule, engines)]
    levels = [replace(level, name=f"{level.name}.{core}") for core in range(cores)]
    return [Memory(each, granule, engines) for each in levels]


def _join_vector_clocks(clocks: Sequence[list[int]]) -> list[int]:
    """Return the elementwise maximum of several vector clocks."""
    if len(clocks) == 1:
        return list(clocks[0])
    return list(map(max, *clocks))
