"""
Change of the pass `graph-split-k-reductions`: a split of the reductions of a group, of
its producers, or of both after sums are reassociated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface
from tlf.passes.graph.reassociate.cascade_rewriting import reassociate_and_collect
from tlf.passes.graph.split_reductions.reduction_splitting import (
    SplittableReductions,
)

PASS_NAME = "graph-split-k-reductions"
"""Pass name of the remarks."""


class SplitScope(Enum):
    """
    Selection of the reductions to split.
    """

    GROUP = auto()
    """Reductions of the group."""
    WITH_PRODUCERS = auto()
    """Reductions of the group and of its producers."""
    WITH_CASCADES = auto()
    """Reductions of both, after sums are reassociated to run in one loop."""


def reassociate_for_split(operations: Sequence[TilingInterface]) -> bool:
    """
    Reassociate sums in place; return `True` if there are reductions to split then.
    """
    reassociated = reassociate_and_collect(operations)
    return SplittableReductions.find_in_all(reassociated) is not None


@dataclass(frozen=True)
class ReductionSplitChange:
    """A rewrite that splits reductions in place into `count` partial reductions."""

    scope: SplitScope
    group_indices: tuple[int, ...]
    """Indices of the operations that belong to the group."""
    count: int
    """Number of partial reductions."""

    def find_splittable_reductions(
        self, operations: Sequence[TilingInterface]
    ) -> SplittableReductions | None:
        """Return the reductions that `scope` selects; `None` if not splittable."""
        if self.scope is not SplitScope.GROUP:
            return SplittableReductions.find_in_all(operations)
        return SplittableReductions.find_in_group(
            [operations[n] for n in self.group_indices], operations
        )

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        if self.scope is SplitScope.WITH_CASCADES:
            operations = reassociate_and_collect(operations)
        if (reductions := self.find_splittable_reductions(operations)) is None:
            return False
        name = reductions.first_reduction.op.name.removeprefix("graph.")
        text = (
            f"{name} of {reductions.reduced_extent} elements is computed of "
            f"{self.count} parts"
        )
        graph.add_remark(reductions.first_reduction.op, PASS_NAME, "passed", text)
        return reductions.split_into_parts(self.count)
