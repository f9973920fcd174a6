"""
Simulator: one memory level with shadow state to detect races and uninitialized reads.

Engines run concurrently, so an access is sound only if semaphores order it after every
earlier conflicting access of another engine. The order is checked with vector clocks:
per granule and engine, the number of the last instruction that read it and of the last
that wrote it; per instruction, the last instruction of each engine that is ordered
before it. So a missing wait traps even if the timing would hide it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tlf.machine.machine_spec import Level
from tlf.runtime.npu.byte_footprint import Footprint
from tlf.runtime.npu.dtypes import Array
from tlf.runtime.npu.npu_errors import Fault

_LEAST = 1 << 12


class Memory:
    """One memory level. Bytes are allocated up to the highest address in use."""

    level: Level
    peak: int
    """End of the highest byte written so far."""

    def __init__(self, level: Level, granule: int, engines: Sequence[str]) -> None:
        self.level = level
        self.peak = 0
        self._granule = granule
        self._engines = engines
        self._size = 0
        self._data = np.zeros(0, np.uint8)
        self._written = np.zeros(0, np.bool_)
        self._reads: dict[int, npt.NDArray[np.int32]] = {}
        self._writes: dict[int, npt.NDArray[np.int32]] = {}
        self._last_read: dict[int, int] = {}
        self._last_write: dict[int, int] = {}

    def view(
        self,
        base: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
    ) -> Array:
        """Return the strided array at `base`, which must have been accessed before."""
        return np.ndarray(shape, dtype, self._data, base, strides)

    def store_array(self, base: int, array: Array) -> None:
        """Write a contiguous array from the host, before the program starts."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        end = base + data.size
        self._grow_to_extent(end)
        self._data[base:end] = data
        self._written[base // self._granule : end // self._granule] = True
        self.peak = max(self.peak, end)

    def load_array(
        self, base: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> Array:
        """Return a copy of a contiguous array. Faults on uninitialized bytes."""
        end = base + dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        self._grow_to_extent(end)
        written = self._written[base // self._granule : end // self._granule]
        if not written.all():
            address = base + int(written.argmin()) * self._granule
            raise Fault(f"{self.level.name}[{address}] was never written", address)
        return self._data[base:end].view(dtype).reshape(shape).copy()

    def check_bounds_and_alignment(
        self, base: int, footprint: Footprint, itemsize: int
    ) -> None:
        """
        Raise `Fault` on addresses out of capacity or misaligned, else grow the memory
        to them.
        """
        name = self.level.name
        if not footprint.is_aligned or base % itemsize:
            raise Fault(
                f"{name}[{base}] and its strides are not multiples of the element "
                f"size {itemsize}",
                base,
            )
        low, high = base + footprint.low, base + footprint.high
        if low < 0 or high > self.level.capacity:
            raise Fault(
                f"{name}[{low}] to {name}[{high}] is out of the capacity of "
                f"{self.level.capacity} bytes",
                low if low < 0 else max(low, self.level.capacity),
            )
        if high > self._size:
            self._grow_to_extent(high)

    def record_read(
        self,
        base: int,
        footprint: Footprint,
        engine: int,
        instruction: int,
        clock: Sequence[int],
        *,
        is_recorded: bool = True,
    ) -> None:
        """
        Record a read by instruction `instruction` of `engine`. Faults on bytes that
        were never written, and on writes that `clock` does not order before it.
        """
        start = (base + footprint.low) // self._granule
        if not (
            written := self._shadow_of_footprint(self._written, start, footprint)
        ).all():
            raise self._make_fault_at_unsound_element(
                written, footprint, start, "was never written"
            )
        for other, last in self._last_write.items():
            if other == engine or last <= clock[other]:
                continue
            latest = self._shadow_of_footprint(self._writes[other], start, footprint)
            if latest.max() > clock[other]:
                raise self._make_race_fault(
                    latest, clock[other], footprint, start, other, "RAW"
                )
        if is_recorded:
            self._record_access_in_shadow(
                self._reads, self._last_read, start, footprint, engine, instruction
            )

    def record_write(
        self,
        base: int,
        footprint: Footprint,
        engine: int,
        instruction: int,
        clock: Sequence[int],
        *,
        is_disjoint: bool = True,
    ) -> None:
        """
        Record a write by an instruction of `engine`. Faults on reads and writes that
        `clock` does not order before it and, unless `is_disjoint` (sources and
        destination), on bytes that the same instruction reads.
        """
        start = (base + footprint.low) // self._granule
        if not is_disjoint and self._last_read.get(engine) == instruction:
            latest = self._shadow_of_footprint(self._reads[engine], start, footprint)
            if latest.max() == instruction:
                reason = "is read and written in one instruction"
                raise self._make_fault_at_unsound_element(
                    latest < instruction, footprint, start, reason
                )
        for shadows, lasts, kind in (
            (self._writes, self._last_write, "WAW"),
            (self._reads, self._last_read, "WAR"),
        ):
            for other, last in lasts.items():
                if other == engine or last <= clock[other]:
                    continue
                latest = self._shadow_of_footprint(shadows[other], start, footprint)
                if latest.max() > clock[other]:
                    raise self._make_race_fault(
                        latest, clock[other], footprint, start, other, kind
                    )
        self._shadow_of_footprint(self._written, start, footprint).fill(True)
        self._record_access_in_shadow(
            self._writes, self._last_write, start, footprint, engine, instruction
        )
        self.peak = max(self.peak, base + footprint.high)

    def _grow_to_extent(self, extent: int) -> None:
        """Extend data and shadows to `extent` bytes, at least doubling the size."""
        if extent <= self._size:
            return
        size = min(max(extent, 2 * self._size, _LEAST), self.level.capacity)
        size = -(-size // 8) * 8
        self._size = size
        count = size // self._granule
        self._data = _grow_array(self._data, size)
        self._written = _grow_array(self._written, count)
        for shadows in (self._reads, self._writes):
            for engine, shadow in shadows.items():
                shadows[engine] = _grow_array(shadow, count)

    def _shadow_of_footprint(
        self, shadow: Array, start: int, footprint: Footprint
    ) -> Array:
        """Return a writable view of the granules of `shadow` in a footprint."""
        shape = footprint.shape
        if len(shape) == 1:
            return shadow[start : start + shape[0]]
        size = shadow.itemsize
        strides = tuple([stride * size for stride in footprint.strides])
        return np.ndarray(shape, shadow.dtype, shadow, start * size, strides)

    def _record_access_in_shadow(
        self,
        shadows: dict[int, npt.NDArray[np.int32]],
        last_accesses: dict[int, int],
        start: int,
        footprint: Footprint,
        engine: int,
        instruction: int,
    ) -> None:
        """
        Store `instruction` as last access of `engine` in all granules of a footprint.
        """
        if engine not in shadows:
            shadows[engine] = np.zeros(self._size // self._granule, np.int32)
        last_accesses[engine] = instruction
        self._shadow_of_footprint(shadows[engine], start, footprint).fill(instruction)

    def _make_race_fault(
        self,
        latest_accesses: Array,
        clock: int,
        footprint: Footprint,
        start: int,
        other_engine: int,
        race_kind: str,
    ) -> Fault:
        """
        Return the fault at the first unordered access, with its culprit instruction.
        """
        verb = "reads" if race_kind == "WAR" else "writes"
        reason = (
            f"is still in use: `{self._engines[other_engine]}` {verb} it, and no wait "
        )
        reason += f"orders that before ({race_kind})"
        sound = latest_accesses <= clock
        fault = self._make_fault_at_unsound_element(sound, footprint, start, reason)
        fault.culprit = int(latest_accesses.reshape(-1)[int(sound.argmin())])
        return fault

    def _make_fault_at_unsound_element(
        self, sound: Array, footprint: Footprint, start: int, reason: str
    ) -> Fault:
        """
        Return (not raise) a `Fault` at the address of the first false element of
        `sound`.
        """
        position = np.unravel_index(int(sound.argmin()), sound.shape)
        for index, stride in zip(position, footprint.strides, strict=True):
            start += int(index) * stride
        address = start * self._granule
        return Fault(f"{self.level.name}[{address}] {reason}", address)


def _grow_array(array: Array, size: int) -> Array:
    grown = np.zeros(size, array.dtype)
    grown[: array.size] = array
    return grown
