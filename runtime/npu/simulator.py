"""
Simulator: run of an NPU program, with values in program order and time by the event
model.

The control processor executes the program and issues instructions to the in-order
queues of the engines. Values are computed immediately, in program order; each access is
checked to ensure that concurrent engines compute the same (see `shadow_memory`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tlf.machine.event_model import EventModel
from tlf.machine.instruction_costs import InstructionCosts
from tlf.runtime.npu.dtypes import DTYPES, Array
from tlf.runtime.npu.instruction_executor import Executor
from tlf.runtime.npu.npu_errors import Fault, NPUInputError, NPUTrap
from tlf.runtime.npu.npu_program import (
    Cores,
    Dma,
    Halt,
    Instruction,
    Loop,
    Matmul,
    Program,
    Reduce,
    ScalarInstruction,
    Signal,
    Vector,
    Wait,
    instruction_kind_of,
)
from tlf.runtime.npu.output_checker import OutputChecker
from tlf.runtime.npu.register_intervals import IrregularError
from tlf.runtime.npu.run_metrics import ProgramSegment
from tlf.runtime.npu.run_progress import FractionObserver, RunProgress
from tlf.runtime.npu.run_report import Report
from tlf.runtime.npu.scalar_arithmetic import evaluate_scalar_operation
from tlf.runtime.npu.timing_planner import TimingPlanner
from tlf.support.call_stack import reserve_stack


@reserve_stack
def run(
    program: Program,
    inputs: Mapping[str, Array],
    *,
    functional: bool = True,
    timeline: bool = False,
    step_by_step: bool = False,
    exactly_once: bool = False,
    observe_fraction: FractionObserver | None = None,
) -> Report:
    """
    Run `program` on `inputs`, arrays by name in the declared shapes and element types.

    With `functional` off, only time and traffic are computed: `inputs` and constants
    are ignored, no memory is allocated and no access is checked. Loops in a steady
    state are then skipped over, unless `step_by_step` is set; the figures are the same.
    With `timeline` on, the report has an event for every instruction on an engine.

    With `exactly_once`, a second write of a byte of an output, or a read of an output
    byte that is not an input, is a trap as well: a program without a trap then stores
    every result once. `observe_fraction` is called in long runs with the fraction that
    is done.

    Raises `NPUInputError` for arrays that do not fit, `NPUTrap` for errors that
    hardware would not detect.
    """
    arrays = _check_input_arrays(program, inputs) if functional else None
    if not (functional or timeline or step_by_step):
        try:
            return _simulate_timing_without_steps(program)
        except IrregularError:
            pass
    progress = RunProgress(program.body, observe_fraction)
    control = _ControlProcessor(program, functional, timeline, exactly_once, progress)
    with np.errstate(all="ignore"):
        return control.run_program(arrays)


def _simulate_timing_without_steps(program: Program) -> Report:
    """
    Compute the time without a step for every instruction. Raises `IrregularError` if
    that is not possible, or if the program would trap.
    """
    costs = InstructionCosts(program.machine)
    model = EventModel.of_idle_machine(costs, program.semaphores)
    plan = TimingPlanner(program, costs).plan_program()
    ends = plan.simulate_recording_completion_times(model)
    report = Report.from_finished_run(program, model, plan.totals, {})
    report.segments = _segments_with_engine_work(program, ends)
    return report


def _check_input_arrays(
    program: Program, inputs: Mapping[str, Array]
) -> dict[str, Array]:
    """Return the inputs as arrays. Raises `NPUInputError` if one does not fit."""
    if unknown := sorted(set(inputs) - set(program.inputs)):
        expected = ", ".join(program.inputs) or "none"
        raise NPUInputError(f"expected inputs {expected}, got `{unknown[0]}`")
    arrays: dict[str, Array] = {}
    for name, buffer in program.inputs.items():
        if name not in inputs:
            raise NPUInputError(f"expected an array for input `{name}`, got none")
        array = np.asarray(inputs[name])
        if not buffer.is_array_of_declared_type(array):
            shape = "x".join(map(str, array.shape)) or "scalar"
            raise NPUInputError(
                f"expected {buffer.format_type()} for input `{name}`, "
                f"got {array.dtype} {shape}"
            )
        arrays[name] = array
    return arrays


class _ExecutionLane(NamedTuple):
    """Registers of one core, or of the code outside of `cores`, by name."""

    core: int | None
    """Index of the core; `None` outside of `cores`."""
    registers: dict[str, int]


class _ControlProcessor:
    """The control processor, and the semaphores between the engines."""

    def __init__(
        self,
        program: Program,
        functional: bool,
        timeline: bool,
        exactly_once: bool,
        progress: RunProgress,
    ) -> None:
        self._progress = progress
        self._program = program
        self._executor = Executor(program, functional, timeline)
        if exactly_once:
            self._executor.accesses.outputs = OutputChecker(program)
        self._model = self._executor.model
        self._issue = program.machine.issue_cycles
        self._current: Instruction | None = None

    def run_program(self, arrays: Mapping[str, Array] | None) -> Report:
        """Run the program; if `arrays` is `None`, compute the time only."""
        if arrays is not None:
            self._store_inputs_in_memory(arrays)
        try:
            ends = self._run_recording_completion_times(
                [_ExecutionLane(None, self._executor.registers)]
            )
            outputs = self._load_outputs_from_memory() if arrays is not None else {}
        except Fault as fault:
            raise self._make_trap_from_fault(fault) from None
        executor = self._executor
        memories = executor.accesses.memories
        peak = {
            name: max(memory.peak for memory in copies)
            for name, copies in memories.items()
        }
        if arrays is None:
            peak = {}
        report = Report.from_finished_run(
            self._program, self._model, executor.totals, peak
        )
        report.outputs, report.timeline = outputs, executor.events
        report.segments = _segments_with_engine_work(self._program, ends)
        if executor.live_bytes is not None:
            report.live = executor.live_bytes.live_byte_counts_by_level()
        return report

    def _run_recording_completion_times(
        self, lanes: Sequence[_ExecutionLane]
    ) -> dict[int, int]:
        """
        Run the program; return the completion times of its top-level instructions, by
        index.
        """
        ends: dict[int, int] = {}
        for index, instruction in enumerate(self._program.body):
            self._run_instructions((instruction,), lanes)
            ends[index] = self._model.completion_time
        return ends

    def _store_inputs_in_memory(self, arrays: Mapping[str, Array]) -> None:
        """Write inputs, in their axis order, and constants to memory before the run."""
        memories = self._executor.accesses.memories
        for name, buffer in self._program.inputs.items():
            array = buffer.to_memory_order(arrays[name])
            memories[buffer.level][0].store_array(buffer.address, array)
        for buffer in self._program.constants.values():
            if buffer.data is not None:
                memories[buffer.level][0].store_array(buffer.address, buffer.data)

    def _load_outputs_from_memory(self) -> dict[str, Array]:
        """Return copies of the outputs. Faults if a byte was never written."""
        outputs: dict[str, Array] = {}
        for name, buffer in self._program.outputs.items():
            memory = self._executor.accesses.memories[buffer.level][0]
            try:
                array = memory.load_array(
                    buffer.address, buffer.shape_in_memory, DTYPES[buffer.dtype]
                )
            except Fault as fault:
                reason = f"output `{name}`: {fault.reason}"
                raise Fault(reason, fault.address) from None
            outputs[name] = buffer.from_memory_order(array)
        return outputs

    def _make_trap_from_fault(self, fault: Fault) -> NPUTrap:
        """
        Return the trap at the current instruction, with a reference to the culprit.
        """
        assert self._current is not None
        reason, origins = fault.reason, self._program.origins
        if fault.culprit is not None:
            line = self._executor.accesses.lines[fault.culprit]
            location = f" of {origins[line]}" if line in origins else ""
            reason += f"; see line {line}{location}"
        op = self._current
        origin = origins.get(op.line)
        return NPUTrap(op.line, op.text, reason, fault.address, origin)

    def _run_instructions(
        self, body: tuple[Instruction, ...], lanes: Sequence[_ExecutionLane]
    ) -> None:
        """Issue and count each instruction of `body`, and run it on every lane."""
        for instruction in body:
            self._current = instruction
            self._model.time += self._issue
            match instruction:
                case Loop():
                    self._run_loop(instruction, lanes)
                case Cores():
                    self._run_cores(instruction, lanes[0])
                case _:
                    for lane in lanes:
                        self._executor.switch_core(*lane)
                        self._run_instruction(instruction)
            self._executor.totals["count", instruction_kind_of(instruction)] += 1

    def _run_instruction(self, op: Instruction) -> None:
        """
        Execute a scalar operation, or pass `op` to the executor, on the current core.
        """
        match op:
            case ScalarInstruction():
                self._run_scalar_instruction(op)
            case Vector():
                self._executor.execute_elementwise(op)
            case Dma():
                self._executor.execute_move(op)
            case Matmul():
                self._executor.execute_matmul(op)
            case Reduce():
                self._executor.execute_reduction(op)
            case Signal():
                self._executor.execute_signal(op)
            case Wait():
                self._executor.execute_wait(op)
            case Halt():
                pass
            case _:
                raise Fault("not an instruction")

    def _run_loop(self, op: Loop, lanes: Sequence[_ExecutionLane]) -> None:
        """
        Run iterations in lockstep, each on the lanes whose range is not exhausted.
        """
        value, ranges = self._executor.value_of_operand, list[range]()
        for lane in lanes:
            self._executor.switch_core(*lane)
            lower, upper, step = value(op.lower), value(op.upper), value(op.step)
            if step <= 0:
                raise Fault(f"expected a step of at least 1, got {step}")
            ranges.append(range(lower, upper, step))
        for iteration in self._progress.count_iterations(max(map(len, ranges))):
            active: list[_ExecutionLane] = []
            for lane, indices in zip(lanes, ranges, strict=True):
                if iteration < len(indices):
                    lane.registers[op.register] = indices[iteration]
                    active.append(lane)
            self._run_instructions(op.body, active)

    def _run_cores(self, op: Cores, outer_lane: _ExecutionLane) -> None:
        """Run the body on a lane for each core, with a copy of the outer registers."""
        lanes = [
            _ExecutionLane(core, {**outer_lane.registers, op.register: core})
            for core in range(op.count)
        ]
        self._run_instructions(op.body, lanes)
        self._executor.switch_core(*outer_lane)

    def _run_scalar_instruction(self, op: ScalarInstruction) -> None:
        """Evaluate `op`, and write its target register of the current lane."""
        values = [self._executor.value_of_operand(operand) for operand in op.operands]
        self._executor.registers[op.target] = evaluate_scalar_operation(
            op.operation, values
        )


def _segments_with_engine_work(
    program: Program, end_times: Mapping[int, int]
) -> list[ProgramSegment]:
    """
    Return the parts of a program with work on engines, given the end time of each
    instruction by its index; instructions without an end time had no work.
    """
    segments: list[ProgramSegment] = []
    end = 0
    for index, op in enumerate(program.body):
        end = end_times.get(index, end)
        if lines := list(_lines_of_engine_instructions([op])):
            origins = {
                program.origins[line] for line in lines if line in program.origins
            }
            segments.append(ProgramSegment(op.line, end, frozenset(origins)))
    return segments


def _lines_of_engine_instructions(body: Sequence[Instruction]) -> Iterator[int]:
    """
    Yield the line numbers of engine instructions in `body` and nested blocks, in order.
    """
    for op in body:
        match op:
            case Loop() | Cores():
                yield from _lines_of_engine_instructions(op.body)
            case Dma() | Matmul() | Vector() | Reduce():
                yield op.line
            case _:
                pass
