"""
Bound on the cycles that groups save if a change of the pass `graph-split-k-reductions`
splits their reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tlf.dialects.interfaces import TilingInterface
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.split_reductions.reduction_splitting import (
    SplittableReductions,
)
from tlf.passes.graph.split_reductions.split_change import (
    ReductionSplitChange,
    SplitScope,
    reassociate_for_split,
)
from tlf.passes.graph.split_reductions.split_counts import reductions_of
from tlf.planner.fusion.producer_closure import Part, operations_with_reshapes


@dataclass(frozen=True)
class SplitSavings:
    """
    Savings of groups whose reductions are split into any number of parts. A group that
    computes all parts and combines them itself saves nothing.
    """

    evaluator: ChangeEvaluator
    groups: Sequence[Part]
    split_groups: Sequence[Part]
    """Groups whose reductions run in parts."""
    reassociated: Sequence[TilingInterface]
    """Operations after sums are reassociated; none if they are not."""
    moving_cycles_per_part: float
    """
    Minimum cycles in which the partial results of a part are loaded by a group that
    only combines them; 0 if unknown.
    """

    @staticmethod
    def of_change(
        evaluator: ChangeEvaluator,
        groups: Sequence[Part],
        group: Part,
        change: ReductionSplitChange,
    ) -> SplitSavings | None:
        """
        Return the savings by a change of the reductions of a group, or of all groups;
        None if there are none to split.
        """
        if change.scope is SplitScope.WITH_CASCADES:
            return SplitSavings._after_reassociation(evaluator, groups)
        found = change.find_splittable_reductions(operations_with_reshapes(groups))
        if found is None:
            return None
        split = [group] if change.scope is SplitScope.GROUP else groups
        split = [each for each in split if reductions_of(each)]
        # Producers may be split for a group that computes more than their totals.
        is_combined = found.reductions[-1] in group
        moving = evaluator.estimator.min_cycles_to_move_results(found.reductions)
        return SplitSavings(
            evaluator, groups, split, (), moving if is_combined else 0.0
        )

    @staticmethod
    def _after_reassociation(
        evaluator: ChangeEvaluator, groups: Sequence[Part]
    ) -> SplitSavings | None:
        """Return the savings of all groups by a split of their reassociated sums."""
        operations = evaluator.operations_after_change(groups, reassociate_for_split)
        if operations is None:
            return None
        found = SplittableReductions.find_in_all(operations)
        reductions = [] if found is None else found.reductions
        moving = evaluator.estimator.min_cycles_to_move_results(reductions)
        return SplitSavings(evaluator, groups, groups, operations, moving)

    def max_cycles_saved(self, part_count: int) -> float:
        """
        Return a bound on the cycles saved by a number of parts; infinite if unknown.
        """
        moving = part_count * self.moving_cycles_per_part
        if not self.reassociated:
            return self.evaluator.max_cycles_saved_by_split(
                self.groups, self.split_groups, part_count, moving
            )
        if not moving:
            return inf
        return self.evaluator.max_cycles_saved_by_operations(
            self.groups, self.reassociated, moving
        )
