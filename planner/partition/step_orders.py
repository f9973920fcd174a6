"""
Candidate orders of the partition search: two neighbouring independent steps swapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlf.support.partition import Context, CostModel, Problem, Schedule, Step, members


@dataclass(frozen=True)
class StepOrders:
    """
    Schedules with two neighbouring independent steps swapped. The values retained
    before and after both steps stay the same.
    """

    problem: Problem
    costs: CostModel

    def swap_neighbours(self, way: Schedule) -> Iterator[Schedule]:
        """Yield the schedules with two neighbouring steps swapped."""
        before = 0
        for index in range(len(way.steps) - 1):
            first, second = way.steps[index : index + 2]
            between = self._resident_after(before, first)
            after = self._resident_after(between, second)
            if not self._writes(first.group) & self._reads(second.group):
                swapped = self._swap_steps(before, after, first, second)
                if swapped is not None:
                    yield Schedule.of(
                        (*way.steps[:index], *swapped, *way.steps[index + 2 :])
                    )
            before = between

    def _swap_steps(
        self, before: int, behind: int, first: Step, second: Step
    ) -> tuple[Step, Step] | None:
        """Return two steps in swapped order, or None if one of them cannot run."""
        available = before | self._reads_and_writes(second.group)
        resident_inputs = before | self._resident_after(before, first)
        between = available & (behind | (resident_inputs & self._reads(first.group)))
        moved_second = self._move_step(second, before, between)
        moved_first = self._move_step(first, between, behind)
        if moved_second is None or moved_first is None:
            return None
        return moved_second, moved_first

    def _move_step(self, step: Step, before: int, after: int) -> Step | None:
        """
        Return a step with other values resident around it, with its plan if that is
        among the best ones, or None if it cannot run.
        """
        touched = self._reads_and_writes(step.group)
        context = Context(
            before & self._reads(step.group),
            after & touched,
            step.context.stored,
            self.problem.size_of(before & after & ~touched),
        )
        if context == step.context:
            return step
        options = self.costs.options(step.group, context)
        same = (each for each in options if each.plan == step.option.plan)
        option = next(same, options[0] if options else None)
        return None if option is None else Step(step.group, context, option)

    def _resident_after(self, before: int, step: Step) -> int:
        """Return the values in the level after a step."""
        return (before & ~self._reads_and_writes(step.group)) | step.context.retained

    def _reads(self, group: int) -> int:
        """Return the values that a group reads from others."""
        read = self._union_over(self.problem.reads, group)
        return read & ~self._writes(group)

    def _writes(self, group: int) -> int:
        return self._union_over(self.problem.writes, group)

    def _reads_and_writes(self, group: int) -> int:
        return self._reads(group) | self._writes(group)

    def _union_over(self, sets: tuple[int, ...], group: int) -> int:
        result = 0
        for index in members(group):
            result |= sets[index]
        return result
