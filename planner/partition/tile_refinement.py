"""Search for better innermost tiles of a whole program by trial lowering of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp

from tlf.dialects import graph
from tlf.planner.context import Evaluator
from tlf.planner.settings.search_budgets import REFINEMENT

Families = Mapping[Sequence[graph.PlanAttr], Sequence[graph.GroupOp]]
"""Groups of the same structure, by their candidate plans, the fastest first."""

RestrictedPlans = Callable[[graph.GroupOp], Sequence[graph.PlanAttr]]
"""Returns the plans of a group under a restriction, the fastest first."""


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
    best_cycles: int | None = None
    """Cycles of the program with the selected plans; None if they are unknown."""
    selected: dict[graph.GroupOp, graph.PlanAttr] = field(
        default_factory=dict[graph.GroupOp, graph.PlanAttr]
    )
    """Plans selected so far, of groups that may have another one than in the module."""

    def find_plans(self, families: Families) -> dict[graph.GroupOp, graph.PlanAttr]:
        """Return the plans of groups of the families that make the program fastest."""
        if not any(len(plans) > 1 for plans in families):
            return {}
        if (best := self._evaluate_program_cycles({})) is None:
            self.max_evaluations = 0
            return {}
        for plans, groups in families.items():
            best, plan = self._best_plan(
                best, self.selected, plans, groups, REFINEMENT.insensitive_plans
            )
            self.selected |= dict.fromkeys(groups, plan)
        self.best_cycles = best
        return self.selected

    def compare_restricted_plans(
        self, families: Families, restricted: Sequence[RestrictedPlans]
    ) -> dict[graph.GroupOp, graph.PlanAttr]:
        """
        Return the plans that make the program fastest, among the selected ones and the
        plans of families under restrictions, such as for a smaller memory.
        """
        limit = min(self.max_evaluations, REFINEMENT.restricted_evaluations)
        rest, self.max_evaluations = self.max_evaluations - limit, limit
        if self.best_cycles is None:
            self.best_cycles = self._evaluate_program_cycles(self.selected)
        if self.best_cycles is not None:
            for plans, groups in families.items():
                self._compare_plans_of_family(plans, groups, restricted)
        self.max_evaluations += rest
        return self.selected

    def _compare_plans_of_family(
        self,
        plans: Sequence[graph.PlanAttr],
        groups: Sequence[graph.GroupOp],
        restricted: Sequence[RestrictedPlans],
    ) -> None:
        """Select the best of restricted plans of a family if it makes it faster."""
        if not self.max_evaluations or self.best_cycles is None:
            return
        first, *rest = (plans_of(groups[0]) for plans_of in restricted)
        others = dict.fromkeys(
            (*first[: REFINEMENT.restricted_plans], *(e for r in rest for e in r[:1]))
        )
        current = self.selected.get(groups[0], plans[0])
        candidates = [current, *(each for each in others if each not in plans)]
        self.best_cycles, plan = self._best_plan(
            self.best_cycles, self.selected, candidates, groups, len(candidates)
        )
        self.selected |= dict.fromkeys(groups, plan)

    def _best_plan(
        self,
        best: int,
        selected: Mapping[graph.GroupOp, graph.PlanAttr],
        plans: Sequence[graph.PlanAttr],
        groups: Sequence[graph.GroupOp],
        patience: int,
    ) -> tuple[int, graph.PlanAttr]:
        """
        Return the best cycles and plan of a family, given the plans selected for other
        families. The groups have the first of the plans, with `best` cycles. If none of
        the next `patience` plans matters to the program, the others are not evaluated,
        but count as if they were: no other family is evaluated instead.
        """
        known: list[int | None] = [best]
        while len(known) < len(plans):
            if len(known) == patience + 1 and not _has_sensible_effect(known):
                left = self.max_evaluations - len(plans) + len(known)
                self.max_evaluations = max(0, left)
                break
            plan = plans[len(known)]
            cycles = self._evaluate_program_cycles(
                {**selected, **dict.fromkeys(groups, plan)}
            )
            known.append(cycles)
        fastest = min(cycles for cycles in known if cycles is not None)
        return fastest, plans[known.index(fastest)]

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


def _has_sensible_effect(cycles: Sequence[int | None]) -> bool:
    """Return `True` if cycles of a program with some plans differ, or are unknown."""
    known = [each for each in cycles if each is not None]
    limit = min(known) * (1 + REFINEMENT.min_effect)
    return len(known) < len(cycles) or max(known) > limit


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
