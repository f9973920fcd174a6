"""Reducing parts of long axes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import DeadCodeElimination

from tlf.dialects import graph
from tlf.dialects.interfaces import TilingInterface
from tlf.dialects.target import Target
from tlf.passes.analysis.engines import Engines
from tlf.passes.fusion.grouping import Groups
from tlf.passes.fusion.leading import Part, leading_to, read_by
from tlf.passes.splitting.counts import counts_for
from tlf.passes.splitting.split import Reductions
from tlf.passes.sums.trial import Trial, in_order

NAME = "graph-split-reductions"

PATIENCE = 2
"""After so many numbers of parts that are no better, no more are tried."""


@dataclass
class _Splitting:
    """Splits reductions of a block where that takes less time."""

    trial: Trial
    processors: int
    groups: Groups
    done: set[Operation] = field(default_factory=set[Operation])

    def run(self) -> None:
        """Go through the groups of the block, the last one first."""
        for op in reversed(list(self.groups)):
            group = self.groups[op]
            if op in self.done:
                continue
            self.done.update(group)
            self._try(group)

    def _try(self, group: Part) -> None:
        """Split what a group reduces, and all that computes for it, if that pays."""
        near = leading_to(group, read_by(group), self.groups)
        scopes = [_Scope(self.trial, near, group), _Scope(self.trial, [group], group)]
        if len(near) > 1:
            scopes.insert(0, _Scope(self.trial, near))
        found = [scope.best(self.processors) for scope in scopes]
        saved, count, scope = max(found, key=lambda each: each[0])
        if saved > 0:
            scope.split(count)
            self.done.update(scope.operations)


@dataclass
class _Scope:
    """Groups whose operations may be split along an axis that one of them reduces."""

    trial: Trial
    parts: Sequence[Part]
    reduced: Part | None = None
    """What reduces; all if not given."""

    @cached_property
    def operations(self) -> Sequence[TilingInterface]:
        """All of them, in program order."""
        return in_order([op for part in self.parts for op in part])

    @property
    def places(self) -> tuple[int, ...]:
        """Which operations reduce."""
        inside = set(self.operations if self.reduced is None else self.reduced)
        return tuple(n for n, op in enumerate(self.operations) if op in inside)

    def best(self, processors: int) -> tuple[int, int, _Scope]:
        """The most cycles that are saved by numbers of parts, and by which."""
        best, patience = (0, 1, self), PATIENCE
        if (found := _reductions(self.operations, self.places)) is None:
            return best
        for count in counts_for(found, processors):
            change = partial(_split, places=self.places, count=count)
            saved = self.trial.saved(self.parts, change, (self.places, count))
            patience = PATIENCE if saved > best[0] else patience - 1
            best = max(best, (saved, count, self), key=lambda each: each[0])
            if not patience:
                break
        return best

    def split(self, count: int) -> None:
        """Split them, and note that."""
        found = _reductions(self.operations, self.places)
        assert found is not None
        op = found.first.op
        name, extent = op.name.removeprefix("graph."), found.extent
        text = f"{name} is computed of {count} parts of {extent} elements, then of all"
        graph.remark(op, NAME, "passed", text)
        found.split(count)


def _reductions(
    operations: Sequence[TilingInterface], places: Sequence[int]
) -> Reductions | None:
    """What those of some operations reduce that are at given places."""
    return Reductions.of([operations[n] for n in places], operations)


def _split(
    operations: Sequence[TilingInterface], places: Sequence[int], count: int
) -> bool:
    found = _reductions(operations, places)
    return found is not None and found.split(count)


def split(block: Block, trial: Trial, processors: int) -> None:
    """Split reductions of a block where that takes less time."""
    _Splitting(trial, processors, trial.groups(block)).run()


@dataclass(frozen=True)
class GraphSplitReductionsPass(ModulePass):
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
