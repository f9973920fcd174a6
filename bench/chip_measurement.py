"""Estimates, lower bound and simulated time of a program on a chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.analysis.bounds.lower_bounds import LowerBounds, lower_bounds_of
from tlf.compiler.driver.driver import (
    PASSES,
    TARGETS,
    emit_text,
    new_context,
)
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes, build_target
from tlf.compiler.experiments.measurement import main_function_of
from tlf.dialects.target import Level, TargetSpec
from tlf.lowering.pipelines import pipelines_for
from tlf.passes.plan.graph_partition import GraphPartitionPass, PartitionResult
from tlf.planner.cost.program.affine_indices import UnpredictableTimeError
from tlf.planner.cost.program.cycle_estimate import estimate_function_cycles
from tlf.runtime import npu

BUFFERS = "convert-tile-to-mem"
"""First pass after the estimate."""


@dataclass(frozen=True)
class ChipMeasurement:
    """Estimated, least possible and simulated cycles of a program on a chip."""

    formula: int
    """Cycles by the formula that groups and outer tiles are searched with."""
    predicted: int | None
    """Cycles by the event model, or `None` for loops on several cores."""
    simulated: int
    bound: int
    bound_by: str
    limits: str
    """Longest stall of the busiest engine, with its share of the time."""

    @property
    def gap(self) -> float:
        """Ratio of the simulated cycles to the lower bound."""
        return self.simulated / self.bound

    @property
    def error(self) -> float | None:
        """Relative error of the predicted cycles, in percent."""
        if self.predicted is None:
            return None
        return 100 * (self.predicted - self.simulated) / self.simulated

    @property
    def formula_error(self) -> float:
        """Relative error of the formula, in percent."""
        return 100 * (self.formula - self.simulated) / self.simulated


@dataclass(frozen=True)
class TimedPartitionPass(GraphPartitionPass):
    """`graph-partition` that records the times of the selected schedules."""

    times: list[int] = field(default_factory=list[int])

    def search_partitions(
        self,
        context: Context,
        op: ModuleOp,
        target: TargetSpec,
        level: Level,
        alternatives: int = 0,
    ) -> Iterator[PartitionResult]:
        """Yield the partitions of the search, and record their times."""
        for each in super().search_partitions(context, op, target, level, alternatives):
            yield each
            self.times.append(each.schedule.time)


def measure_on_chip(module: ModuleOp, target: TargetSpec) -> ChipMeasurement:
    """Compile a program for a chip, estimate its time, and simulate it."""
    bounds = _bounds_of_program(module.clone(), target)
    target.attach_to_module(module)
    context = new_context()
    first, rest = pipelines_for(target)["npu-pipeline"].split(f",{BUFFERS},")
    formula = _plan_program(context, module, target, first)
    predicted = _predict_cycles(module, target)
    _run_pipeline(context, module, target, f"{BUFFERS},{rest}")
    report = simulate_module(context, module)
    return ChipMeasurement(
        formula,
        predicted,
        report.cycles,
        bounds.cycles_quantised,
        bounds.binding,
        describe_longest_stall(report),
    )


def simulate_on_chip(module: ModuleOp, target: TargetSpec) -> int:
    """Compile a program for a chip, and return its simulated cycles."""
    target.attach_to_module(module)
    context = new_context()
    _run_pipeline(context, module, target, "npu-pipeline")
    return simulate_module(context, module).cycles


def simulate_module(context: Context, module: ModuleOp) -> npu.Report:
    """Simulate the time of a lowered program."""
    text = emit_text(context, module, build_target("npu", TARGETS))
    return npu.run(npu.parse(text, Path()), {}, functional=False)


def describe_longest_stall(report: npu.Report) -> str:
    """
    Return the busiest engine with its share of the time, and the longest of its stalls.
    """
    engine = max(report.busy, key=lambda name: report.busy[name] / report.copies[name])
    time = max(1, report.cycles * report.copies[engine])
    busy = f"{engine} busy {report.busy[engine] / time:.0%}"
    stalls = report.stalls.get(engine, {})
    if not stalls:
        return busy
    cause = max(stalls, key=lambda name: stalls[name])
    return f"{busy}, waits for {cause} {stalls[cause] / time:.0%}"


def _bounds_of_program(module: ModuleOp, target: TargetSpec) -> LowerBounds:
    """Return the bounds after the passes on whole tensors."""
    target.attach_to_module(module)
    _run_pipeline(new_context(), module, target, "graph-pipeline")
    return lower_bounds_of(main_function_of(module), target)


def _plan_program(
    context: Context, module: ModuleOp, target: TargetSpec, pipeline: str
) -> int:
    """Lower a program to loops over tiles; return its cycles by the formula."""
    times: list[int] = []
    passes = [
        TimedPartitionPass(
            **{e.name: getattr(step, e.name) for e in fields(step)}, times=times
        )
        if isinstance(step, GraphPartitionPass)
        else step
        for step in build_passes(pipeline, PASSES, pipelines_for(target))
    ]
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)
    return sum(times)


def _predict_cycles(module: ModuleOp, target: TargetSpec) -> int | None:
    """Return the cycles by the event model; `None` for loops on several cores."""
    try:
        return estimate_function_cycles(main_function_of(module), target).cycles
    except UnpredictableTimeError:
        return None


def _run_pipeline(
    context: Context, module: ModuleOp, target: TargetSpec, pipeline: str
) -> None:
    passes = build_passes(pipeline, PASSES, pipelines_for(target))
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)
