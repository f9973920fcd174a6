"""
Lowering of module copies to tile loops, as a trial that evaluates the cost of their
plans.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.dialects.dead_operations import DeadOperationErasurePass
from tlf.dialects.target import Level, TargetSpec
from tlf.dialects.weight_preparation_attributes import is_preparation_function
from tlf.lowering.graph_to_tile.convert_graph_to_tile import ConvertGraphToTilePass
from tlf.passes.graph.cse import CsePass
from tlf.passes.plan.graph_assign_layouts import GraphAssignLayoutsPass
from tlf.passes.plan.graph_collapse_dims import collapse_dims_of_groups
from tlf.passes.plan.graph_group import GraphGroupPass
from tlf.passes.plan.graph_mark_in_place import GraphMarkInPlacePass
from tlf.passes.plan.graph_materialize_concat_operands import (
    GraphMaterializeConcatOperandsPass,
)
from tlf.passes.plan.graph_select_tile_sizes import GraphSelectTileSizesPass
from tlf.planner.context import Memo, PlanningContext
from tlf.planner.cost.npu.npu_estimator import NpuEstimator
from tlf.planner.cost.program.buffer_sharing import KnownAllocations
from tlf.planner.cost.program.cycle_estimate import estimate_function_cycles
from tlf.planner.cost.program.schedule_clock import TooManyInstructionsError
from tlf.planner.layout.layout_costs import KnownPlans


class LoweringEvaluator:
    """
    Evaluator that lowers modules as `npu-pipeline` does, outermost level first.

    Plans of inner levels, and plans of the outermost level per tensor layout, are
    selected once for groups of equal structure.
    """

    def __init__(
        self,
        target: TargetSpec,
        steps: int,
        memo: Memo | None = None,
        innermost_target: TargetSpec | None = None,
    ) -> None:
        """`innermost_target` is the one that innermost plans are selected for."""
        self.target = target
        self._left = steps
        self.context = PlanningContext(memo=memo)
        self._timed = {
            level.name: NpuEstimator.create_for_level(
                target, level, memo=self.context.memo
            )
            for level in target.tile_levels
        }
        if innermost_target is not None:
            level = innermost_target.tile_levels[-1]
            self._timed[level.name] = NpuEstimator.create_for_level(
                innermost_target, level, memo=self.context.memo
            )
        self._known: KnownPlans = {}
        self._known_allocations: KnownAllocations = self.context.memo.results_table_for(
            "allocations"
        )

    def with_innermost_plans_for(self, target: TargetSpec) -> LoweringEvaluator:
        """Return the evaluator with innermost plans for a target; see `Evaluator`."""
        return LoweringEvaluator(self.target, self._left, self.context.memo, target)

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        """Return the predicted cycles of a program, or `None`; see `Evaluator`."""
        return self._predict_cycles_after_lowering(
            module, self._lower_from_outermost_level
        )

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles of a module that is grouped for the innermost level."""
        return self._predict_cycles_after_lowering(
            module, self._lower_module_grouped_for_innermost
        )

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        """
        Return the cycles of a module whose groups have plans for the innermost level.
        """
        return self._predict_cycles_after_lowering(
            module, self._lower_module_planned_for_innermost
        )

    def _predict_cycles_after_lowering(
        self, module: ModuleOp, lower_module: Callable[[ModuleOp], None]
    ) -> int | None:
        """
        Lower `module` in place and return its predicted cycles per call; `None` if that
        fails or the instruction budget is spent.
        """
        if self._left <= 0:
            return None
        try:
            lower_module(module)
            functions = [op for op in module.ops if isinstance(op, func.FuncOp)]
            return sum(map(self._predict_function_cycles, functions))
        except (DiagnosticException, PassFailedException, TooManyInstructionsError):
            return None

    def _predict_function_cycles(self, function: func.FuncOp) -> int:
        """Estimate a function's cycles and deduct its instructions from the budget."""
        try:
            estimate = estimate_function_cycles(
                function, self.target, self._left, self._known_allocations
            )
        except TooManyInstructionsError:
            self._left = 0
            raise
        self._left -= estimate.executed_instructions
        return estimate.cycles

    def _lower_from_outermost_level(self, module: ModuleOp) -> None:
        """Lower a module grouped for the outermost level through all tile levels."""
        for index, level in enumerate(self.target.tile_levels):
            if index:
                self._apply_passes(
                    module,
                    ConvertGraphToTilePass(),
                    CsePass(),
                    GraphGroupPass(level.name),
                )
                collapse_dims_of_groups(module, self.target)
            else:
                GraphAssignLayoutsPass(level.name).assign_layouts_in_module(
                    module, self._known, self.context.memo
                )
            self._apply_passes(module, GraphMaterializeConcatOperandsPass())
            self._select_tile_sizes(module, level)
            self._apply_passes(module, DeadOperationErasurePass())
            if not index:
                self._apply_passes(module, GraphMarkInPlacePass())
        self._lower_module_planned_for_innermost(module)

    def _lower_module_grouped_for_innermost(self, module: ModuleOp) -> None:
        """Lower a module that is grouped for the innermost level."""
        self._apply_passes(module, GraphMaterializeConcatOperandsPass())
        self._select_tile_sizes(module, self.target.tile_levels[-1])
        self._lower_module_planned_for_innermost(module)

    def _lower_module_planned_for_innermost(self, module: ModuleOp) -> None:
        """
        Lower a module whose groups have plans for the innermost level. Load-time
        preparation, which takes no time per call, is erased instead.
        """
        for function in list(module.ops):
            if is_preparation_function(function):
                Rewriter.erase_op(function)
        self._apply_passes(
            module,
            ConvertGraphToTilePass(),
            CanonicalizePass(),
            CsePass(),
            DeadOperationErasurePass(),
        )

    def _apply_passes(self, module: ModuleOp, *passes: ModulePass) -> None:
        for each in passes:
            each.apply(self.context, module)

    def _select_tile_sizes(self, module: ModuleOp, level: Level) -> None:
        """Set a plan on each group of `module` without one, by `level`'s estimator."""
        selection = GraphSelectTileSizesPass(level.name)
        selection.select_plans_of_groups(
            module, self.target, level, self._timed[level.name]
        )
