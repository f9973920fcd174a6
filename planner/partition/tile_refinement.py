"""
Search for better innermost tiles of a whole program by trial evaluation of its groups'
plans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.planner.context import Evaluator
from tlf.planner.settings.search_budgets import REFINEMENT

Families = Mapping[Sequence[graph.PlanAttr], Sequence[graph.GroupOp]]
"""Groups of the same structure, by their candidate plans, the fastest first."""


@dataclass
class TileRefinement:
    """
    Evaluation of a program with other near-best plans of its groups. Groups of the same
    structure have the same plan.

    The number of evaluations is limited, not their time, so that the same program gets
    the same plans on every machine.
    """

    module: ModuleOp
    """Module whose groups all have plans."""
    evaluator: Evaluator
    max_evaluations: int = REFINEMENT.tile_evaluations

    def refine_families(self, families: Families) -> None:
        """Set the plans of families of groups that make the program the fastest."""
        if not any(len(plans) > 1 for plans in families):
            return
        if (best := self._evaluate_cycles()) is None:
            return
        for plans, groups in families.items():
            best = self._improve_plans(best, plans, groups)

    def _improve_plans(
        self,
        best: int,
        plans: Sequence[graph.PlanAttr],
        groups: Sequence[graph.GroupOp],
    ) -> int:
        """
        Set the best of some plans, of which the groups have the first one. Return the
        best cycles.
        """
        best_plan = plans[0]
        for plan in plans[1:]:
            _set_plan(groups, plan)
            cycles = self._evaluate_cycles()
            if cycles is not None and cycles < best:
                best, best_plan = cycles, plan
        _set_plan(groups, best_plan)
        return best

    def _evaluate_cycles(self) -> int | None:
        """
        Return the cycles of the program, or None if unknown or the evaluations are used
        up.
        """
        if not self.max_evaluations:
            return None
        self.max_evaluations -= 1
        return self.evaluator.evaluate_tiled(self.module.clone())


def _set_plan(groups: Sequence[graph.GroupOp], plan: graph.PlanAttr) -> None:
    for group in groups:
        group.plan = plan


def is_small_program(groups: Iterable[graph.GroupOp]) -> bool:
    """Return `True` if groups have few enough operations for a trial evaluation."""
    return (
        sum(len(group.body.block.ops) - 1 for group in groups)
        <= REFINEMENT.tiled_program
    )


def families_of(
    groups: Sequence[graph.GroupOp],
    plans_of: Callable[[graph.GroupOp], Sequence[graph.PlanAttr]],
) -> Families:
    """
    Return families of groups that may share plans; none if the program is too large.
    """
    if not is_small_program(groups):
        return {}
    families: dict[Sequence[graph.PlanAttr], list[graph.GroupOp]] = {}
    for group in groups:
        families.setdefault(plans_of(group), []).append(group)
    return families
