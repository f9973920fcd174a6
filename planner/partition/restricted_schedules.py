"""Candidate schedules of a block: the best ones on targets with less of a resource."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from tlf.dialects.target import TargetSpec
from tlf.planner.partition.group_cost_model import GroupCosts
from tlf.support.partition import (
    Objective,
    Option,
    ResidencyContext,
    Schedule,
)

FindOption = Callable[[int, ResidencyContext, Option], Option | None]
"""Returns another option of a group in a context, or None if there is none."""


@dataclass(frozen=True)
class RestrictedSchedule:
    """The best schedule of a target with less of a resource."""

    target: TargetSpec
    """Target with less of the resource."""
    time: int
    """Cycles on this target by the cost model."""
    schedule: Schedule
    """Schedule with its cost on the whole target."""


@dataclass(frozen=True)
class RestrictedScheduleSearch:
    """
    Search for the best of some schedules on targets with less of a resource, with the
    best plans there. With less of a resource nothing is faster: a plan of equal cost
    remains the best, and schedules slower than the best one found are skipped.
    """

    costs: GroupCosts
    objective: Objective
    schedules: Sequence[Schedule]
    """Schedules of the whole target, the best first."""

    def find_best_on(self, target: TargetSpec) -> RestrictedSchedule | None:
        """Return the best schedule of a target, or None if none has plans there."""
        find_option = _best_option_by(self.costs.on_target(target))
        best: Schedule | None = None
        for schedule in self.schedules:
            if best is not None and self._rank(schedule) >= self._rank(best):
                break
            found = _replace_options(schedule, find_option)
            if found is not None and (
                best is None or self._rank(found) < self._rank(best)
            ):
                best = found
        if best is None:
            return None
        # On a copy, so that these plans are no candidates of other searches.
        costs = self.costs.on_target(self.costs.target)
        schedule = _replace_options(best, costs.option_of_equal_plan)
        return schedule and RestrictedSchedule(target, best.time, schedule)

    def _rank(self, schedule: Schedule) -> int:
        return self.objective.sort_key_of_cost(schedule.time, schedule.bytes)[0]


def _best_option_by(costs: GroupCosts) -> FindOption:
    """
    Return a function that returns the best option of a group by a cost model, given
    the best one with more of a resource.
    """
    best_option_of = cache(costs.options_of_group)

    def find_option(
        group: int, context: ResidencyContext, option: Option
    ) -> Option | None:
        equal = costs.option_of_equal_plan(group, context, option)
        if equal is not None and equal.time == option.time:
            return equal
        return next(iter(best_option_of(group, context)), None)

    return find_option


def _replace_options(schedule: Schedule, find_option: FindOption) -> Schedule | None:
    """Return a schedule with other options of its steps; None if one has none."""
    steps = [
        replace(step, option=option)
        for step in schedule.steps
        if (option := find_option(step.group, step.context, step.option)) is not None
    ]
    return Schedule.of(steps) if len(steps) == len(schedule.steps) else None
