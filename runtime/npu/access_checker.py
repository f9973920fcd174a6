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
    def low(self) -> int:
        """Lowest address covered."""
        return self.base + self.footprint.low

    @property
    def high(self) -> int:
        """End of the highest address covered."""
        return self.base + self.footprint.high

    def has_overlap(self, other: "StridedArray") -> bool:
        """Return `True` if the address ranges intersect."""
        return self.low < other.high and other.low < self.high

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
            copies = machine.copies(name)
            self._ids[name] = range(len(names), len(names) + copies)
            names += [machine.unit_name(name, core) for core in range(copies)]
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

    def _engine_id(self, engine: str) -> int:
        """Return the index of an engine of the current core."""
        ids = self._ids[engine]
        return ids[self.core] if self.core and len(ids) > 1 else ids[0]

    def _engines_and_counters(
        self, engine: str, semaphore: int
    ) -> tuple[Sequence[int], range]:
        """
        Return the engines and the semaphore counters that a signal or a wait refers to.
        """
        first = semaphore * self._cores
        if self.core is None:
            return self._ids[engine], range(first, first + self._cores)
        own = first + self.core
        return (self._engine_id(engine),), range(own, own + 1)

    def begin_instruction(self, engine: str, line: int) -> None:
        """
        Start the next instruction of `engine`, to which the following accesses belong.
        """
        own = self._engine_id(engine)
        self._clocks[own][own] = len(self.lines)
        self.lines.append(line)

    def signal(self, engine: str, semaphore: int) -> None:
        """Record a signal that `engine` sends when all its work so far is complete."""
        engines, counters = self._engines_and_counters(engine, semaphore)
        clock = _join_clocks([self._clocks[each] for each in engines])
        for counter in counters:
            self._signals[counter].append(clock)

    def wait(self, engine: str, semaphore: int) -> None:
        """Order later work of `engine` after the first signal not waited for."""
        engines, counters = self._engines_and_counters(engine, semaphore)
        clock = _join_clocks([self._signals[counter].popleft() for counter in counters])
        for each in engines:
            self._clocks[each] = list(map(max, self._clocks[each], clock))

    def locate(
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
        memory.check_bounds(base, covered, size)
        if written and not has_distinct_elements(shape, address.strides, size):
            raise Fault("elements of the destination overlap", base)
        return StridedArray(memory, base, shape, address, covered)

    def check_read(
        self, place: StridedArray, engine: str, *, mark: bool = True
    ) -> None:
        """
        Check that the instruction may read. Without `mark`, the read is not recorded,
        because the same instruction writes the array.
        """
        own = self._engine_id(engine)
        clock = self._clocks[own]
        covered, number = place.footprint, clock[own]
        if self.outputs is not None:
            self.outputs.check_read(place.memory.level.name, place.base, covered)
        place.memory.record_read(place.base, covered, own, number, clock, mark=mark)

    def check_write(
        self, place: StridedArray, engine: str, sources: Sequence[StridedArray] = ()
    ) -> None:
        """Check that the instruction, which reads `sources`, may write."""
        own = self._engine_id(engine)
        clock = self._clocks[own]
        covered, number = place.footprint, clock[own]
        if self.outputs is not None:
            self.outputs.check_write(
                place.memory.level.name, place.base, covered, number
            )
        is_disjoint = not any(place.has_overlap(source) for source in sources)
        place.memory.record_write(
            place.base, covered, own, number, clock, apart=is_disjoint
        )


def _create_memories(
    level: Level, cores: int, granule: int, engines: Sequence[str]
) -> list[Memory]:
    if not level.of_core or cores == 1:
        return [Memory(level, granule, engines)]
    levels = [replace(level, name=f"{level.name}.{core}") for core in range(cores)]
    return [Memory(each, granule, engines) for each in levels]


def _join_clocks(clocks: Sequence[list[int]]) -> list[int]:
    """Return the elementwise maximum of several vector clocks."""
    if len(clocks) == 1:
        return list(clocks[0])
    return list(map(max, *clocks))
