"""Kernels with their tiles: what they are to take, and how they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpu_cases import Case
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from tlf.analysis.tiling.group import rules_of
from tlf.analysis.tiling.group_members import members_of_group
from tlf.compiler.driver.driver import PASSES, new_context, parse
from tlf.compiler.driver.pass_manager import PassManager
from tlf.compiler.driver.pipeline import build_passes
from tlf.compiler.driver.source import Source
from tlf.dialects import graph
from tlf.dialects.target import Target
from tlf.dialects.target.levels import level_named
from tlf.lowering.mem_to_triton.triton_target import build_plan
from tlf.lowering.pipelines import PIPELINES
from tlf.planner.cost.gpu.chip import Chip
from tlf.planner.cost.gpu.kernel import Kernels
from tlf.planner.cost.gpu.price import Price
from tlf.planner.cost.gpu.search import Choice
from tlf.planner.cost.gpu.tiles import GpuTiles

STEP = "graph-select-tile-sizes"


@dataclass(frozen=True)
class Compiled:
    """A program with its tiles: what it is to take, and how it runs."""

    microseconds: float
    prices: tuple[Price, ...]
    """Of its kernels."""
    tiles: str
    plan: object
    """For the runtime."""


@dataclass
class Compiler:
    """Compiles cases for a GPU, and prices their kernels on the way."""

    target: Target

    def __post_init__(self) -> None:
        chip = Chip.of(self.target)
        if chip is None:
            raise DiagnosticException(
                f"expected a target that describes a GPU, got {self.target.name}"
            )
        self.kernels = Kernels(chip, self.target)
        self.level = level_named(self.target, None)
        self.before, self.after = PIPELINES["triton-pipeline"].split(f"{STEP},")

    def compiled(
        self, case: Case, options: str = "", choice: Choice | None = None
    ) -> Compiled:
        """A case with the tiles that options of the pass lead to, or given ones."""
        context, module = self._grouped(case)
        if choice is not None:
            self._plan(module, choice)
        self._run(context, module, f"{STEP}{options}")
        prices = tuple(self._prices(module))
        plans = [str(group.plan) for group in _groups(module)]
        self._run(context, module, self.after)
        cycles = sum(each.cycles for each in prices)
        return Compiled(
            cycles / self.target.clock_ghz / 1e3,
            prices,
            "; ".join(map(_shortened, plans)),
            build_plan(module).json,
        )

    def choices(self, case: Case) -> list[Choice]:
        """Tiles that were priced for a case of one kernel, the cheapest first."""
        _, module = self._grouped(case)
        groups = _groups(module)
        tiles = GpuTiles.of(self.target, self.level)
        if len(groups) != 1 or tiles is None:
            return []
        return tiles.choices(members_of_group(groups[0]))

    def _grouped(self, case: Case) -> tuple[Any, ModuleOp]:
        context = new_context()
        module = parse(context, Source(case.text, f"{case.name}.mlir"))
        self.target.attach(module)
        self._run(context, module, self.before.rstrip(","))
        return context, module

    def _plan(self, module: ModuleOp, choice: Choice) -> None:
        tiles = GpuTiles.of(self.target, self.level)
        (group,) = _groups(module)
        assert tiles is not None
        group.plan = tiles.attribute(members_of_group(group), choice)

    def _prices(self, module: ModuleOp) -> Sequence[Price]:
        found: list[Price] = []
        rules = rules_of(self.target, self.level.name)
        for group in _groups(module):
            plan = group.plan
            assert plan is not None
            members = members_of_group(group)
            tiling = members.tiling(plan.tile_sizes, plan.reduce_sizes, rules)
            found.append(self.kernels.price(tiling, plan.stage_count))
        return found

    def _run(self, context: Any, module: ModuleOp, pipeline: str) -> None:
        passes = build_passes(pipeline, PASSES, PIPELINES)
        PassManager(passes, verifies=False).run(context, module)


def _groups(module: ModuleOp) -> list[graph.GroupOp]:
    return [op for op in module.walk() if isinstance(op, graph.GroupOp)]


def _shortened(plan: str) -> str:
    """The sizes of a plan, and how many iterations are in flight if it says."""
    text = plan.partition("tile ")[2].rstrip(">")
    return text.replace(", mapping grid", "").replace(" reduce ", " ").replace(" ", "")
