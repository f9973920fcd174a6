"""Reducing parts of long axes side by side."""

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

from tlf.analysis.work.engines import Engines
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.target import Target
from tlf.passes.graph.reassociate.exposing import rewritten
from tlf.passes.graph.reassociate.rules import rule_for
from tlf.passes.graph.reassociate.trial import Trial
from tlf.passes.graph.split_reductions.counts import climb, counts_for, tiles_of
from tlf.passes.graph.split_reductions.split import Reductions, longest
from tlf.planner.fusion.leading import (
    OPERATIONS,
    Part,
    leading_to,
    operations_of,
    read_by,
)

NAME = "graph-split-k-reductions"

FAR = 0.125
"""Fraction of the time: if one number of parts loses as much, others are not tried."""


class Way(Enum):
    """Choice of the reductions to split, in a group and the groups that feed it."""

    ALONE = auto()
    """Those of that group."""
    TOGETHER = auto()
    """All of them."""
    EXPOSED = auto()
    """All of them, once sums are written so that they run in one loop."""


@dataclass(frozen=True)
class _Change:
    """Splits reductions of some operations."""

    way: Way
    places: tuple[int, ...]
    """Indices of the operations that belong to the group."""
    count: int
    """Number of parts."""

    def is_possible(self, operations: Sequence[TilingInterface]) -> bool:
        """
        Return `True` if there are such reductions, as far as that is known in advance.
        """
        return self.way is Way.EXPOSED or self._reductions(operations) is not None

    def _reductions(self, operations: Sequence[TilingInterface]) -> Reductions | None:
        if self.way is not Way.ALONE:
            return Reductions.of(operations, operations, expands=False)
        return Reductions.of([operations[n] for n in self.places], operations)

    def __call__(self, operations: Sequence[TilingInterface]) -> bool:
        if self.way is Way.EXPOSED:
            operations = rewritten(operations)
        if (found := self._reductions(operations)) is None:
            return False
        name = found.first.op.name.removeprefix("graph.")
        text = f"{name} of {found.extent} elements is computed of {self.count} parts"
        graph.remark(found.first.op, NAME, "passed", text)
        return found.split(self.count)


@dataclass
class _Scope:
    """Groups that compute for one of them, which reduces an axis."""

    trial: Trial
    parts: Sequence[Part]
    group: Part

    @cached_property
    def operations(self) -> Sequence[TilingInterface]:
        """All of them, in program order."""
        return operations_of(self.parts)

    def _is_worth_it(self, processors: int) -> bool:
        """
        Return `True` if a part that reduces leaves processors idle, or the group reads
        the result of a product from memory.
        """
        if len(self.operations) > OPERATIONS:
            return False
        if not any(isinstance(op, ContractionInterface) for op in self.group) and any(
            isinstance(op, ContractionInterface) for op in self.operations
        ):
            return True
        reducing = (part for part in self.parts if _reduces(part))
        programs = (self.trial.programs(part) for part in reducing)
        return any(each < processors for each in programs)

    def ways(self) -> Iterator[Sequence[Way]]:
        """
        Yield the ways in which reductions may be split, the more promising ones first.
        """
        exposed = [Way.EXPOSED] if any(map(rule_for, self.operations)) else []
        together = [Way.TOGETHER] if len(self.parts) > 1 else []
        yield [*together, *exposed]
        yield [Way.ALONE]

    def best(self, processors: int) -> _Change | None:
        """The change that saves most, if one does."""
        if not self._is_worth_it(processors):
            return None
        inside = set(self.group)
        places = tuple(n for n, op in enumerate(self.operations) if op in inside)
        for ways in self.ways():
            changes = [_Change(way, places, 1) for way in ways]
            found = [self._counted(change, processors) for change in changes]
            if paying := [each for each in found if each is not None]:
                return max(paying, key=self._saved)
        return None

    def _counted(self, change: _Change, processors: int) -> _Change | None:
        """A change with the best number of parts, if there is one that pays."""
        if not change.is_possible(self.operations):
            return None
        operations = self.group if change.way is Way.ALONE else self.operations
        found = [op for op in operations if isinstance(op, AccumulatingInterface)]
        if not found:
            return None
        *_, last = found
        counts = counts_for(found, longest(last), processors)
        start = processors // tiles_of(found)
        least = -int(FAR * (self.trial.cycles(self.parts) or 0))
        best = climb(
            counts, start, lambda n: self._saved(replace(change, count=n)), least
        )
        return None if best is None else replace(change, count=best)

    def _saved(self, change: _Change) -> int:
        return self.trial.saved(self.parts, change)


def _reduces(part: Part) -> bool:
    return any(isinstance(op, AccumulatingInterface) for op in part)


def split(block: Block, trial: Trial, processors: int) -> None:
    """Split reductions of a block where that takes less time."""
    groups, done = trial.groups(block), set[Operation]()
    for op in reversed(list(groups)):
        group = groups[op]
        if op in done:
            continue
        done.update(group)
        near = leading_to(group, read_by(group), groups)
        for parts in (near, [group]) if len(near) > 1 else ([group],):
            scope = _Scope(trial, parts, group)
            change = scope.best(processors)
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
        if not Target.is_known(op):
            return
        target = Target.of(op)
        trial, processors = Trial.of(ctx, target), Engines.of(target).cores
        if trial is None or processors == 1:
            return
        for function in list(op.walk()):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                for block in function.body.blocks:
                    split(block, trial, processors)
        DeadCodeElimination().apply(ctx, op)
