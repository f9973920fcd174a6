"""
Planning context of a compilation: memo of cost estimates, and evaluator of candidates
by trial lowering.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any, Protocol, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tlf.dialects.target import TargetSpec


class Evaluator(Protocol):
    """
    Cost evaluation of whole modules by trial lowering, in place, on one target.

    An evaluator lowers the given module in place and returns the cycles of its
    functions by the event model, or None if the module cannot be lowered or its cycles
    are unknown. Its results are memoized across modules. Its budget is a number of
    instructions over all modules, not a time, so that results do not depend on the
    machine.
    """

    def with_innermost_plans_for(self, target: TargetSpec) -> Evaluator:
        """
        Return an evaluator on the same target that selects the innermost plans of
        groups that it lowers as for another one, with less of a resource.
        """
        ...

    def evaluate_outermost_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles of a module of groups for the outermost level."""
        ...

    def evaluate_innermost_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles of a module of groups for the innermost level."""
        ...

    def evaluate_planned_groups(self, module: ModuleOp) -> int | None:
        """Return the cycles of a module whose groups have plans for that level."""
        ...


class Memo:
    """
    Results of planning during one compilation. Each table holds the results of groups
    by their structure, under one set of circumstances.
    """

    def __init__(self) -> None:
        self._tables: defaultdict[Hashable, dict[Hashable, Any]] = defaultdict(dict)

    def results_table_for(self, *circumstances: Hashable) -> dict[Hashable, Any]:
        """Return the table for some circumstances, which is initially empty."""
        return self._tables[circumstances]


EvaluatorFactory: TypeAlias = Callable[[TargetSpec, int, Memo], Evaluator]
"""Factory of an evaluator for a target, with a maximum number of instructions."""


class PlanningContext(Context):
    """
    Context that gives passes the memo of the compilation, and an evaluator if its owner
    provides one.
    """

    def __init__(
        self,
        allow_unregistered: bool = False,
        evaluator: EvaluatorFactory | None = None,
        memo: Memo | None = None,
    ) -> None:
        super().__init__(allow_unregistered)
        self.evaluator = evaluator
        self.memo = Memo() if memo is None else memo


def memo_of(context: Context) -> Memo:
    """Return the memo of a context, or an empty one if the context has none."""
    return context.memo if isinstance(context, PlanningContext) else Memo()


def evaluator_of(
    context: Context, target: TargetSpec, max_instructions: int
) -> Evaluator | None:
    """
    Return an evaluator on a target that runs at most `max_instructions` instructions,
    or None if the context has none.
    """
    if not isinstance(context, PlanningContext) or context.evaluator is None:
        return None
    return context.evaluator(target, max_instructions, context.memo)
