"""
Timing model: engine cycles, latency, channel time and counters of one NPU instruction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, prod

from tlf.machine.bursts import bus_bytes_of_array
from tlf.machine.engine_cycles import matmul_cycles, transfer_cycles, vector_cycles
from tlf.machine.machine_spec import (
    DmaEngine,
    Level,
    Machine,
    MatrixEngine,
    VectorEngine,
)

Key = tuple[str, str]
"""Counted quantity and its subject, such as `busy` of `matrix`."""

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of one instruction on an engine; all times are in cycles."""

    queue: int
    """Index of the engine in the order of the machine; of the first core's engine."""
    cycles: int
    """Cycles that the engine is occupied if it does not wait for a shared channel."""
    latency: int
    """Cycles from the end of the instruction until its results are available."""
    channel_occupancy: tuple[tuple[int, int], ...]
    """Shared channels that are occupied: index of the channel, cycles."""
    counter_increments: tuple[tuple[Key, int], ...]
    """Increments of the counters."""


@dataclass(frozen=True, slots=True)
class TransferEnd:
    """Source or destination of a transfer: a strided array in a level, in bytes."""

    base: int
    """Address, or address modulo the burst."""
    shape: Sizes
    strides: Sizes


@dataclass(frozen=True, slots=True)
class RowIndices:
    """
    Row indices of an indexed transfer: a strided array of indices, in bytes. The
    elements behind the last dimension along which indices change form a row. The
    positions of the rows in the table are unknown, except that they are multiples of
    `row_distance` from its start.
    """

    index_array: TransferEnd
    """The array of indices, in `level`; its strides are 0 along rows."""
    itemsize: int
    level: str
    row_distance: int
    """Distance of neighbouring rows in the table, in bytes."""
    is_scatter: bool
    """True if the table is the destination, else it is the source."""
    is_accumulating: bool = False
    """True if rows of the table are read before they are written."""


class InstructionCosts:
    """
    Memoized costs of single instructions on `machine`.

    Engines are numbered in the order of the machine, with the copies of the cores next
    to each other. Channels are numbered likewise: first the shared levels, then the
    ports of on-chip levels that engines of several cores share.
    """

    machine: Machine
    queues: Mapping[str, int]
    """Index of each engine, or of its first core's copy."""
    channels: Mapping[tuple[str, str], int]
    """
    Index of the channel by level and engine; all engines use the channel of a shared
    level.
    """
    channel_levels: Sequence[str]
    """Level of each channel."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.queues = {}
        for index, (name, _) in enumerate(machine.engine_units):
            self.queues.setdefault(name, index)
        self.channels, self.channel_levels = _assign_channels(machine)
        self._move = lru_cache(maxsize=1 << 16)(self._compute_move_cost)
        self._on = lru_cache(maxsize=1 << 16)(_cost_on_engine_of_core)

    def queues_of(self, engine: str) -> range:
        """Return the indices of an engine, by core."""
        first = self.queues[engine]
        return range(first, first + self.machine.engine_copies(engine))

    def move_cost_to_core(self, cost: Cost, core: int) -> Cost:
        """Return the cost on the engine of another core than the first."""
        return self._on(cost, core) if core else cost

    def cost_of_move(
        self,
        engine: str,
        source: TransferEnd,
        destination: TransferEnd,
        itemsize: int,
        indices: RowIndices | None = None,
    ) -> Cost:
        """
        Return the cost of a transfer by a DMA engine. The shape at the source is the
        part that is read, which may be empty; the shape at the destination is not
        empty. With `indices`, the rows at one end are addressed indirectly.
        """
        queue = self.machine.engines[engine]
        assert isinstance(queue, DmaEngine)
        if indices is not None:
            start = self._reduce_base_to_burst(indices.level, indices.index_array)
            indices = replace(indices, index_array=start)
        return self._move(
            queue,
            self._reduce_base_to_burst(queue.source, source),
            self._reduce_base_to_burst(queue.destination, destination),
            itemsize,
            indices,
        )

    def _reduce_base_to_burst(self, level: str, end: TransferEnd) -> TransferEnd:
        burst = self.machine.levels[level].burst
        return replace(end, base=end.base % burst) if end.base else end

    def _compute_move_cost(
        self,
        queue: DmaEngine,
        source: TransferEnd,
        destination: TransferEnd,
        itemsize: int,
        indices: RowIndices | None,
    ) -> Cost:
        """Return the cost of a DMA transfer, paced by its slower end or its indices."""
        levels = self.machine.levels
        above, below = levels[queue.source], levels[queue.destination]
        name, longest = queue.name, _cycles_to_process_indices(queue, indices)
        tally: list[tuple[Key, int]] = []
        shared: list[tuple[int, int]] = []
        ends = ((above, source, "read"), (below, destination, "wrote"))
        for level, end, verb in ends:
            payload, bus = _bytes_of_transfer_end(level, end, itemsize)
            if indices is not None and indices.is_scatter is (verb == "wrote"):
                payload, bus = _bytes_of_rows(level, end, itemsize, indices)
            tally += [((verb, name), payload), ((f"bus {verb}", name), bus)]
            if indices is not None and indices.level == level.name:
                index_bytes = _bytes_of_transfer_end(
                    level, indices.index_array, indices.itemsize
                )
                if verb == "read":
                    keys = (verb, name), (f"bus {verb}", name)
                    tally += zip(keys, index_bytes, strict=True)
                bus += index_bytes[1]
            cycles = transfer_cycles(bus, level.bandwidth)
            channel = self.channels.get((level.name, name))
            if cycles and channel is not None:
                shared.append((channel, cycles))
            longest = max(longest, cycles)
        return Cost(
            self.queues[name],
            longest,
            self._find_move_latency(queue, indices),
            tuple(shared),
            (*tally, (("busy", name), longest)),
        )

    def _find_move_latency(self, queue: DmaEngine, indices: RowIndices | None) -> int:
        """Return the latency of the slower level, and of the level of the indices."""
        levels = self.machine.levels
        latency = max(levels[queue.source].latency, levels[queue.destination].latency)
        if indices is not None:
            latency += levels[indices.level].latency
        return latency

    def is_faster_transposed(
        self, batch: int, m: int, n: int, k: int, kind: str
    ) -> bool:
        """
        Return `True` if the array takes fewer cycles for the transposed product,
        `n x k` by `k x m`.
        """
        transposed = self.cost_of_matmul(batch, n, m, k, kind)
        return transposed.cycles < self.cost_of_matmul(batch, m, n, k, kind).cycles

    def cost_of_fastest_matmul(
        self, batch: int, m: int, n: int, k: int, kind: str
    ) -> Cost:
        """
        Return the cost of a matmul, or of its transpose if that takes fewer cycles.
        """
        candidates = (
            self.cost_of_matmul(batch, m, n, k, kind),
            self.cost_of_matmul(batch, n, m, k, kind),
        )
        return min(candidates, key=lambda cost: cost.cycles)

    def cost_of_matmul(self, batch: int, m: int, n: int, k: int, kind: str) -> Cost:
        """
        Return the cost of `batch` matmuls of `m x k` by `k x n` on elements of type
        `kind`.
        """
        unit = self.machine.engines["matrix"]
        assert isinstance(unit, MatrixEngine)
        cycles = matmul_cycles(
            batch,
            m,
            n,
            k,
            rows=unit.rows,
            cols=unit.cols,
            cycles=unit.cycles[kind],
            dataflow=unit.dataflow,
            pipelined=unit.pipelined,
        )
        return self._cost_of_compute_instruction(
            unit, cycles, (("macs", kind), batch * m * n * k)
        )

    def cost_of_elementwise(
        self, elements: int, is_transcendental: bool = False
    ) -> Cost:
        """
        Return the cost of an operation on `elements` elements; `is_transcendental` if
        it is transcendental.
        """
        unit = self.machine.engines["vector"]
        assert isinstance(unit, VectorEngine)
        factor = unit.transcendental if is_transcendental else 1
        cycles = vector_cycles(elements, lanes=unit.lanes, factor=factor)
        speed = "slow" if is_transcendental else "fast"
        return self._cost_of_compute_instruction(
            unit, cycles, (("elements", speed), elements)
        )

    def _cost_of_compute_instruction(
        self, unit: MatrixEngine | VectorEngine, cycles: int, work: tuple[Key, int]
    ) -> Cost:
        tally = (work, (("busy", unit.name), cycles))
        return Cost(self.queues[unit.name], cycles, unit.startup, (), tally)


def _cost_on_engine_of_core(cost: Cost, core: int) -> Cost:
    return replace(cost, queue=cost.queue + core)


def _assign_channels(machine: Machine) -> tuple[dict[tuple[str, str], int], list[str]]:
    """
    Return the index of the channel by level and engine, and the level of each channel.
    """
    levels = [level.name for level in machine.levels.values() if level.shared]
    indices = {name: index for index, name in enumerate(levels)}
    channels: dict[tuple[str, str], int] = {}
    for engine in machine.engines.values():
        if not isinstance(engine, DmaEngine):
            continue
        for name in (engine.source, engine.destination):
            level = machine.levels[name]
            if level.shared:
                channels[name, engine.name] = indices[name]
            elif machine.engine_copies(engine.name) > 1 and not level.of_core:
                channels[name, engine.name] = len(levels)
                levels.append(name)
    return channels, levels


def _cycles_to_process_indices(queue: DmaEngine, indices: RowIndices | None) -> int:
    """Return the cycles that a DMA engine takes to process the indices of all rows."""
    if indices is None or queue.indexed is None:
        return 0
    return queue.indexed * _count_moved_rows(indices)


def _count_row_dimensions(indices: RowIndices) -> int:
    """
    Return the number of dimensions along which rows are counted: up to the last
    dimension along which the indices change.
    """
    axes = zip(indices.index_array.shape, indices.index_array.strides, strict=True)
    indexed_dims = [
        n for n, (extent, stride) in enumerate(axes, 1) if stride and extent > 1
    ]
    return max(indexed_dims, default=0)


def _count_moved_rows(indices: RowIndices) -> int:
    """Return the number of rows that are moved."""
    if 0 in indices.index_array.shape:
        return 0
    return prod(indices.index_array.shape[: _count_row_dimensions(indices)])


def _bytes_of_rows(
    level: Level, table: TransferEnd, itemsize: int, indices: RowIndices
) -> tuple[int, int]:
    """
    Return the bytes of the rows of a table: payload, and bytes on the bus for the row
    alignment that takes the most bursts.
    """
    if 0 in table.shape:
        return 0, 0
    rank = _count_row_dimensions(indices)
    shape, strides = table.shape[rank:], table.strides[rank:]
    steps = indices.row_distance, *table.strides[:rank]
    grain = gcd(level.burst, *steps)
    starts = range(table.base % grain, level.burst, grain)
    rows = [
        _bytes_of_transfer_end(level, TransferEnd(at, shape, strides), itemsize)
        for at in starts
    ]
    payload, bus = max(rows)
    count = _count_moved_rows(indices)
    return payload * count, bus * count * (2 if indices.is_accumulating else 1)


def _bytes_of_transfer_end(
    level: Level, end: TransferEnd, itemsize: int
) -> tuple[int, int]:
    """Return the bytes at one end of a transfer: payload, bytes on the bus."""
    if 0 in end.shape:
        return 0, 0
    extents = [n for n, stride in zip(end.shape, end.strides, strict=True) if stride]
    bus = bus_bytes_of_array(end.base, end.shape, end.strides, itemsize, level.burst)
    return itemsize * prod(extents), bus
