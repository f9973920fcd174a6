"""Compile cases for a GPU, and estimate the cost of their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_cases import KernelCase
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tlf.analysis.tiling.group_analysis import tile_rules_of
from tlf.analysis.tiling.group_members import members_of_group_op
from tlf.compiler.driver.driver import PASSES, new_context, parse
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import TargetSpec
from tlf.dialects.target.level_lookup import find_tile_level
from tlf.lowering.mem_to_triton.triton_target import build_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.gpu_estimator import GpuEstimator
from tlf.planner.cost.gpu.kernel_cost import KernelCost
from tlf.planner.cost.gpu.kernel_model import KernelModel
from tlf.planner.cost.gpu.kernel_search import KernelCandidate

STEP = "graph-select-tile-sizes"


@dataclass(frozen=True)
class CompiledCase:
    """A program with its tiles: what it is to take, and how it runs."""

    microseconds: float
    estimates: tuple[KernelCost, ...]
    """Of its kernels."""
    tiles: str
    plan: object
    """For the runtime."""


@dataclass
class CaseCompiler:
    """Compiles cases for a GPU, and prices their kernels on the way."""

    target: TargetSpec

    def __post_init__(self) -> None:
        chip = Chip.of(self.target)
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
        """A case with the tiles that options of the pass lead to, or given ones."""
        context, module = self._group_case(case)
        if choice is not None:
            self._apply_plan(module, choice)
        self._run_pipeline(context, module, f"{STEP}{options}")
        prices = tuple(self._estimate_costs(module))
        plans = [str(group.plan) for group in _groups_of(module)]
        self._run_pipeline(context, module, self.after)
        cycles = sum(each.cycles for each in prices)
        return CompiledCase(
            cycles / self.target.clock_ghz / 1e3,
            prices,
            "; ".join(map(_shorten_plan, plans)),
            build_plan(module).json,
        )

    def candidate_tiles(self, case: KernelCase) -> list[KernelCandidate]:
        """Tiles that were priced for a case of one kernel, the cheapest first."""
        _, module = self._group_case(case)
        groups = _groups_of(module)
        tiles = GpuEstimator.of(self.target, self.level)
        if len(groups) != 1 or tiles is None:
            return []
        return tiles.candidates_of(members_of_group_op(groups[0]))

    def _group_case(self, case: KernelCase) -> tuple[Any, ModuleOp]:
        context = new_context()
        module = parse(context, Source(case.text, f"{case.name}.mlir"))
        self.target.attach(module)
        self._run_pipeline(context, module, self.before.rstrip(","))
        return context, module

    def _apply_plan(self, module: ModuleOp, choice: KernelCandidate) -> None:
        tiles = GpuEstimator.of(self.target, self.level)
        (group,) = _groups_of(module)
        assert tiles is not None
        group.plan = tiles.to_attribute(members_of_group_op(group), choice)

    def _estimate_costs(self, module: ModuleOp) -> Sequence[KernelCost]:
        found: list[KernelCost] = []
        rules = tile_rules_of(self.target, self.level.name)
        for group in _groups_of(module):
            plan = group.plan
            assert plan is not None
            members = members_of_group_op(group)
            tiling = members.tiling_with(plan.tile_sizes, plan.reduce_sizes, rules)
            found.append(self.kernels.estimate_cost(tiling, plan.stage_count))
        return found

    def _run_pipeline(self, context: Any, module: ModuleOp, pipeline: str) -> None:
        passes = build_passes(pipeline, PASSES, PIPELINES)
        PassManager(passes, verifies=False).run(context, module)


def _groups_of(module: ModuleOp) -> list[graph.GroupOp]:
    return [op for op in module.walk() if isinstance(op, graph.GroupOp)]


def _shorten_plan(plan: str) -> str:
    """The sizes of a plan, and how many iterations are in flight if it says."""
    text = plan.partition("tile ")[2].rstrip(">")
    return text.replace(", mapping grid", "").replace(" reduce ", " ").replace(" ", "")
