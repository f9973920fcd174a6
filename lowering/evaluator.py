"""Lowers copies of programs to loops over tiles, to tell what they will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.canonicalize import CanonicalizePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination
from xdsl.utils.exceptions import DiagnosticException, PassFailedException

from tlf.dialects.prepared import is_preparation
from tlf.dialects.target import Level, Target
from tlf.lowering.graph_to_tile.convert_graph_to_tile import ConvertGraphToTilePass
from tlf.passes.graph.cse import CsePass
from tlf.passes.plan.graph_assign_layouts import GraphAssignLayoutsPass
from tlf.passes.plan.graph_collapse_dims import collapse
from tlf.passes.plan.graph_group import GraphGroupPass
from tlf.passes.plan.graph_mark_in_place import GraphMarkInPlacePass
from tlf.passes.plan.graph_materialize_concat_operands import (
    GraphMaterializeConcatOperandsPass,
)
from tlf.passes.plan.graph_select_tile_sizes import GraphSelectTileSizesPass
from tlf.planner.context import Memo, PlanningContext
from tlf.planner.cost.npu.timed import TimedTiles
from tlf.planner.cost.program.clock import TooManyStepsError
from tlf.planner.cost.program.prediction import predict
from tlf.planner.layout.costs import KnownPlans


class LoweringEvaluator:
    """
    Takes programs the way of `npu-pipeline`, from groups for the outermost level on.
    Tiles of nearer levels, and of the outermost one for some layouts of tensors, are
    chosen once for groups of the same structure.
    """

    def __init__(self, target: Target, steps: int, memo: Memo | None = None) -> None:
        self.target = target
        self._left = steps
        self.context = PlanningContext(memo=memo)
        self._timed = {
            level.name: TimedTiles.of(target, level, memo=self.context.memo)
            for level in target.tile_levels
        }
        self._known: KnownPlans = {}

    def cycles(self, module: ModuleOp) -> int | None:
        """
        Return the predicted cycles of the functions of a program, or `None`; see
        `Evaluator`.
        """
        return self._told(module, self._lower)

    def grouped_cycles(self, module: ModuleOp) -> int | None:
        """The same where groups are those for the nearest memory."""
        return self._told(module, self._tile)

    def tiled_cycles(self, module: ModuleOp) -> int | None:
        """The same where groups have plans for the nearest memory."""
        return self._told(module, self._finish)

    def _told(self, module: ModuleOp, lower: Callable[[ModuleOp], None]) -> int | None:
        if self._left <= 0:
            return None
        try:
            lower(module)
            return sum(map(self._predicted, _functions(module)))
        except (DiagnosticException, PassFailedException, TooManyStepsError):
            return None

    def _predicted(self, function: func.FuncOp) -> int:
        try:
            told = predict(function, self.target, self._left)
        except TooManyStepsError:
            self._left = 0
            raise
        self._left -= told.steps
        return told.cycles

    def _lower(self, module: ModuleOp) -> None:
        for number, level in enumerate(self.target.tile_levels):
            if number:
                self._apply(
                    module,
                    ConvertGraphToTilePass(),
                    CsePass(),
                    GraphGroupPass(level.name),
                )
                collapse(module, self.target)
            else:
                GraphAssignLayoutsPass(level.name).choose(
                    module, self._known, self.context.memo
                )
            self._apply(module, GraphMaterializeConcatOperandsPass())
            self._choose_tiles(module, level)
            self._apply(module, DeadCodeElimination())
            if not number:
                self._apply(module, GraphMarkInPlacePass())
        self._finish(module)

    def _tile(self, module: ModuleOp) -> None:
        """From groups for the nearest memory on."""
        self._apply(module, GraphMaterializeConcatOperandsPass())
        self._choose_tiles(module, self.target.tile_levels[-1])
        self._finish(module)

    def _finish(self, module: ModuleOp) -> None:
        """From plans for the nearest memory on."""
        self._apply(
            module,
            ConvertGraphToTilePass(),
            CanonicalizePass(),
            CsePass(),
            DeadCodeElimination(),
        )

    def _apply(self, module: ModuleOp, *passes: ModulePass) -> None:
        for each in passes:
            each.apply(self.context, module)

    def _choose_tiles(self, module: ModuleOp, level: Level) -> None:
        chosen = GraphSelectTileSizesPass(level.name)
        chosen.choose(module, self.target, level, self._timed[level.name])


def _functions(module: ModuleOp) -> Iterator[func.FuncOp]:
    """Those that run each time, which what is prepared once does not."""
    for function in module.ops:
        if isinstance(function, func.FuncOp) and not is_preparation(function):
            yield function
