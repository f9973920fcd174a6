"""Simulator: live bytes of each memory over the time of a run."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tlf.runtime.npu.byte_footprint import Footprint, compute_footprint
from tlf.runtime.npu.dtypes import ITEMSIZE
from tlf.runtime.npu.gather_scatter import table_address_of
from tlf.runtime.npu.npu_program import (
    Address,
    Dma,
    Immediate,
    Instruction,
    Matmul,
    Program,
    Reduce,
    Value,
    Vector,
)

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MemoryAccess:
    """Read or write of a strided array by one instruction."""

    address: Address
    shape: tuple[int, ...]
    is_written: bool = False
    is_accumulating: bool = False
    """True if the access accumulates on the old value."""
    first_element_offset: int = 0
    """Bytes from the base of the array to its first element."""


class LiveBytes:
    """
    Tracker of live bytes in every memory without inputs or outputs. A byte is live from
    the start of the instruction that writes it to the end of the last instruction that
    reads it before it is overwritten.
    """

    def __init__(
        self, program: Program, value_of_operand: Callable[[Value], int]
    ) -> None:
        buffers = (program.inputs, program.constants, program.outputs)
        homes = {each.level for table in buffers for each in table.values()}
        self._granule = program.granule
        self._value = value_of_operand
        self._levels = [name for name in program.machine.levels if name not in homes]
        self._memories: dict[tuple[str, int], _LiveRanges] = {}

    def record_instruction_accesses(
        self, op: Instruction, core: int | None, start: int, end: int
    ) -> None:
        """
        Record the reads and writes of an instruction that runs from cycle `start` to
        `end`.
        """
        for each in self._accesses_of_instruction(op):
            level = each.address.level
            if level not in self._levels or 0 in each.shape:
                continue
            size = ITEMSIZE[each.address.dtype]
            footprint = compute_footprint(
                each.shape, each.address.strides, size, self._granule
            )
            if not footprint.is_aligned:
                continue
            base = self._value(each.address.base) + each.first_element_offset
            key = level, core or 0
            memory = self._memories.setdefault(key, _LiveRanges(self._granule))
            if each.is_written and not each.is_accumulating:
                memory.record_write(base, footprint, start, end)
            else:
                memory.record_read(base, footprint, start, end)

    def live_byte_counts_by_level(self) -> dict[str, list[tuple[int, int]]]:
        """
        Return, for each level, the cycles at which the number of live bytes changes,
        with the new number.
        """
        by_level: dict[str, list[tuple[int, int]]] = {}
        for level in self._levels:
            changes = Counter[int]()
            for (name, _), memory in self._memories.items():
                if name == level:
                    changes.update(memory.collect_live_byte_changes())
            live, counts = 0, list[tuple[int, int]]()
            for cycle in sorted(changes):
                if changes[cycle]:
                    live += changes[cycle]
                    counts.append((cycle, live))
            by_level[level] = counts
        return by_level

    def _accesses_of_instruction(self, op: Instruction) -> Iterator[MemoryAccess]:
        """Yield the arrays that `op` reads, then the one that it writes."""
        match op:
            case Dma():
                yield from self._accesses_of_move(op)
            case Matmul():
                batch, m, n, k = map(self._resolve_sizes, (op.batch, op.m, op.n, op.k))
                yield MemoryAccess(op.a, batch + m + k)
                yield MemoryAccess(op.b, batch + k + n)
                yield MemoryAccess(
                    op.c, batch + m + n, True, self._is_condition_true(op.accumulate)
                )
            case Vector():
                shape = self._resolve_sizes(op.shape)
                for source in op.sources:
                    if not isinstance(source, Immediate):
                        yield MemoryAccess(source, shape)
                yield MemoryAccess(op.destination, shape, True)
            case Reduce():
                shape = self._resolve_sizes(op.shape)
                result_shape = [
                    1 if n in op.axes else size for n, size in enumerate(shape)
                ]
                yield MemoryAccess(op.source, shape)
                accumulates = self._is_condition_true(op.accumulate)
                yield MemoryAccess(
                    op.destination, tuple(result_shape), True, accumulates
                )
            case _:
                pass

    def _accesses_of_move(self, op: Dma) -> Iterator[MemoryAccess]:
        """Yield the accesses of a move; an indexed table counts as a whole."""
        shape = self._resolve_sizes(op.shape)
        box = [(0, extent) for extent in shape]
        if op.inside is not None:
            pairs = zip(op.inside, shape, strict=True)
            box = [
                (max(self._value(first), 0), min(self._value(end), extent))
                for (first, end), extent in pairs
            ]
        read = tuple(max(0, upper - lower) for lower, upper in box)
        strides = op.source.strides
        pairs = zip(box, strides, strict=True)
        first = sum(lower * stride for (lower, _), stride in pairs)
        if op.indexed is None:
            yield MemoryAccess(op.source, read, first_element_offset=first)
            yield MemoryAccess(op.destination, shape, True)
            return
        indices, bound = op.indexed.indices, op.indexed.bound
        pairs = zip(box, indices.strides, strict=True)
        yield MemoryAccess(
            indices,
            read,
            first_element_offset=sum(lower * stride for (lower, _), stride in pairs),
        )
        if op.indexed.scatter:
            yield MemoryAccess(op.source, read)
            table = table_address_of(op.destination, op.indexed)
            yield MemoryAccess(table, (bound, *read), True, True)
        else:
            table = table_address_of(op.source, op.indexed)
            yield MemoryAccess(table, (bound, *read), first_element_offset=first)
            yield MemoryAccess(op.destination, shape, True)

    def _resolve_sizes(self, sizes: tuple[Value, ...]) -> tuple[int, ...]:
        return tuple(map(self._value, sizes))

    def _is_condition_true(self, condition: Any) -> bool:
        return condition if isinstance(condition, bool) else self._value(condition) != 0


class _LiveRanges:
    """
    Current live ranges in cycles of the granules of one memory, with past changes.
    """

    def __init__(self, granule: int) -> None:
        self._granule = granule
        self._born: Times = np.zeros(0, np.int64)
        """Cycle at which each granule was written, plus one; 0 if never."""
        self._last: Times = np.zeros(0, np.int64)
        self._changes = Counter[int]()

    def record_write(
        self, base: int, footprint: Footprint, start: int, end: int
    ) -> None:
        """
        End the live ranges of overwritten values at their last use, at most `start`,
        and start new ones at `start`.
        """
        born, last = self._times_of_granules(base, footprint)
        self._end_live_ranges(born, np.minimum(last, start))
        born[...] = start + 1
        last[...] = end

    def record_read(
        self, base: int, footprint: Footprint, start: int, end: int
    ) -> None:
        """
        Extend the live ranges of the values, and start those that were never written.
        """
        born, last = self._times_of_granules(base, footprint)
        born[born == 0] = start + 1
        np.maximum(last, end, out=last)

    def collect_live_byte_changes(self) -> Counter[int]:
        """Return the changes of the number of live bytes, by cycle."""
        self._end_live_ranges(self._born, self._last)
        self._born = np.zeros_like(self._born)
        return self._changes

    def _end_live_ranges(self, start_times: Times, last_use_times: Times) -> None:
        """
        Add the start and end of live ranges, if ever started, to the changes of live
        bytes.
        """
        is_live = start_times > 0
        for times, sign in (
            (start_times[is_live] - 1, 1),
            (last_use_times[is_live], -1),
        ):
            for cycle, count in zip(*np.unique(times, return_counts=True), strict=True):
                self._changes[int(cycle)] += sign * int(count) * self._granule

    def _times_of_granules(
        self, base: int, footprint: Footprint
    ) -> tuple[Times, Times]:
        """Return writable views of the times of the granules of an array."""
        end = -(-(base + footprint.high) // self._granule)
        if end > self._born.size:
            size = max(end, 2 * self._born.size)
            self._born = np.concatenate(
                [self._born, np.zeros(size - self._born.size, np.int64)]
            )
            self._last = np.concatenate(
                [self._last, np.zeros(size - self._last.size, np.int64)]
            )
        start = (base + footprint.low) // self._granule
        strides = tuple([stride * 8 for stride in footprint.strides])
        born, last = (
            np.ndarray(footprint.shape, np.int64, times, start * 8, strides)
            for times in (self._born, self._last)
        )
        return born, last
