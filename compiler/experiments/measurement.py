"""Experiment: compilation of programs, and their timing on the simulated NPU."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.compiler.backends.backends import CompilingBackend
from tlf.compiler.backends.executables import NotSimulatedError, SimulatedProgram
from tlf.compiler.backends.prepared_program import PreparedProgram
from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import PASSES, new_context
from tlf.compiler.driver.entry_function import entry_function_of, isolate_entry_function
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.experiments.experiment_program import Program
from tlf.dialects.target import TargetSpec
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.lowering.pipelines import pipelines_for
from tlf.runtime import npu
from tlf.runtime.npu.npu_errors import NPUError
from tlf.support.progress import report_step

INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True)
class MeasurementTask:
    """
    Program to compile for a target by a pass pipeline, and to time on the simulated
    NPU.
    """

    program: Program
    target: TargetSpec
    passes: str


@dataclass(frozen=True)
class Measurement:
    """Measured cost of a program; bytes are those of the outermost memory."""

    cycles: int
    bytes: int
    bus_bytes: int
    busy_cycles: dict[str, int]
    """Busy cycles of engines, averaged over cores, and of shared memories."""
    peak_rate_cycles: dict[str, int]
    """Cycles that each component needs for the work of the program at its peak rate."""
    stall_cycles: dict[str, dict[str, int]]
    """Stalled cycles of engines, averaged over cores, by cause."""
    seconds: float
    """Seconds for compilation and timing."""

    @property
    def busiest_component(self) -> str:
        """Name of the component that is busy for the longest time."""
        return max(self.busy_cycles, key=lambda part: self.busy_cycles[part])


@dataclass(frozen=True)
class Failure:
    """A program that does not compile, with the reason on one line."""

    reason: str


def run_passes_on_entry(module: ModuleOp, target: TargetSpec, passes: str) -> None:
    """
    Run the pipeline `passes` for `target` on `module` in place, after a reduction of
    the module to its entry function.
    """
    isolate_entry_function(module, entry_function_of(module, None))
    target.attach_to_module(module)
    pass_list = build_passes(passes, PASSES, pipelines_for(target))
    PassManager(pass_list, verify_each=VerifyEach.NOTHING).run(new_context(), module)


def program_bounds_of(program: Program, target: TargetSpec) -> LowerBounds:
    """
    Return the lower bounds over all schedules of a program, after whole-tensor
    rewrites.
    """
    module = program.read_module()
    run_passes_on_entry(module, target, "graph-pipeline")
    return lower_bounds_of(main_function_of(module), target)


def main_function_of(module: ModuleOp) -> func.FuncOp:
    """Return the only function of `module` that is no weight preparation."""
    (function,) = (
        op
        for op in module.ops
        if isinstance(op, func.FuncOp) and not is_preparation_function(op)
    )
    return function


def measure_task(task: MeasurementTask) -> Measurement | Failure:
    """Compile and time a program; return a `Failure` if it does not compile."""
    started = time.perf_counter()
    try:
        report = _simulate_task(task)
    except (CompileError, NPUError) as error:
        return Failure(str(error))
    home = task.target.outermost_level.name
    shared = {
        name: report.bounds[name]
        for name, level in task.target.levels.items()
        if level.shared and name in report.bounds
    }
    copies = report.copies
    busy = {name: each // copies[name] for name, each in report.busy.items()}
    stalls = {
        name: {cause: each // copies[name] for cause, each in causes.items()}
        for name, causes in report.stalls.items()
    }
    return Measurement(
        report.cycles,
        report.traffic[home].payload,
        report.traffic[home].bus,
        {**busy, **shared},
        report.bounds,
        stalls,
        time.perf_counter() - started,
    )


def measure_tasks(
    tasks: Sequence[MeasurementTask], process_count: int
) -> Iterator[Measurement | Failure]:
    """Measure tasks in `process_count` processes, and yield the results in order."""
    if process_count == 1:
        for number, task in enumerate(tasks, 1):
            with report_step(task.program.title, number, len(tasks)):
                measurement = measure_task(task)
            yield measurement
        return
    pool = ProcessPoolExecutor(process_count, initializer=_accept_termination_only)
    try:
        with _block_interruption():
            measurements = pool.map(measure_task, tasks)
        for number in range(1, len(tasks) + 1):
            with report_step("measure", number, len(tasks)):
                measurement = next(measurements)
            yield measurement
    except BaseException:
        for worker in multiprocessing.active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _block_interruption() -> Generator[None]:
    """Postpone signals, so that no worker that is being started is forgotten."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _accept_termination_only() -> None:
    """
    Ignore in a worker the interruption that a terminal sends to all processes; the
    parent terminates its workers.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)


def _simulate_task(task: MeasurementTask) -> npu.Report:
    """
    Compile the program, and simulate the timing of its main part, without the weight
    preparation.
    """
    context, module = new_context(), task.program.read_module()
    backend = CompilingBackend(task.target, None, task.program.folder, task.passes)
    executable = backend.build(context, module, backend.lower(context, module))
    if isinstance(executable, PreparedProgram):
        executable = executable.main
    if not isinstance(executable, SimulatedProgram):
        raise NotSimulatedError
    return npu.run(executable.program, {}, functional=False)
