"""Search for better innermost tiles of a whole program by trial lowering of copies."""

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

    def find_plans(self, families: Families) -> dict[graph.GroupOp, graph.PlanAttr]:
        """Return the plans of groups of the families that make the program fastest."""
        if not any(len(plans) > 1 for plans in families):
            return {}
        if (best := self._evaluate_program_cycles({})) is None:
            return {}
        selected: dict[graph.GroupOp, graph.PlanAttr] = {}
        for plans, groups in families.items():
            best, plan = self._best_plan(best, selected, plans, groups)
            selected |= dict.fromkeys(groups, plan)
        return selected

    def _best_plan(
        self,
        best: int,
        selected: Mapping[graph.GroupOp, graph.PlanAttr],
        plans: Sequence[graph.PlanAttr],
        groups: Sequence[graph.GroupOp],
    ) -> tuple[int, graph.PlanAttr]:
        """
        Return the best cycles and plan of a family, given the plans selected for other
        families. The groups have the first of the plans, with `best` cycles.
        """
        best_plan = plans[0]
        for plan in plans[1:]:
            cycles = self._evaluate_program_cycles(
                {**selected, **dict.fromkeys(groups, plan)}
            )
            if cycles is not None and cycles < best:
                best, best_plan = cycles, plan
        return best, best_plan

    def _evaluate_program_cycles(
        self, plans: Mapping[graph.GroupOp, graph.PlanAttr]
    ) -> int | None:
        """
        Return the cycles of the program with other plans of some groups, or None if
        unknown or the evaluations are used up.
        """
        if not self.max_evaluations:
            return None
        self.max_evaluations -= 1
        copy = self.module.clone()
        for op, copied in zip(self.module.walk(), copy.walk(), strict=True):
            if isinstance(op, graph.GroupOp) and op in plans:
                assert isinstance(copied, graph.GroupOp)
                copied.plan = plans[op]
        return self.evaluator.evaluate_planned_groups(copy)


def is_small_program(groups: Iterable[graph.GroupOp]) -> bool:
    """Return `True` if groups have few enough operations for a trial evaluation."""
    return (
        sum(len(group.body.block.ops) - 1 for group in groups)
        <= REFINEMENT.tiled_program
    )


def group_families_of(
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
