"""What one instruction costs a machine: cycles, latency, and what it adds to totals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from tlf.machine.bursts import bus_bytes
from tlf.machine.cycles import matmul_cycles, transfer_cycles, vector_cycles
from tlf.machine.parts import DmaEngine, Level, Machine, MatrixEngine, VectorEngine

Key = tuple[str, str]
"""What is counted, and of what: such as `busy` of `matrix`."""

Sizes = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """
    The cost of one instruction on an engine; all times are cycles.
    """

    queue: int
    """Number of the engine, in the order of the machine; of the first core's."""
    cycles: int
    """How long it occupies the engine, if it need not wait for a shared channel."""
    latency: int
    """From its end until its results are there."""
    shared: tuple[tuple[int, int], ...]
    """The shared channels that it needs, by number, and for how long."""
    tally: tuple[tuple[Key, int], ...]
    """What it adds to the totals."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a move: a strided array in a level, in bytes."""

    base: int
    """The address, or the address modulo the burst."""
    shape: Sizes
    strides: Sizes


class Costs:
    """
    The costs of instructions on `machine`.

    Engines have numbers, in the order of the machine; those of several cores follow
    each other. So do its channels: the shared levels, and the ports at levels of the
    chip that the engines of several cores share.
    """

    machine: Machine
    queues: Mapping[str, int]
    """By engine, its number, or that of the first core's."""
    channels: Mapping[tuple[str, str], int]
    """By level and engine; all engines have the channel of a shared level."""
    channel_levels: Sequence[str]
    """By channel, its level."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.queues = {}
        for number, (name, _) in enumerate(machine.units):
            self.queues.setdefault(name, number)
        self.channels, self.channel_levels = _channels(machine)
        self._move = lru_cache(maxsize=1 << 16)(self._moved)
        self._on = lru_cache(maxsize=1 << 16)(_of_core)

    def units(self, engine: str) -> range:
        """The numbers of an engine, by core."""
        first = self.queues[engine]
        return range(first, first + self.machine.copies(engine))

    def on(self, cost: Cost, core: int) -> Cost:
        """The same cost on an engine of another core than the first."""
        return self._on(cost, core) if core else cost

    def move(self, engine: str, source: End, destination: End, itemsize: int) -> Cost:
        """
        A move by a DMA engine. The shape at the source is what is read, which may be
        nothing; that at the destination has elements.
        """
        queue = self.machine.engines[engine]
        assert isinstance(queue, DmaEngine)
        phases = [
            end.base % self.machine.levels[name].burst
            for name, end in ((queue.source, source), (queue.destination, destination))
        ]
        return self._move(
            queue,
            replace(source, base=phases[0]),
            replace(destination, base=phases[1]),
            itemsize,
        )

    def _moved(
        self, queue: DmaEngine, source: End, destination: End, itemsize: int
    ) -> Cost:
        levels = self.machine.levels
        above, below = levels[queue.source], levels[queue.destination]
        name, longest = queue.name, 0
        tally: list[tuple[Key, int]] = []
        shared: list[tuple[int, int]] = []
        for level, end, verb in (
            (above, source, "read"),
            (below, destination, "wrote"),
        ):
            payload, bus = _amount(level, end, itemsize)
            tally += [((verb, name), payload), ((f"bus {verb}", name), bus)]
            cycles = transfer_cycles(bus, level.bandwidth)
            if (
                cycles
                and (channel := self.channels.get((level.name, name))) is not None
            ):
                shared.append((channel, cycles))
            longest = max(longest, cycles)
        return Cost(
            self.queues[name],
            longest,
            max(above.latency, below.latency),
            tuple(shared),
            (*tally, (("busy", name), longest)),
        )

    def is_faster_exchanged(
        self, batch: int, m: int, n: int, k: int, kind: str
    ) -> bool:
        """
        Whether the array takes less for the transposed product, `n x k` by `k x m`.
        """
        exchanged = self.product(batch, n, m, k, kind)
        return exchanged.cycles < self.product(batch, m, n, k, kind).cycles

    def fastest_product(self, batch: int, m: int, n: int, k: int, kind: str) -> Cost:
        """The product as it is or transposed, whichever takes less."""
        ways = (self.product(batch, m, n, k, kind), self.product(batch, n, m, k, kind))
        return min(ways, key=lambda cost: cost.cycles)

    def product(self, batch: int, m: int, n: int, k: int, kind: str) -> Cost:
        """`batch` products of `m x k` by `k x n`, of inputs of element type `kind`."""
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
        return self._compute(unit, cycles, (("macs", kind), batch * m * n * k))

    def elementwise(self, elements: int, slow: bool = False) -> Cost:
        """An operation on so many elements; `slow` if it is transcendental."""
        unit = self.machine.engines["vector"]
        assert isinstance(unit, VectorEngine)
        factor = unit.transcendental if slow else 1
        cycles = vector_cycles(elements, lanes=unit.lanes, factor=factor)
        speed = "slow" if slow else "fast"
        return self._compute(unit, cycles, (("elements", speed), elements))

    def _compute(
        self, unit: MatrixEngine | VectorEngine, cycles: int, work: tuple[Key, int]
    ) -> Cost:
        tally = (work, (("busy", unit.name), cycles))
        return Cost(self.queues[unit.name], cycles, unit.startup, (), tally)


def _of_core(cost: Cost, core: int) -> Cost:
    return replace(cost, queue=cost.queue + core)


def _channels(machine: Machine) -> tuple[dict[tuple[str, str], int], list[str]]:
    """The channels by level and engine, and the level of each."""
    levels = [level.name for level in machine.levels.values() if level.shared]
    numbers = {name: number for number, name in enumerate(levels)}
    channels: dict[tuple[str, str], int] = {}
    for engine in machine.engines.values():
        if not isinstance(engine, DmaEngine):
            continue
        for name in (engine.source, engine.destination):
            level = machine.levels[name]
            if level.shared:
                channels[name, engine.name] = numbers[name]
            elif machine.copies(engine.name) > 1 and not level.of_core:
                channels[name, engine.name] = len(levels)
                levels.append(name)
    return channels, levels


def _amount(level: Level, end: End, itemsize: int) -> tuple[int, int]:
    """Return the bytes at one end of a move: payload, on the bus."""
    if 0 in end.shape:
        return 0, 0
    extents = [n for n, stride in zip(end.shape, end.strides, strict=True) if stride]
    bus = bus_bytes(end.base, end.shape, end.strides, itemsize, level.burst)
    return itemsize * prod(extents), bus
