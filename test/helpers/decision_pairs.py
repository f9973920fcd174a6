"""Programs of `mem` with the schedules of the cost model, before a pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from differential import limit_search, parsed, steps_of
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tlf.compiler.driver.pass_manager import PassManager, VerifyEach
from tlf.compiler.experiments.measurement import main_function_of
from tlf.dialects.target import Level, TargetSpec, load_target_spec
from tlf.planner.cost.program.cycle_estimate import REWRITES_BY_PASS, read_schedule
from tlf.planner.cost.program.instruction_nests import Item

TILES = "convert-tile-to-mem"
"""Pass before which the cost model reads its schedule."""


@dataclass
class DecisionPair:
    """A program of `mem` and the schedule of the same tiles, before the same pass."""

    context: Context
    module: ModuleOp
    target: TargetSpec
    items: list[Item]
    steps: Sequence[ModulePass]
    """Passes that have not run."""

    @staticmethod
    def before_pass(text: str, target_name: str, pass_name: str) -> DecisionPair:
        """Compile a program up to a pass that the cost model predicts."""
        context, module = parsed(text)
        target = load_target_spec(target_name)
        target.attach_to_module(module)
        steps = [limit_search(each) for each in steps_of(target)]
        run_passes(context, module, steps[: _index_of_pass(steps, TILES)])
        return DecisionPair.of_tiles(context, module, pass_name)

    @staticmethod
    def of_tiles(context: Context, module: ModuleOp, pass_name: str) -> DecisionPair:
        """Compile a program of tiles up to a pass that the cost model predicts."""
        target = TargetSpec.read_from_module(module)
        steps = steps_of(target)
        items, _ = read_schedule(main_function_of(module), target, pass_name)
        first, at = _index_of_pass(steps, TILES), _index_of_pass(steps, pass_name)
        run_passes(context, module, steps[first:at])
        return DecisionPair(context, module, target, items, steps[at:])

    @property
    def function(self) -> func.FuncOp:
        """The compiled function."""
        return main_function_of(self.module)

    @cached_property
    def levels(self) -> Sequence[Level]:
        """Memory levels, innermost first."""
        return list(self.target.levels.values())

    def advance_to_pass(self, pass_name: str) -> None:
        """Run the passes before a later pass, and their rewrites of the schedule."""
        at = _index_of_pass(self.steps, pass_name)
        run_passes(self.context, self.module, self.steps[:at])
        for each in self.steps[:at]:
            if (rewrite := REWRITES_BY_PASS.get(each.name)) is not None:
                rewrite(self.items, self.target)
        self.steps = self.steps[at:]


def _index_of_pass(steps: Sequence[ModulePass], name: str) -> int:
    return [each.name for each in steps].index(name)


def run_passes(
    context: Context, module: ModuleOp, passes: Sequence[ModulePass]
) -> None:
    """Run passes without verification."""
    PassManager(passes, verify_each=VerifyEach.NOTHING).run(context, module)
