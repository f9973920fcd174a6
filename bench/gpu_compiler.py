"""Compilation of cases for a GPU, with estimates of the cost of their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_cases import KernelCase
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.compiler.driver.driver import PASSES, new_context, parse_module
from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.lowering.mem_to_triton.triton_target import build_launch_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.gpu_parameters import Chip
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel
from tlf.planner.cost.gpu.kernel_schedule import KernelSchedule
from tlf.planner.cost.gpu.kernel_search import KernelCandidate

STEP = "graph-select-tile-sizes"


@dataclass(frozen=True)
class CompiledCase:
    """Compiled program: its estimated time, tile sizes and launch plan."""

    microseconds: float
    estimates: tuple[KernelCost, ...]
    """Estimated cost of each kernel."""
    tiles: str
    plan: object
    """Launch plan for the runtime."""


@dataclass
class CaseCompiler:
    """Compiler of cases for a GPU that also estimates the cost of their kernels."""

    target: TargetSpec

    def __post_init__(self) -> None:
        chip = Chip.from_target(self.target)
        if chip is None:
            raise DiagnosticException(
                f"expected a target that describes a GPU, got {self.target.name}"
            )
        self.kernels = KernelModel(chip, self.target)
        self.level = find_tile_level(self.target, None)
        self.before, self.after = PIPELINES["triton-pipeline"].split(f"{STEP},")

    def compile_case(
        self, case: KernelCase, options: str = "", choice: KernelCandidate | None = None
    ) -> CompiledCase:
        """
        Compile a case with `choice`, or with tile sizes that the pass selects under
        `options`.
        """
        context, module = self._group_case(case)
        if choice is not None:
            self._apply_plan(module, choice)
        self._run_pipeline(context, module, f"{STEP}{options}")
        costs = tuple(self._estimate_costs(module))
        plans = [str(group.plan) for group in _groups_of(module)]
        self._run_pipeline(context, module, self.after)
        cycles = sum(each.cycles for each in costs)
        return CompiledCase(
            cycles / self.target.clock_ghz / 1e3,
            costs,
            "; ".join(map(_shorten_plan, plans)),
            build_launch_plan(module).json,
        )

    def candidate_tiles(self, case: KernelCase) -> list[KernelCandidate]:
        """
        Return the evaluated candidates of a case of one kernel, the fastest first.
        """
        _, module = self._group_case(case)
        groups = _groups_of(module)
        estimator = GpuEstimator.create_for_level(self.target, self.level)
        if len(groups) != 1 or estimator is None:
            return []
        return estimator.evaluated_candidates_of(members_of_group_op(groups[0]))

    def _group_case(self, case: KernelCase) -> tuple[Any, ModuleOp]:
        context = new_context()
        module = parse_module(context, Source(case.text, f"{case.name}.mlir"))
        self.target.attach_to_module(module)
        self._run_pipeline(context, module, self.before.rstrip(","))
        return context, module

    def _apply_plan(self, module: ModuleOp, choice: KernelCandidate) -> None:
        estimator = GpuEstimator.create_for_level(self.target, self.level)
        (group,) = _groups_of(module)
        assert estimator is not None
        group.plan = estimator.to_plan_attribute(members_of_group_op(group), choice)

    def _estimate_costs(self, module: ModuleOp) -> Sequence[KernelCost]:
        costs: list[KernelCost] = []
        rules = tile_rules_of(self.target, self.level.name)
        for group in _groups_of(module):
            plan = group.plan
            assert plan is not None
            members = members_of_group_op(group)
            tiling = members.analyze_tiles_of_sizes(
                plan.tile_sizes, plan.reduce_sizes, rules
            )
            schedule = KernelSchedule.of_plan(plan)
            costs.append(self.kernels.estimate_cost(tiling, schedule))
        return costs

    def _run_pipeline(self, context: Any, module: ModuleOp, pipeline: str) -> None:
        passes = build_passes(pipeline, PASSES, PIPELINES)
        PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)


def _groups_of(module: ModuleOp) -> list[graph.GroupOp]:
    return [op for op in module.walk() if isinstance(op, graph.GroupOp)]


def _shorten_plan(plan: str) -> str:
    """Return the tile sizes of a plan, and its stage count if it has one."""
    text = plan.partition("tile ")[2].rstrip(">")
    return text.replace(", mapping grid", "").replace(" reduce ", " ").replace(" ", "")
