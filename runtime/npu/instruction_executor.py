"""Simulator: execution of engine instructions, with effects on memory and time."""

from collections import Counter
from collections.abc import Sequence
from math import prod

from tlf.machine.engine_cycles import TRANSCENDENTAL
from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import Cost, InstructionCosts, Key, TransferEnd
from tlf.machine.machine_spec import MatrixEngine, VectorEngine
from tlf.runtime.npu import engine_arithmetic
from tlf.runtime.npu.access_checker import AccessChecker, Sizes, StridedArray
from tlf.runtime.npu.dtypes import BITS, Array
from tlf.runtime.npu.gather_scatter import IndexedMove, index_cost_parameters
from tlf.runtime.npu.live_bytes import LiveBytes
from tlf.runtime.npu.npu_errors import Fault
from tlf.runtime.npu.npu_program import (
    Address,
    Condition,
    Dma,
    Immediate,
    Instruction,
    Matmul,
    Program,
    Reduce,
    Signal,
    Value,
    Vector,
    Wait,
)
from tlf.runtime.npu.run_metrics import EngineEvent


class Executor:
    """
    Engines and memories of the machine, without the control processor.

    Values are computed in program order; `model` tracks the time.
    """

    registers: dict[str, int]
    """The scalar registers, written by the control processor."""
    core: int | None
    """Index of the current core; `None` outside of `cores`."""
    model: EventModel
    accesses: AccessChecker
    totals: Counter[Key]
    """Sums of the costs of the instructions executed so far."""
    events: list[EngineEvent]
    """Timeline so far, if requested."""
    live_bytes: LiveBytes | None
    """Live bytes of the memories over time, if a timeline is requested."""

    def __init__(self, program: Program, functional: bool, timeline: bool) -> None:
        self._machine = program.machine
        self._functional = functional
        self._timeline = timeline
        self._costs = InstructionCosts(program.machine)
        self.model = EventModel.of_idle_machine(self._costs, program.semaphores)
        self.accesses = AccessChecker(program)
        self.registers = {}
        self.core = None
        self.totals = Counter()
        self.events = []
        self.live_bytes = (
            LiveBytes(program, self.value_of_operand) if timeline else None
        )

    def switch_core(self, core: int | None, registers: dict[str, int]) -> None:
        """Switch to a core and its registers; `None` for code outside of `cores`."""
        self.core = self.accesses.core = core
        self.registers = registers

    def _queues_of_engine(self, engine: str) -> range:
        """Return the queue indices of the engines that a signal or a wait refers to."""
        units = self._costs.queues_of(engine)
        return units if self.core is None else units[self.core : self.core + 1]

    def execute_signal(self, op: Signal) -> None:
        """Increment a semaphore when the engine has completed all earlier work."""
        self.model.signal_semaphore(
            self._queues_of_engine(op.engine), op.semaphore, self.core
        )
        self.accesses.record_signal(op.engine, op.semaphore)

    def execute_wait(self, op: Wait) -> None:
        """Block an engine until a signal. Faults if no earlier signal is left."""
        if not self.model.wait_for_semaphore(
            self._queues_of_engine(op.engine), op.semaphore, self.core
        ):
            raise Fault(
                f"deadlock: no earlier instruction signals s{op.semaphore} for this"
            )
        self.accesses.order_after_signal(op.engine, op.semaphore)

    def execute_move(self, op: Dma) -> None:
        """
        Move the data of a DMA instruction in functional mode, and record its cost and
        time.
        """
        shape = self._resolve_sizes(op.shape)
        self.accesses.number_next_instruction(op.engine, op.line)
        if 0 in shape:
            return
        box = self._resolve_box_to_read(op, shape)
        read = tuple([upper - lower for lower, upper in box])
        source = self._address_of_first_read_element(op.source, box)
        destination = self.value_of_operand(op.destination.base)
        indices = None
        if op.indexed is not None:
            start = self._address_of_first_read_element(op.indexed.indices, box)
            indices = index_cost_parameters(op.indexed, start, read)
        if self._functional and op.indexed is not None and indices is not None:
            move = IndexedMove(op, op.indexed, shape, box, read)
            move.execute_move(
                self.accesses, source, destination, indices.index_array.base
            )
        elif self._functional:
            self._move_elements(op, shape, box, read, source, destination)
        cost = self._costs.cost_of_move(
            op.engine,
            TransferEnd(source, read, op.source.strides),
            TransferEnd(destination, shape, op.destination.strides),
            op.fill.itemsize,
            indices,
        )
        self._record_cost_and_time(op, cost)

    def _address_of_first_read_element(
        self, address: Address, box: Sequence[tuple[int, int]]
    ) -> int:
        """Return the address of the first element of a box that is read."""
        first = self.value_of_operand(address.base)
        for (lower, _), stride in zip(box, address.strides, strict=True):
            first += lower * stride
        return first

    def _resolve_box_to_read(self, op: Dma, shape: Sizes) -> list[tuple[int, int]]:
        """
        Return the range of indices to read, per dimension; all are empty if any is.
        """
        if op.inside is None:
            return [(0, extent) for extent in shape]
        box: list[tuple[int, int]] = []
        for (first, end), extent in zip(op.inside, shape, strict=True):
            lower, upper = (
                max(self.value_of_operand(first), 0),
                min(self.value_of_operand(end), extent),
            )
            if lower >= upper:
                return [(0, 0)] * len(shape)
            box.append((lower, upper))
        return box

    def _move_elements(
        self,
        op: Dma,
        shape: Sizes,
        box: list[tuple[int, int]],
        read_shape: Sizes,
        source: int,
        destination: int,
    ) -> None:
        """
        Check and perform a move: copy `box`, and fill the rest of the destination.
        """
        bits = BITS[op.fill.itemsize]
        values: Array = op.fill
        if 0 not in read_shape:
            array = self.accesses.locate_array(op.source, source, read_shape)
            self.accesses.check_and_record_read(array, op.engine)
            values = array.memory.view(source, read_shape, op.source.strides, bits)
        array = self.accesses.locate_array(
            op.destination, destination, shape, written=True
        )
        self.accesses.check_and_record_write(array, op.engine)
        target = array.memory.view(destination, shape, op.destination.strides, bits)
        if read_shape == shape:
            target[...] = values
            return
        target[...] = op.fill
        if 0 not in read_shape:
            target[tuple([slice(lower, upper) for lower, upper in box])] = values

    def execute_matmul(self, op: Matmul) -> None:
        """Compute a matrix product in functional mode, and record its cost and time."""
        groups = (op.batch, op.m, op.n, op.k)
        batch, m, n, k = (self._resolve_sizes(group) for group in groups)
        extents = (prod(batch), prod(m), prod(n), prod(k))
        unit = self._machine.engines["matrix"]
        assert isinstance(unit, MatrixEngine)
        self.accesses.number_next_instruction(unit.name, op.line)
        if 0 in extents[:3]:
            return
        if self._functional:
            self._compute_matrix_product(op, unit.level, (batch, m, n, k), extents)
        kind = op.a.dtype
        if op.precision == "tf32" and "tf32" in unit.cycles:
            kind = "tf32"
        self._record_cost_and_time(op, self._costs.cost_of_matmul(*extents, kind))

    def _compute_matrix_product(
        self,
        op: Matmul,
        level: str,
        groups: tuple[Sizes, Sizes, Sizes, Sizes],
        extents: tuple[int, int, int, int],
    ) -> None:
        """Check the accesses of a product, and write or accumulate it in `op.c`."""
        batch, m, n, k = groups
        target = self._locate_operand(op.c, batch + m + n, level, written=True)
        accumulate = self._is_condition_true(op.accumulate)
        shapes = batch + m + k, batch + k + n
        if extents[3] == 0:
            if not accumulate:
                self.accesses.check_and_record_write(target, "matrix")
                target.view()[...] = 0
            return
        sources = [
            self._locate_operand(address, shape, level)
            for address, shape in zip((op.a, op.b), shapes, strict=True)
        ]
        for source in sources:
            self.accesses.check_and_record_read(source, "matrix")
        if accumulate:
            self.accesses.check_and_record_read(target, "matrix", is_recorded=False)
        self.accesses.check_and_record_write(target, "matrix", sources)
        a, b = (source.view() for source in sources)
        engine_arithmetic.compute_matmul(
            a, b, target.view(), extents, accumulate, op.precision
        )

    def execute_elementwise(self, op: Vector) -> None:
        """
        Compute an elementwise operation in functional mode, and record its cost and
        time.
        """
        shape = self._resolve_sizes(op.shape)
        unit = self._machine.engines["vector"]
        assert isinstance(unit, VectorEngine)
        self.accesses.number_next_instruction(unit.name, op.line)
        if 0 in shape:
            return
        if self._functional:
            self._compute_elementwise_result(op, unit.level, shape)
        slow = op.operation in TRANSCENDENTAL
        self._record_cost_and_time(
            op, self._costs.cost_of_elementwise(prod(shape), slow)
        )

    def _compute_elementwise_result(self, op: Vector, level: str, shape: Sizes) -> None:
        """Check the accesses of `op`, and write its values to the destination."""
        target = self._locate_operand(op.destination, shape, level, written=True)
        arrays = [
            self._locate_operand(source, shape, level)
            for source in op.sources
            if isinstance(source, Address)
        ]
        for array in arrays:
            self.accesses.check_and_record_read(
                array, "vector", is_recorded=not array.is_same_array(target)
            )
        self.accesses.check_and_record_write(target, "vector", arrays)
        views = iter([array.view() for array in arrays])
        values = [
            source.value if isinstance(source, Immediate) else next(views)
            for source in op.sources
        ]
        out = target.view()
        engine_arithmetic.compute_elementwise(
            op.operation, values, op.dtype, out, op.destination.dtype
        )

    def execute_reduction(self, op: Reduce) -> None:
        """Compute a reduction in functional mode, and record its cost and time."""
        shape = self._resolve_sizes(op.shape)
        unit = self._machine.engines["vector"]
        assert isinstance(unit, VectorEngine)
        self.accesses.number_next_instruction(unit.name, op.line)
        result_shape = tuple(
            [1 if axis in op.axes else extent for axis, extent in enumerate(shape)]
        )
        if 0 in result_shape or (0 in shape and op.accumulate is True):
            return
        if self._functional:
            self._compute_reduction_result(op, unit.level, shape, result_shape)
        self._record_cost_and_time(op, self._costs.cost_of_elementwise(prod(shape)))

    def _compute_reduction_result(
        self, op: Reduce, level: str, shape: Sizes, result_shape: Sizes
    ) -> None:
        """
        Check the accesses of `op`, and write the result; the neutral one if empty.
        """
        target = self._locate_operand(op.destination, result_shape, level, written=True)
        accumulate = self._is_condition_true(op.accumulate)
        if 0 in shape:
            if accumulate:
                return
            self.accesses.check_and_record_write(target, "vector")
            target.view()[...] = engine_arithmetic.neutral_element_of_reduction(
                op.operation, op.destination.dtype
            )
            return
        array = self._locate_operand(op.source, shape, level)
        self.accesses.check_and_record_read(array, "vector")
        if accumulate:
            self.accesses.check_and_record_read(target, "vector", is_recorded=False)
        self.accesses.check_and_record_write(target, "vector", (array,))
        values = array.view()
        engine_arithmetic.compute_reduction(
            op.operation,
            values,
            op.axes,
            target.view(),
            op.destination.dtype,
            accumulate,
        )

    def _record_cost_and_time(self, op: Instruction, cost: Cost) -> None:
        """Schedule `op` in the event model, and add its cost to totals and timeline."""
        core = self.core or 0
        end = self.model.execute_instruction(self._costs.move_cost_to_core(cost, core))
        for key, amount in cost.counter_increments:
            self.totals[key] += amount
        if self._timeline:
            engine, start = self.model.names[cost.queue], end - cost.cycles
            engine = self._machine.engine_unit_name(engine, core)
            self.events.append(EngineEvent(engine, start, end, op.line, op.text))
        if self.live_bytes is not None:
            self.live_bytes.record_instruction_accesses(
                op, self.core, end - cost.cycles, end + cost.latency
            )

    def value_of_operand(self, value: Value) -> int:
        """
        Return an integer, or the current value of a register plus its offset; faults if
        the register is unset.
        """
        if isinstance(value, int):
            return value
        if value.name not in self.registers:
            raise Fault(f"{value.name} has no value yet")
        return self.registers[value.name] + value.offset

    def _is_condition_true(self, condition: Condition) -> bool:
        if isinstance(condition, bool):
            return condition
        return self.value_of_operand(condition) != 0

    def _resolve_sizes(self, sizes: tuple[Value, ...]) -> Sizes:
        """Return the current values of `sizes`. Faults if one is negative."""
        result = tuple([self.value_of_operand(size) for size in sizes])
        if result and min(result) < 0:
            raise Fault(f"expected a size of at least 0, got {min(result)}")
        return result

    def _locate_operand(
        self, address: Address, shape: Sizes, level: str, *, written: bool = False
    ) -> StridedArray:
        """Return the array at `address`. Faults if it is not in memory `level`."""
        base = self.value_of_operand(address.base)
        if address.level != level:
            raise Fault(f"expected an operand in {level}, got {address.level}", base)
        return self.accesses.locate_array(address, base, shape, written=written)
