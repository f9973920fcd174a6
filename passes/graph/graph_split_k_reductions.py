"""
Pass `graph-split-k-reductions`: splits long reductions into parallel partial ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from tlf.analysis.work.engine_throughput import Engines
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.target import TargetSpec
from tlf.passes.graph.reassociate.cascade_rewriting import rewrite_and_collect
from tlf.passes.graph.reassociate.change_evaluation import ChangeEvaluator
from tlf.passes.graph.reassociate.reassociation_rules import rule_for
from tlf.passes.graph.split_reductions.reduction_splitting import (
    SplittableReductions,
    longest_reduced_extent,
)
from tlf.passes.graph.split_reductions.split_counts import (
    candidate_split_counts,
    hill_climb_count,
    min_result_tiles,
)
from tlf.planner.fusion.producer_closure import (
    OPERATIONS,
    Part,
    operands_of,
    operations_in_order,
    producer_closure_of,
)

NAME = "graph-split-k-reductions"

MAX_LOSS = 0.125
"""
Fraction of the time: if one number of parts loses as much, others are not evaluated.
"""


class SplitScope(Enum):
    """
    Reductions to split: those of a group, also of its producers, or after exposing
    cascades.
    """

    GROUP = auto()
    """Those of that group."""
    WITH_PRODUCERS = auto()
    """All of them."""
    WITH_CASCADES = auto()
    """All of them, once sums are written so that they run in one loop."""


@dataclass(frozen=True)
class _SplitChange:
    """A rewrite that splits the reductions of some operations into parts."""

    scope: SplitScope
    group_indices: tuple[int, ...]
    """Indices of the operations that belong to the group."""
    count: int
    """Number of parts."""

    def is_possible(self, operations: Sequence[TilingInterface]) -> bool:
        """
        Return `True` if there are such reductions, as far as that is known in advance.
        """
        return (
            self.scope is SplitScope.WITH_CASCADES
            or self._find_reductions(operations) is not None
        )

    def _find_reductions(
        self, operations: Sequence[TilingInterface]
    ) -> SplittableReductions | None:
        if self.scope is not SplitScope.GROUP:
            return SplittableReductions.of(operations, operations, expands=False)
        return SplittableReductions.of(
            [operations[n] for n in self.group_indices], operations
        )

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        if self.scope is SplitScope.WITH_CASCADES:
            operations = rewrite_and_collect(operations)
        if (found := self._find_reductions(operations)) is None:
            return False
        name = found.first.op.name.removeprefix("graph.")
        text = f"{name} of {found.extent} elements is computed of {self.count} parts"
        graph.add_remark(found.first.op, NAME, "passed", text)
        return found.split_into(self.count)


@dataclass
class _ReductionScope:
    """Groups that compute for one of them, which reduces an axis."""

    evaluator: ChangeEvaluator
    groups: Sequence[Part]
    group: Part

    @cached_property
    def operations(self) -> Sequence[TilingInterface]:
        """All of them, in program order."""
        return operations_in_order(self.groups)

    def _is_profitable(self, processors: int) -> bool:
        """
        Return `True` if a reducing group leaves processors idle, or the group reads the
        result of a product from memory.
        """
        if len(self.operations) > OPERATIONS:
            return False
        if not any(isinstance(op, ContractionInterface) for op in self.group) and any(
            isinstance(op, ContractionInterface) for op in self.operations
        ):
            return True
        reducing = (part for part in self.groups if _has_reduction(part))
        programs = (self.evaluator.tile_count_of(part) for part in reducing)
        return any(each < processors for each in programs)

    def candidate_scopes(self) -> Iterator[Sequence[SplitScope]]:
        """Yield lists of split scopes, the more promising ones first."""
        exposed = (
            [SplitScope.WITH_CASCADES] if any(map(rule_for, self.operations)) else []
        )
        together = [SplitScope.WITH_PRODUCERS] if len(self.groups) > 1 else []
        yield [*together, *exposed]
        yield [SplitScope.GROUP]

    def find_best_change(self, processors: int) -> _SplitChange | None:
        """Return the change that saves most cycles, or None if none saves any."""
        if not self._is_profitable(processors):
            return None
        inside = set(self.group)
        places = tuple(n for n, op in enumerate(self.operations) if op in inside)
        for ways in self.candidate_scopes():
            changes = [_SplitChange(way, places, 1) for way in ways]
            found = [self._with_best_count(change, processors) for change in changes]
            if paying := [each for each in found if each is not None]:
                return max(paying, key=self._saved_cycles)
        return None

    def _with_best_count(
        self, change: _SplitChange, processors: int
    ) -> _SplitChange | None:
        """
        Return a change with the number of parts that saves most, or None if none pays.
        """
        if not change.is_possible(self.operations):
            return None
        operations = self.group if change.scope is SplitScope.GROUP else self.operations
        found = [op for op in operations if isinstance(op, AccumulatingInterface)]
        if not found:
            return None
        *_, last = found
        counts = candidate_split_counts(found, longest_reduced_extent(last), processors)
        start = processors // min_result_tiles(found)
        least = -int(MAX_LOSS * (self.evaluator.cycles_of(self.groups) or 0))
        best = hill_climb_count(
            counts, start, lambda n: self._saved_cycles(replace(change, count=n)), least
        )
        return None if best is None else replace(change, count=best)

    def _saved_cycles(self, change: _SplitChange) -> int:
        return self.evaluator.saved_cycles(self.groups, change)


def _has_reduction(part: Part) -> bool:
    return any(isinstance(op, AccumulatingInterface) for op in part)


def split_block_reductions(
    block: Block, trial: ChangeEvaluator, processors: int
) -> None:
    """Split reductions of a block where that takes less time."""
    groups, done = trial.groups_of_block(block), set[Operation]()
    for op in reversed(list(groups)):
        group = groups[op]
        if op in done:
            continue
        done.update(group)
        near = producer_closure_of(group, operands_of(group), groups)
        for parts in (near, [group]) if len(near) > 1 else ([group],):
            scope = _ReductionScope(trial, parts, group)
            change = scope.find_best_change(processors)
            if change is not None:
                done.update(scope.operations)
                change(scope.operations)
                break


@dataclass(frozen=True)
class GraphSplitKReductionsPass(ModulePass):
    """
    Reduce parts of an axis side by side, and then what they come to, where results are
    too few to keep the processors of the target busy otherwise, and that takes less
    time by its model: a product of long rows and few columns, attention of one token to
    many, or the sum of a long vector. What depends on other reductions, as the
    exponentials of a softmax do, is corrected by the factor that a loop would correct
    it by. So a product need not be in memory for what is reduced along its rows.
    """

    name = NAME

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not TargetSpec.is_attached_to(op):
            return
        target = TargetSpec.of(op)
        trial, processors = ChangeEvaluator.of(ctx, target), Engines.of(target).cores
        if trial is None or processors == 1:
            return
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    split_block_reductions(block, trial, processors)
        DeadCodeElimination().apply(ctx, op)
