"""
Search for schedules of groups, without IR: candidates with two neighbouring independent
steps swapped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tlf.support.partition import (
    CostModel,
    PartitionProblem,
    ResidencyContext,
    Schedule,
    Step,
    elements_of_mask,
)


@dataclass(frozen=True)
class StepOrders:
    """
    Schedules with two neighbouring independent steps swapped. The values retained
    before and after both steps stay the same.
    """

    problem: PartitionProblem
    cost_model: CostModel

    def schedules_with_swapped_steps(self, schedule: Schedule) -> Iterator[Schedule]:
        """Yield copies of a schedule with two independent adjacent steps swapped."""
        before = 0
        for index in range(len(schedule.steps) - 1):
            first, second = schedule.steps[index : index + 2]
            between = self._resident_after_step(before, first)
            after = self._resident_after_step(between, second)
            if not self._values_written_by(first.group) & self._values_read_by(
                second.group
            ):
                swapped = self._swap_steps(before, after, first, second)
                if swapped is not None:
                    yield Schedule.of(
                        (
                            *schedule.steps[:index],
                            *swapped,
                            *schedule.steps[index + 2 :],
                        )
                    )
            before = between

    def _swap_steps(
        self,
        resident_before: int,
        resident_after: int,
        earlier_step: Step,
        later_step: Step,
    ) -> tuple[Step, Step] | None:
        """Return two steps in swapped order, or None if one of them cannot run."""
        available = resident_before | self._values_accessed_by(later_step.group)
        resident_inputs = resident_before | self._resident_after_step(
            resident_before, earlier_step
        )
        between = available & (
            resident_after
            | (resident_inputs & self._values_read_by(earlier_step.group))
        )
        moved_second = self._step_with_residency(later_step, resident_before, between)
        moved_first = self._step_with_residency(earlier_step, between, resident_after)
        if moved_second is None or moved_first is None:
            return None
        return moved_second, moved_first

    def _step_with_residency(
        self, step: Step, resident_before: int, resident_after: int
    ) -> Step | None:
        """
        Return a step with other values resident around it, with its plan if that is
        among the best ones, or None if it cannot run.
        """
        touched = self._values_accessed_by(step.group)
        context = ResidencyContext(
            resident_before & self._values_read_by(step.group),
            resident_after & touched,
            step.context.stored,
            self.problem.size_of(resident_before & resident_after & ~touched),
        )
        if context == step.context:
            return step
        options = self.cost_model.options_of_group(step.group, context)
        same = (each for each in options if each.plan == step.option.plan)
        option = next(same, options[0] if options else None)
        return None if option is None else Step(step.group, context, option)

    def _resident_after_step(self, resident_before: int, step: Step) -> int:
        """Return the values in the level after a step."""
        return (
            resident_before & ~self._values_accessed_by(step.group)
        ) | step.context.retained

    def _values_read_by(self, group: int) -> int:
        """Return the values that a group reads from others."""
        read = self._union_over_operations(self.problem.reads, group)
        return read & ~self._values_written_by(group)

    def _values_written_by(self, group: int) -> int:
        return self._union_over_operations(self.problem.writes, group)

    def _values_accessed_by(self, group: int) -> int:
        return self._values_read_by(group) | self._values_written_by(group)

    def _union_over_operations(
        self, sets_by_operation: tuple[int, ...], group: int
    ) -> int:
        """
        Return the union, as a bit mask, of the value sets of the operations in `group`.
        """
        result = 0
        for index in elements_of_mask(group):
            result |= sets_by_operation[index]
        return result
