"""
The engines at work: each instruction's effect on memory, its checks and its time.
"""

from fractions import Fraction
from math import ceil, prod

from tlf.machine.bursts import bus_bytes
from tlf.machine.cycles import (
    TRANSCENDENTAL,
    matmul_cycles,
    transfer_cycles,
    vector_cycles,
)
from tlf.machine.port import Port
from tlf.machine.queue import Queue
from tlf.runtime.npu import engines
from tlf.runtime.npu.access import Accesses, Place, Sizes
from tlf.runtime.npu.dtypes import BITS, Array
from tlf.runtime.npu.errors import Fault
from tlf.runtime.npu.program import (
    Address,
    Dma,
    DmaEngine,
    Immediate,
    Instruction,
    Matmul,
    MatrixEngine,
    Program,
    Reduce,
    Value,
    Vector,
    VectorEngine,
)
from tlf.runtime.npu.report import Event, Traffic


class Executor:
    """
    The machine without its control processor.

    Times are cycles; `issue` is when the control processor hands an instruction over.
    """

    registers: dict[str, int]
    """The scalar registers, written by the control processor."""
    queues: dict[str, Queue]
    """The time of each engine."""
    accesses: Accesses
    traffic: dict[str, Traffic]
    """Bytes moved, by level."""
    events: list[Event]
    """The timeline so far, if asked for."""

    def __init__(self, program: Program, functional: bool, timeline: bool) -> None:
        machine = program.machine
        self._machine = machine
        self._functional = functional
        self._timeline = timeline
        self.accesses = Accesses(program)
        self._ports = {name: Port() for name in machine.levels}
        self._macs: dict[str, int] = {}
        self._elements = {False: 0, True: 0}
        self.registers = {}
        self.queues = {name: Queue() for name in machine.engines}
        self.traffic = {name: Traffic() for name in machine.levels}
        self.events = []

    @property
    def macs(self) -> int:
        """Multiply-accumulates so far."""
        return sum(self._macs.values())

    def signal(self, engine: str, issue: int) -> tuple[int, list[int]]:
        """Return when a signal goes out, and what is ordered before it."""
        return self.queues[engine].signal(issue), self.accesses.clock(engine)

    def wait(self, engine: str, issue: int, token: tuple[int, list[int]]) -> None:
        """Hold an engine until a signal, which `signal` returned."""
        time, clock = token
        self.queues[engine].wait(issue, time)
        self.accesses.join(engine, clock)

    def dma(self, op: Dma, issue: int) -> None:
        """Move."""
        shape = self._sizes(op.shape)
        self.accesses.begin(op.engine, op.line)
        if 0 in shape:
            return
        box = self._inside(op, shape)
        read = tuple([upper - lower for lower, upper in box])
        source = self.value(op.source.base)
        for (lower, _), stride in zip(box, op.source.strides, strict=True):
            source += lower * stride
        destination = self.value(op.destination.base)
        if self._functional:
            self._move(op, shape, box, read, source, destination)
        self._transfer(op, issue, shape, read, source, destination)

    def _inside(self, op: Dma, shape: Sizes) -> list[tuple[int, int]]:
        """Return the range of indices to read, per dimension; all empty if any is."""
        if op.inside is None:
            return [(0, extent) for extent in shape]
        box: list[tuple[int, int]] = []
        for (first, end), extent in zip(op.inside, shape, strict=True):
            lower, upper = max(self.value(first), 0), min(self.value(end), extent)
            if lower >= upper:
                return [(0, 0)] * len(shape)
            box.append((lower, upper))
        return box

    def _move(
        self,
        op: Dma,
        shape: Sizes,
        box: list[tuple[int, int]],
        read: Sizes,
        source: int,
        destination: int,
    ) -> None:
        bits = BITS[op.fill.itemsize]
        values: Array = op.fill
        if 0 not in read:
            place = self.accesses.locate(op.source, source, read)
            self.accesses.read(place, op.engine)
            values = place.memory.view(source, read, op.source.strides, bits)
        place = self.accesses.locate(op.destination, destination, shape, written=True)
        self.accesses.write(place, op.engine)
        target = place.memory.view(destination, shape, op.destination.strides, bits)
        if read == shape:
            target[...] = values
            return
        target[...] = op.fill
        if 0 not in read:
            target[tuple([slice(lower, upper) for lower, upper in box])] = values

    def _transfer(
        self,
        op: Dma,
        issue: int,
        shape: Sizes,
        read: Sizes,
        source: int,
        destination: int,
    ) -> None:
        engine = self._machine.engines[op.engine]
        assert isinstance(engine, DmaEngine)
        levels = self._machine.levels
        above, below = levels[engine.source], levels[engine.destination]
        size = op.fill.itemsize
        payload, bus_in = _amount(source, read, op.source.strides, size, above.burst)
        counts = self.traffic[above.name]
        counts.read += payload
        counts.bus_read += bus_in
        payload, bus_out = _amount(
            destination, shape, op.destination.strides, size, below.burst
        )
        counts = self.traffic[below.name]
        counts.written += payload
        counts.bus_written += bus_out
        queue = self.queues[op.engine]
        start = max(issue, queue.free)
        end = max(
            self._ports[above.name].reserve(
                start, transfer_cycles(bus_in, above.bandwidth)
            ),
            self._ports[below.name].reserve(
                start, transfer_cycles(bus_out, below.bandwidth)
            ),
        )
        queue.finish(start, end, max(above.latency, below.latency))
        self._record(op.engine, op, start)

    def matmul(self, op: Matmul, issue: int) -> None:
        """Multiply and accumulate."""
        groups = (op.batch, op.m, op.n, op.k)
        batch, m, n, k = (self._sizes(group) for group in groups)
        extents = (prod(batch), prod(m), prod(n), prod(k))
        unit = self._machine.engines["matrix"]
        assert isinstance(unit, MatrixEngine)
        self.accesses.begin(unit.name, op.line)
        if 0 in extents[:3]:
            return
        if self._functional:
            self._multiply(op, unit.level, (batch, m, n, k), extents)
        kind = op.a.dtype
        if op.precision == "tf32" and "tf32" in unit.cycles:
            kind = "tf32"
        self._macs[kind] = self._macs.get(kind, 0) + prod(extents)
        cycles = matmul_cycles(
            *extents,
            rows=unit.rows,
            cols=unit.cols,
            cycles=unit.cycles[kind],
            startup=unit.startup,
        )
        self._record(unit.name, op, self.queues[unit.name].work(issue, cycles))

    def _multiply(
        self,
        op: Matmul,
        level: str,
        groups: tuple[Sizes, Sizes, Sizes, Sizes],
        extents: tuple[int, int, int, int],
    ) -> None:
        batch, m, n, k = groups
        target = self._compute(op.c, batch + m + n, level, written=True)
        shapes = batch + m + k, batch + k + n
        if extents[3] == 0:
            if not op.accumulate:
                self.accesses.write(target, "matrix")
                target.view()[...] = 0
            return
        sources = [
            self._compute(address, shape, level)
            for address, shape in zip((op.a, op.b), shapes, strict=True)
        ]
        for source in sources:
            self.accesses.read(source, "matrix")
        if op.accumulate:
            self.accesses.read(target, "matrix", mark=False)
        self.accesses.write(target, "matrix", sources)
        a, b = (source.view() for source in sources)
        engines.matmul(a, b, target.view(), extents, op.accumulate, op.precision)

    def vector(self, op: Vector, issue: int) -> None:
        """Compute element by element."""
        shape = self._sizes(op.shape)
        unit = self._machine.engines["vector"]
        assert isinstance(unit, VectorEngine)
        self.accesses.begin(unit.name, op.line)
        if 0 in shape:
            return
        if self._functional:
            self._map(op, unit.level, shape)
        slow = op.operation in TRANSCENDENTAL
        self._spend(unit, op, issue, prod(shape), slow=slow)

    def _map(self, op: Vector, level: str, shape: Sizes) -> None:
        target = self._compute(op.destination, shape, level, written=True)
        places = [
            self._compute(source, shape, level)
            for source in op.sources
            if isinstance(source, Address)
        ]
        for place in places:
            self.accesses.read(place, "vector", mark=not place.equals(target))
        self.accesses.write(target, "vector", places)
        views = iter([place.view() for place in places])
        values = [
            source.value if isinstance(source, Immediate) else next(views)
            for source in op.sources
        ]
        out = target.view()
        engines.elementwise(op.operation, values, op.dtype, out, op.destination.dtype)

    def reduce(self, op: Reduce, issue: int) -> None:
        """Reduce some dimensions."""
        shape = self._sizes(op.shape)
        unit = self._machine.engines["vector"]
        assert isinstance(unit, VectorEngine)
        self.accesses.begin(unit.name, op.line)
        kept = tuple(
            [1 if axis in op.axes else extent for axis, extent in enumerate(shape)]
        )
        if 0 in kept or (0 in shape and op.accumulate):
            return
        if self._functional:
            self._fold(op, unit.level, shape, kept)
        self._spend(unit, op, issue, prod(shape), slow=False)

    def _fold(self, op: Reduce, level: str, shape: Sizes, kept: Sizes) -> None:
        target = self._compute(op.destination, kept, level, written=True)
        if 0 in shape:
            self.accesses.write(target, "vector")
            target.view()[...] = engines.neutral(op.operation, op.destination.dtype)
            return
        place = self._compute(op.source, shape, level)
        self.accesses.read(place, "vector")
        if op.accumulate:
            self.accesses.read(target, "vector", mark=False)
        self.accesses.write(target, "vector", (place,))
        values = place.view()
        engines.reduce(
            op.operation,
            values,
            op.axes,
            target.view(),
            op.destination.dtype,
            op.accumulate,
        )

    def _spend(
        self, unit: VectorEngine, op: Instruction, issue: int, elements: int, slow: bool
    ) -> None:
        self._elements[slow] += elements
        cycles = vector_cycles(
            elements,
            lanes=unit.lanes,
            factor=unit.transcendental if slow else 1,
            startup=unit.startup,
        )
        self._record(unit.name, op, self.queues[unit.name].work(issue, cycles))

    def bounds(self) -> dict[str, int]:
        """Return the cycles that the work so far takes at least, by resource."""
        result = {
            name: ceil(self.traffic[name].bus / Fraction(level.bandwidth))
            for name, level in self._machine.levels.items()
        }
        for name, engine in self._machine.engines.items():
            if isinstance(engine, MatrixEngine):
                work = sum(
                    macs * Fraction(engine.cycles[kind])
                    for kind, macs in self._macs.items()
                )
                result[name] = ceil(Fraction(work) / (engine.rows * engine.cols))
            elif isinstance(engine, VectorEngine):
                slow = self._elements[True] * Fraction(engine.transcendental)
                result[name] = ceil((self._elements[False] + slow) / engine.lanes)
        return result

    def value(self, value: Value) -> int:
        """Return what a scalar operand is now."""
        if isinstance(value, int):
            return value
        if value.name not in self.registers:
            raise Fault(f"{value.name} has no value yet")
        return self.registers[value.name] + value.offset

    def _sizes(self, sizes: tuple[Value, ...]) -> Sizes:
        result = tuple([self.value(size) for size in sizes])
        if result and min(result) < 0:
            raise Fault(f"expected a size of at least 0, got {min(result)}")
        return result

    def _record(self, engine: str, op: Instruction, start: int) -> None:
        if self._timeline:
            end = self.queues[engine].free
            self.events.append(Event(engine, start, end, op.line, op.text))

    def _compute(
        self, address: Address, shape: Sizes, level: str, *, written: bool = False
    ) -> Place:
        base = self.value(address.base)
        if address.level != level:
            raise Fault(f"expected an operand in {level}, got {address.level}", base)
        return self.accesses.locate(address, base, shape, written=written)


def _amount(
    base: int, shape: Sizes, strides: Sizes, size: int, burst: int
) -> tuple[int, int]:
    """Return the bytes at one end of a move: payload, on the bus."""
    if 0 in shape:
        return 0, 0
    extents = [n for n, stride in zip(shape, strides, strict=True) if stride]
    return size * prod(extents), bus_bytes(base % burst, shape, strides, size, burst)
