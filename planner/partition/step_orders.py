"""Orders of a schedule with two neighbouring independent steps swapped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlf.support.partition import Context, CostModel, Problem, Schedule, Step, members


@dataclass(frozen=True)
class StepOrders:
    """
    Schedules with two neighbouring independent steps swapped. What is retained before
    both and behind both stays the same.
    """

    problem: Problem
    costs: CostModel

    def swap_neighbours(self, way: Schedule) -> Iterator[Schedule]:
        """The schedules with two neighbouring steps exchanged."""
        before = 0
        for number in range(len(way.steps) - 1):
            first, second = way.steps[number : number + 2]
            between = self._resident_after(before, first)
            behind = self._resident_after(between, second)
            if not self._writes(first.group) & self._reads(second.group):
                made = self._swap_steps(before, behind, first, second)
                if made is not None:
                    yield Schedule.of(
                        (*way.steps[:number], *made, *way.steps[number + 2 :])
                    )
            before = between

    def _swap_steps(
        self, before: int, behind: int, first: Step, second: Step
    ) -> tuple[Step, Step] | None:
        """Two steps the other way round, or None where one of them cannot run."""
        there = before | self._reads_and_writes(second.group)
        read = before | self._resident_after(before, first)
        between = there & (behind | (read & self._reads(first.group)))
        earlier = self._move_step(second, before, between)
        later = self._move_step(first, between, behind)
        if earlier is None or later is None:
            return None
        return earlier, later

    def _move_step(self, step: Step, before: int, after: int) -> Step | None:
        """
        A step where other values are in the level, with its plan if that is among the
        best ones, or None where it cannot run.
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
        found = 0
        for number in members(group):
            found |= sets[number]
        return found
