"""
Planning of the fusion of groups whose reductions form one cascaded loop, if it is
faster.

The result of a contraction that a reduction or another contraction consumes along one
of its axes need not be stored to memory if all of them run in one loop along this axis,
or if a tile covers the whole axis. The cost model of the target estimates both
alternatives.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.tiling.group_analysis import GroupMembers, group_members_of
from tlf.analysis.tiling.group_results import results_used_outside
from tlf.analysis.tiling.structural_keys import StructuralKeys
from tlf.analysis.work.flops_and_bytes import size_in_bytes
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
from tlf.planner.settings.search_budgets import PARTITION


@dataclass(frozen=True)
class CascadeCost:
    """Cycles of groups as one loop, and separately; None if they have no tiles."""

    fused_cycles: int | None
    separate_cycles: int | None
    tolerance: float = PARTITION.cascade_slowdown
    """Relative slowdown up to which one loop is preferred."""

    @property
    def is_fusion_profitable(self) -> bool:
        """True if one loop is within `tolerance` of groups; False if unknown."""
        if self.fused_cycles is None or self.separate_cycles is None:
            return False
        return self.fused_cycles < (1 + self.tolerance) * self.separate_cycles

    @property
    def cycles_saved(self) -> int:
        """Cycles that one loop saves; 0 if they are unknown."""
        if self.fused_cycles is None or self.separate_cycles is None:
            return 0
        return self.separate_cycles - self.fused_cycles

    @property
    def reason_against_fusion(self) -> str:
        """Remark text on groups kept separate: their cycles, or that no tiles fit."""
        if self.fused_cycles is None or self.separate_cycles is None:
            return "its smallest tiles do not fit"
        return (
            f"{self.fused_cycles:,} cycles by the model, "
            f"separately {self.separate_cycles:,}"
        )


@dataclass
class CascadeFusion:
    """Cost comparison of groups fused into one loop and of the same groups separate."""

    target: TargetSpec
    estimator: Estimator
    op_facts: OpFactsCache = field(default_factory=OpFactsCache)
    _structures: StructuralKeys = field(default_factory=StructuralKeys)
    _known_costs: dict[Hashable, CascadeCost] = field(
        default_factory=dict[Hashable, "CascadeCost"]
    )

    def is_fusion_profitable(
        self, members: GroupMembers, separate_groups: Sequence[Part]
    ) -> bool:
        """
        Return `True` if groups run faster as one loop. This is always assumed for the
        reduce stages of a loop for an outer level, as its tiles leave no room for
        intermediate results between groups.
        """
        if is_reduce_stage_of_loop(members, members.root.parent_op()):
            return True
        return self.fusion_cost_of(members, separate_groups).is_fusion_profitable

    def is_regrouping_profitable(
        self, loop: GroupMembers, others: Sequence[Part], replaced: Sequence[Part]
    ) -> bool:
        """
        Return `True` if a group with one loop and other groups run faster than the
        groups that they replace.
        """
        if loop.cascade is None:
            return False
        before, after = map(self._total_cycles_of, (replaced, others))
        if before is None or after is None:
            return False
        fused = self.estimator.estimate_cycles(
            loop, (1 + PARTITION.cascade_slowdown) * before
        )
        total = None if fused is None else fused + after
        return CascadeCost(total, before).is_fusion_profitable

    def _total_cycles_of(self, groups: Sequence[Part]) -> int | None:
        """Return the cycles of separate groups; None if one of them has no tiles."""
        members = (group_members_of(part, self.op_facts) for part in groups)
        cycles = [each for each in map(self.estimator.estimate_cycles, members) if each]
        return sum(cycles) if len(cycles) == len(groups) else None

    def fusion_cost_of(
        self, members: GroupMembers, separate_groups: Sequence[Part]
    ) -> CascadeCost:
        """Return the estimated cycles of groups as one loop and as separate groups."""
        key = self._structures.structural_key_of(members.operations, members.results)
        if key not in self._known_costs:
            self._known_costs[key] = self._estimate_fusion_cost(
                members, separate_groups
            )
        return self._known_costs[key]

    def _estimate_fusion_cost(
        self, members: GroupMembers, separate_groups: Sequence[Part]
    ) -> CascadeCost:
        """
        Return the cycles of a group as one loop and the sum of those of
        `separate_groups`, each None if the estimator has none.
        """
        if members.cascade is None and members.only_contraction is None:
            return CascadeCost(None, None)
        if (separate := self._total_cycles_of(separate_groups)) is None:
            return CascadeCost(None, None)
        tolerance = self._tolerated_slowdown(members, separate_groups, separate)
        fused = self.estimator.estimate_cycles(members, (1 + tolerance) * separate)
        return CascadeCost(fused, separate, tolerance)

    def _tolerated_slowdown(
        self,
        members: GroupMembers,
        separate_groups: Sequence[Part],
        separate_cycles: int,
    ) -> float:
        """
        Return the relative slowdown up to which one loop is preferred over separate
        groups, at most by the time of moving the values that these store for each
        other.
        """
        results = set[SSAValue](members.results)
        stored = [
            value
            for part in separate_groups
            for value in results_used_outside(part)
            if value not in results
        ]
        moved = 2 * size_in_bytes(stored) / self.target.outermost_level.bandwidth
        return min(PARTITION.cascade_slowdown, moved / separate_cycles)


def collect_alternative_fusions(
    parts: Sequence[Part], groups: Mapping[Operation, Part]
) -> Iterator[list[Part]]:
    """
    Yield the first of some groups with each producer of its operands that is not among
    them: once some groups are fused, these may not be.
    """
    seen = [id(part) for part in parts]
    for value in operands_of(parts[0]):
        owner = value.owner
        producer = groups.get(owner) if isinstance(owner, Operation) else None
        if producer is not None and id(producer) not in seen:
            seen.append(id(producer))
            yield [parts[0], producer]


def is_reduce_stage_of_loop(
    members: GroupMembers, surrounding_op: Operation | None
) -> bool:
    """
    Return `True` if a cascade is the body of a loop that carries its running totals
    from one reduce stage to the next.
    """
    if not isinstance(surrounding_op, tile.WhileOp) or surrounding_op.is_parallel:
        return False
    return members.cascade is not None


def collect_fusion_candidates(
    groups: Mapping[Operation, Part], op_facts: OpFactsCache
) -> Iterator[list[Part]]:
    """
    Yield groups that may be fused, for each reduction of a block, the last one first:
    its group with the producers along the reduced axis, of its inputs, then of all
    operands of its group; with all readers of the same values; then each producer only.
    Groups may be merged between two candidates.
    """
    for op in reversed(list(groups)):
        if not isinstance(op, AccumulatingInterface):
            continue
        if len(op_facts.facts_of(op).reduction_dims) != 1:
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
            producer = groups.get(owner) if isinstance(owner, Operation) else None
            if producer is not None and producer is not groups[op]:
                yield [groups[op], producer]
