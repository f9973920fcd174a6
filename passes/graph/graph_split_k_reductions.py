"""
Pass `graph-split-k-reductions`: splits long reductions into parallel partial ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from tlf.analysis.work.engine_throughput import Engines
from tlf.analysis.work.flops_and_bytes import size_in_bytes
from tlf.dialects.dead_operations import erase_dead_operations
from tlf.dialects.interfaces import ContractionInterface, TilingInterface
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.reassociation_rules import KnownRules
from tlf.passes.graph.split_reductions.split_change import (
    PASS_NAME,
    ReductionSplitChange,
    SplitScope,
)
from tlf.passes.graph.split_reductions.split_counts import (
    candidate_split_counts,
    longest_reduced_extent,
    min_tile_count_of_results,
    reductions_of,
    select_best_count,
)
from tlf.passes.graph.split_reductions.split_savings import SplitSavings
from tlf.planner.fusion.producer_closure import (
    Part,
    operands_of,
    operations_with_reshapes,
    producer_closure_of,
)
from tlf.planner.fusion.stored_live_bytes import StoredLiveBytes
from tlf.planner.settings.search_budgets import PARTITION, REASSOCIATION
from tlf.planner.settings.summation_bounds import SUMMATION


@dataclass
class _ReductionScope:
    """
    Search for the best split of the reductions of a group and its producer groups.
    """

    evaluator: ChangeEvaluator
    groups: Sequence[Part]
    group: Part
    rules: KnownRules
    live_bytes: StoredLiveBytes
    """Bytes that are live while groups run, without splits."""
    is_limited_by_memory: bool = field(init=False, default=False)
    """True if there was no memory for the number of parts that saves the most."""

    @cached_property
    def operations(self) -> Sequence[TilingInterface]:
        """Operations of all groups, in program order."""
        return operations_with_reshapes(self.groups)

    def _can_profit_from_split(self, processors: int) -> bool:
        """
        Return `True` if a group with a reduction leaves processors idle, or the group
        reads the result of a contraction from memory.
        """
        if len(self.operations) > PARTITION.max_closure_operations:
            return False
        if not any(isinstance(op, ContractionInterface) for op in self.group) and any(
            isinstance(op, ContractionInterface) for op in self.operations
        ):
            return True
        return any(
            self._leaves_processors_idle(part, processors) for part in self.groups
        )

    def _leaves_processors_idle(self, group: Part, processors: int) -> bool:
        """
        Return `True` if a group with a reduction has fewer tiles than processors: with
        its best plan, or with large tiles if it sums more terms than an accumulator
        may. Its best plan may have small tiles only to occupy the processors.
        """
        if not (reductions := reductions_of(group)):
            return False
        longest = max(map(longest_reduced_extent, reductions))
        return self.evaluator.tile_count_of_group(group) < processors or (
            longest > SUMMATION.max_sequential_additions
            and min_tile_count_of_results(reductions) < processors
        )

    def candidate_split_scopes(self) -> Iterator[Sequence[SplitScope]]:
        """
        Yield scopes to try: first those beyond the group, possibly none, then the
        group.
        """
        exposed = (
            [SplitScope.WITH_CASCADES]
            if any(map(self.rules.has_rule, self.operations))
            else []
        )
        with_producers = [SplitScope.WITH_PRODUCERS] if len(self.groups) > 1 else []
        yield [*with_producers, *exposed]
        yield [SplitScope.GROUP]

    def find_best_split(self, processors: int) -> ReductionSplitChange | None:
        """Return the change that saves the most cycles, or None if none saves any."""
        if not self._can_profit_from_split(processors):
            return None
        members = set(self.group)
        indices = tuple(n for n, op in enumerate(self.operations) if op in members)
        for scopes in self.candidate_split_scopes():
            changes = [ReductionSplitChange(scope, indices, 1) for scope in scopes]
            candidates = [
                self._select_best_split_count(change, processors) for change in changes
            ]
            if profitable := [each for each in candidates if each is not None]:
                return max(profitable, key=self._cycles_saved_by)
        return None

    def _select_best_split_count(
        self, change: ReductionSplitChange, processors: int
    ) -> ReductionSplitChange | None:
        """
        Return a change with the split count that saves the most cycles, or None if none
        saves any.
        """
        operations = self.group if change.scope is SplitScope.GROUP else self.operations
        if not (reductions := reductions_of(operations)):
            return None
        *_, last = reductions
        counts = candidate_split_counts(
            reductions, longest_reduced_extent(last), processors
        )
        about = self.evaluator, self.groups, self.group, change
        if not counts or (savings := SplitSavings.of_change(*about)) is None:
            return None
        start = processors // min_tile_count_of_results(reductions)
        best = select_best_count(
            counts,
            start,
            lambda n: self._cycles_saved_by(replace(change, count=n)),
            savings.max_cycles_saved,
            self.evaluator.total_cycles_of_groups(self.groups) or 0,
        )
        if best is None or best <= (limit := self._max_count_of_partial_results(last)):
            return None if best is None else replace(change, count=best)
        self.is_limited_by_memory = True
        fewer = (replace(change, count=n) for n in counts if n <= limit)
        saving = [each for each in fewer if self._cycles_saved_by(each) > 0]
        return max(saving, key=self._cycles_saved_by, default=None)

    def _max_count_of_partial_results(self, last: Operation) -> int:
        """
        Return the maximum number of partial results of the last reduction, which are
        live at once, by the peak memory of the program.
        """
        peak = int(REASSOCIATION.split_memory_ratio * self.live_bytes.peak)
        room = peak - self.live_bytes.bytes_beside(self.group)
        share = int(REASSOCIATION.small_split_share * self.live_bytes.input_bytes)
        room = max(room, share, REASSOCIATION.small_split_bytes)
        return room // max(1, size_in_bytes(last.results))

    def _cycles_saved_by(self, change: ReductionSplitChange) -> int:
        return self.evaluator.cycles_saved_by_change(self.groups, change)


def split_reductions_of_block(
    block: Block, evaluator: ChangeEvaluator, processors: int
) -> None:
    """Split the reductions of a block where the cost model estimates fewer cycles."""
    groups, visited = evaluator.groups_of_block(block), set[Operation]()
    live_bytes, rules = StoredLiveBytes.of_groups(block, groups), KnownRules()
    for op in reversed(list(groups)):
        group = groups[op]
        if op in visited:
            continue
        visited.update(group)
        closure = producer_closure_of(group, operands_of(group), groups)
        for parts in (closure, [group]) if len(closure) > 1 else ([group],):
            scope = _ReductionScope(evaluator, parts, group, rules, live_bytes)
            change = scope.find_best_split(processors)
            if change is not None:
                visited.update(scope.operations)
                change(scope.operations)
                rules.clear()
            if change is not None or scope.is_limited_by_memory:
                break


@dataclass(frozen=True)
class GraphSplitKReductionsPass(ModulePass):
    """
    Split reductions into partial reductions that run in parallel, and combine their
    results (split-K), if the target has more processors than there are tiles of
    results, and its cost model estimates fewer cycles. Examples: a product of long rows
    with few columns, attention of one token to many, and the sum of a long vector.

    Partial results that depend on other reductions, such as the exponentials of a
    softmax, are rescaled by the correction factor of a cascade. A product then need not
    be stored for a reduction along its rows.

    Partial results, all of which are live at once, are as many as the peak memory of
    the program allows.
    """

    name = PASS_NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.read_from_module(op)
        trial, processors = (
            ChangeEvaluator.create_for_target(ctx, target, REASSOCIATION.min_gain),
            Engines.of(target).engine_count,
        )
        if trial is None or processors == 1:
            return
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    split_reductions_of_block(block, trial, processors)
        erase_dead_operations(op.body)
