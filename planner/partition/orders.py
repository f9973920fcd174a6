"""Other orders of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlf.support.partition import Context, Costs, Problem, Schedule, Step, members


@dataclass(frozen=True)
class Orders:
    """
    Exchanges steps of a schedule that follow each other and hand nothing on to each
    other. What is retained before both and behind both stays the same.
    """

    problem: Problem
    costs: Costs

    def around(self, way: Schedule) -> Iterator[Schedule]:
        """The schedules with two neighbouring steps exchanged."""
        before = 0
        for number in range(len(way.steps) - 1):
            first, second = way.steps[number : number + 2]
            between = self._after(before, first)
            behind = self._after(between, second)
            if not self._writes(first.group) & self._reads(second.group):
                made = self._exchanged(before, behind, first, second)
                if made is not None:
                    yield Schedule.of(
                        (*way.steps[:number], *made, *way.steps[number + 2 :])
                    )
            before = between

    def _exchanged(
        self, before: int, behind: int, first: Step, second: Step
    ) -> tuple[Step, Step] | None:
        """Two steps the other way round, or None where one of them cannot run."""
        there = before | self._touched(second.group)
        read = before | self._after(before, first)
        between = there & (behind | (read & self._reads(first.group)))
        earlier = self._moved(second, before, between)
        later = self._moved(first, between, behind)
        if earlier is None or later is None:
            return None
        return earlier, later

    def _moved(self, step: Step, before: int, after: int) -> Step | None:
        """
        A step where other values are in the level, with its plan if that is among the
        best ones, or None where it cannot run.
        """
        touched = self._touched(step.group)
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

    def _after(self, before: int, step: Step) -> int:
        """Return the values in the level after a step."""
        return (before & ~self._touched(step.group)) | step.context.kept

    def _reads(self, group: int) -> int:
        """Return the values that a group reads from others."""
        read = self._all(self.problem.reads, group)
        return read & ~self._writes(group)

    def _writes(self, group: int) -> int:
        return self._all(self.problem.writes, group)

    def _touched(self, group: int) -> int:
        return self._reads(group) | self._writes(group)

    def _all(self, sets: tuple[int, ...], group: int) -> int:
        found = 0
        for number in members(group):
            found |= sets[number]
        return found
