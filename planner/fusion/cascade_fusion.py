"""
Fusion of groups whose reductions form one cascaded loop, where it is faster.

What a contraction computes for a reduction or another contraction along one of its own
axes need not be in memory, if all of them are in one loop along this axis, or if a tile
has all of it. Whether that pays is a question of time: the model of the target prices
both ways.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.tiling.group_analysis import GroupMembers, group_members_of
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.dialects import tile
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.target import TargetSpec
from tlf.planner.estimator import Estimator
from tlf.planner.fusion.producer_closure import (
    Part,
    operands_of,
    producer_closure_of,
    reader_closure_of,
)

ALIKE = 0.05
"""By what part one loop may take longer than its parts: it needs less memory."""


@dataclass(frozen=True)
class CascadeCost:
    """The cycles of groups as one loop, and apart; None where they have no tiles."""

    fused_cycles: int | None
    separate_cycles: int | None

    @property
    def is_profitable(self) -> bool:
        """True if one loop pays off."""
        if self.fused_cycles is None or self.separate_cycles is None:
            return False
        return self.fused_cycles < (1 + ALIKE) * self.separate_cycles

    @property
    def describe(self) -> str:
        """Reason given where they stay apart."""
        if self.fused_cycles is None or self.separate_cycles is None:
            return "no tiles of it fit"
        return (
            f"{self.fused_cycles:,} cycles by the model, apart {self.separate_cycles:,}"
        )


@dataclass
class CascadeFusion:
    """Prices groups that may be joined."""

    target: TargetSpec
    estimator: Estimator
    forms: OpFactsCache = field(default_factory=OpFactsCache)
    _structures: StructuralKeys = field(default_factory=StructuralKeys)
    _prices: dict[Hashable, CascadeCost] = field(
        default_factory=dict[Hashable, "CascadeCost"]
    )

    def is_profitable(self, members: GroupMembers, parts: Sequence[Part]) -> bool:
        """
        Return `True` if groups run faster as one loop. It is always taken for the
        pieces of a loop for an outer level, as its tiles leave no room for intermediate
        results between groups.
        """
        if is_reduce_stage(members, members.root.parent_op()):
            return True
        return self.cost_of(members, parts).is_profitable

    def cost_of(self, members: GroupMembers, parts: Sequence[Part]) -> CascadeCost:
        """Return the price of groups as one loop, and apart."""
        key = self._structures.key_of(members.operations, members.results)
        if key not in self._prices:
            self._prices[key] = self._estimate_cost(members, parts)
        return self._prices[key]

    def _estimate_cost(
        self, members: GroupMembers, parts: Sequence[Part]
    ) -> CascadeCost:
        if members.cascade is None and members.only_contraction is None:
            return CascadeCost(None, None)
        if (together := self.estimator.estimate_cycles(members)) is None:
            return CascadeCost(None, None)
        groups = (group_members_of(part, self.forms) for part in parts)
        apart = [each for each in map(self.estimator.estimate_cycles, groups) if each]
        return CascadeCost(together, sum(apart) if len(apart) == len(parts) else None)


def is_reduce_stage(members: GroupMembers, around: Operation | None) -> bool:
    """
    Return `True` if a cascade is the body of a loop with running totals around it, for
    each piece.
    """
    if not isinstance(around, tile.WhileOp) or around.is_parallel:
        return False
    return members.cascade is not None


def collect_candidates(
    groups: Mapping[Operation, Part], forms: OpFactsCache
) -> Iterator[list[Part]]:
    """
    For each reduction of a block, the last one first, its group and those before it
    that compute along the axis it reduces: for what it reduces, then for all of its
    group; with all that read the same; then each alone that it reads from. Groups
    may be joined on the way.
    """
    for op in reversed(list(groups)):
        if not isinstance(op, AccumulatingInterface):
            continue
        if len(forms.of(op).reduction_dims) != 1:
            continue
        for values in (op.inputs, operands_of(groups[op])):
            parts = producer_closure_of(groups[op], values, groups)
            if len(parts) > 1:
                yield parts
        parts = reader_closure_of(groups[op], op.inputs, groups)
        if len(parts) > 1:
            yield parts
        for value in operands_of(groups[op]):
            owner = value.owner
            before = groups.get(owner) if isinstance(owner, Operation) else None
            if before is not None and before is not groups[op]:
                yield [groups[op], before]
