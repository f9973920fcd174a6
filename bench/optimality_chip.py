"""Simulated time and traffic of a program with given plans on a small chip."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import cast

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.diagnostics import CompileError
from tlf.compiler.driver.driver import PASSES, TARGETS, emit_text, new_context
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes, build_target
from tlf.dialects.target import Level, TargetSpec, load_target_spec
from tlf.dialects.target.description import Data, target_from_data
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.lowering.evaluator import LoweringEvaluator
from tlf.lowering.pipelines import pipelines_for
from tlf.passes.plan.graph_partition import GraphPartitionPass
from tlf.runtime import npu
from tlf.support.partition import SearchResult

PARTITION = "graph-partition"
LAYOUTS = "graph-assign-layouts"
GROUP = "graph-group"


@dataclass(frozen=True)
class SimulatedRun:
    """Time and traffic of a simulated run."""

    cycles: int
    bytes: int
    """Payload bytes from and to the outermost memory."""


@dataclass
class Chip:
    """
    Target with its backend pipeline, split between grouping and planning.

    `operations` limits the operations of a group formed by `graph-group`.
    """

    target: TargetSpec
    operations: int | None = None
    known: dict[str, SimulatedRun | None] = field(
        default_factory=dict[str, "SimulatedRun | None"]
    )
    """Results of simulated programs, by program text."""
    simulated: int = 0

    @property
    def level(self) -> Level:
        """Memory level that groups are planned for."""
        return self.target.tile_levels[0]

    @cached_property
    def _pipeline_steps(self) -> Sequence[str]:
        text = pipelines_for(self.target)["npu-pipeline"]
        steps = [
            step for step in _split_pipeline(text) if not step.startswith(PARTITION)
        ]
        if self.operations is None:
            return steps
        limit = f"{GROUP}{{level={self.level.name} max-operations={self.operations}}}"
        index = next(n for n, step in enumerate(steps) if step.startswith(GROUP))
        return [*steps[:index], limit, *steps[index + 1 :]]

    def passes_of(self, *steps: str) -> Sequence[ModulePass]:
        """Return passes by their names and options."""
        return build_passes(",".join(steps), PASSES, pipelines_for(self.target))

    @cached_property
    def group_passes(self) -> Sequence[ModulePass]:
        """Passes that form the groups."""
        return self.passes_of(*self._pipeline_steps[: self._split_index])

    @cached_property
    def program_passes(self) -> Sequence[ModulePass]:
        """Passes that lower a grouped program."""
        return self.passes_of(*self._pipeline_steps[self._split_index :])

    @cached_property
    def _split_index(self) -> int:
        names = [step.partition("{")[0] for step in self._pipeline_steps]
        return names.index(LAYOUTS)

    def group_module(self, module: ModuleOp) -> ModuleOp:
        """Return a copy of a program after the passes that form its groups."""
        copy = module.clone()
        self.target.attach_to_module(copy)
        self.run_passes(self.group_passes, copy)
        return copy

    def partition_module(self, grouped: ModuleOp, options: str = "") -> ModuleOp:
        """
        Return a copy of a grouped program with the partition selected by the compiler.
        """
        copy = grouped.clone()
        level = f"level={self.level.name}"
        self.run_passes(self.passes_of(f"{PARTITION}{{{level} {options}}}"), copy)
        return copy

    def search_partitions(
        self, grouped: ModuleOp, strategy: str = "dp", keep: bool = True
    ) -> list[SearchResult]:
        """
        Return the results of the compiler's search for each block of a grouped program.
        """
        copy = grouped.clone()
        partition_pass = GraphPartitionPass(
            self.level.name, strategy, residency=keep, max_evaluations=0
        )
        target = TargetSpec.read_from_module(copy)
        partitions = partition_pass.search_partitions(
            Context(), copy, target, self.level
        )
        return [each.search_result for each in partitions]

    def run_passes(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        """Apply passes. Raises `CompileError`."""
        PassManager(passes, verify_each=VerifyEach.NOTHING).run(new_context(), module)

    @cached_property
    def _evaluator(self) -> LoweringEvaluator:
        return LoweringEvaluator(self.target, sys.maxsize)

    def predict_cycles(self, grouped: ModuleOp) -> int | None:
        """
        Return the cycles of a grouped program by the event model, or `None` if refused.
        """
        return self._evaluator.evaluate_outermost_groups(grouped.clone())

    def simulate_cached(self, grouped: ModuleOp) -> SimulatedRun | None:
        """
        Return the simulated results of a grouped program, or `None` if it is refused.

        Raises `CompileError` for faults of the compiler that are not refusals.
        """
        key = str(grouped)
        if key not in self.known:
            self.known[key] = self._simulate(grouped.clone())
        return self.known[key]

    def _simulate(self, module: ModuleOp) -> SimulatedRun | None:
        try:
            self.run_passes(self.program_passes, module)
        except CompileError as error:
            if error.diagnostic.message.startswith("internal error"):
                raise
            return None
        context = new_context()
        text = emit_text(context, module, build_target("npu", TARGETS))
        self.simulated += 1
        report = npu.run(npu.parse(text, Path()), {}, functional=False)
        traffic = report.traffic[self.target.outermost_level.name]
        return SimulatedRun(report.cycles, traffic.read + traffic.written)


def _split_pipeline(text: str) -> Sequence[str]:
    """Return the steps of a pipeline, each with its options."""
    steps: list[str] = []
    depth = 0
    for part in text.split(","):
        if depth:
            steps[-1] += f",{part}"
        else:
            steps.append(part)
        depth += part.count("{") - part.count("}")
    return steps


def with_level(target: TargetSpec, name: str, **figures: int) -> TargetSpec:
    """Return a target with some numbers of one level replaced."""
    levels = cast(Sequence[Mapping[str, Data]], target.data["levels"])
    replaced = [
        {**level, **figures} if level["name"] == name else level for level in levels
    ]
    return target_from_data({**target.data, "levels": replaced})


def small_chips() -> Mapping[str, TargetSpec]:
    """
    Return variants of `npu-tiny` by name for which small programs have a search space.

    They have a small L2 and a slow L3.
    """
    tiny = with_level(
        load_target_spec("npu-tiny"), "L3", bandwidth=1, latency=400, burst=32
    )
    tiny = with_level(with_level(tiny, "L1", capacity=1024), "L2", burst=32)
    return {
        "roomy": with_level(tiny, "L2", capacity=4096),
        "tight": with_level(tiny, "L2", capacity=1024),
        "near": with_level(with_level(tiny, "L2", capacity=2048), "L3", latency=100),
    }


def functions_of(module: ModuleOp) -> Sequence[func.FuncOp]:
    """Return the functions of a program that run on every call."""
    return [
        op
        for op in module.ops
        if isinstance(op, func.FuncOp) and not is_preparation_function(op)
    ]
