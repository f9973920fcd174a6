"""Pareto-optimal labels of paths to a state of the partition search, without IR."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from tlf.support.partition.cost_model import Option
from tlf.support.partition.hidden_transfers import run_group_with_slack
from tlf.support.partition.objective import Objective
from tlf.support.partition.schedule import Schedule, Step
from tlf.support.partition.transitions import Transition

Rank = tuple[int, int, int, int]
"""Rank by the objective, then number of groups: the fewest if costs are equal."""


KEYS = (1 << 64) - 1
"""Bit mask of label keys."""

SLACKS = 4
"""
Maximum number of labels of a state, the best one and others that leave more slack.
"""


@dataclass(slots=True, eq=False)
class PathLabel:
    """Path to a search state: its cost so far, its last step, and the path before."""

    time: int
    bytes: int
    rank: Rank
    transition: Transition | None = None
    option: Option | None = None
    previous: PathLabel | None = None
    slack: int = 0
    """Cycles of prefetches of the next group that are hidden."""
    key: int = 0
    """Equal for paths with the same steps, in any order."""

    def labels_on_path(self) -> list[PathLabel]:
        """Return the labels on the path, this one last, without the start."""
        labels: list[PathLabel] = []
        label = self
        while label.previous is not None:
            labels.append(label)
            label = label.previous
        return labels[::-1]

    def to_schedule(self) -> Schedule:
        """Return the steps of the path from the start to this label as a schedule."""
        steps = tuple(
            Step(label.transition.group, label.transition.context, label.option)
            for label in self.labels_on_path()
            if label.transition is not None and label.option is not None
        )
        return Schedule(steps, self.time, self.bytes)


START = PathLabel(0, 0, (0, 0, 0, 0))
"""Label of the start, with no operation done."""


@dataclass(frozen=True)
class ParetoFronts:
    """
    Pareto-optimal labels of each state, not dominated in both time and bytes: the
    `size` best of them in order of rank, as in multi-criteria shortest-path searches
    (Martins 1984). The cost from a state on does not depend on the path to it, so
    dominated labels never win later. It does depend on the slack: if only the best
    label is kept, a few labels that leave more slack are kept, too.

    If `max_paths` is more than 1, that many of the best labels are kept instead,
    dominated or not; of labels with the same steps only the best one.
    """

    objective: Objective
    size: int
    max_paths: int = 1

    def extend_label(
        self, label: PathLabel, transition: Transition, option: Option
    ) -> PathLabel:
        """
        Return a new label: `label` extended by a transition that runs a group by
        `option`.
        """
        time, slack = run_group_with_slack(label.slack, option)
        time, bytes_ = label.time + time, label.bytes + option.bytes
        rank = (*self.objective.sort_key_of_cost(time, bytes_), label.rank[3] + 1)
        return PathLabel(time, bytes_, rank, transition, option, label, slack)

    def append_extended_labels(
        self, front: list[PathLabel], labels: list[PathLabel], transition: Transition
    ) -> None:
        """
        Append each label extended by each option of a transition to `front`, unpruned.
        """
        front += [
            self.extend_label(label, transition, option)
            for label in labels
            for option in transition.outcome.options
        ]

    def insert_extended_labels(
        self, front: list[PathLabel], labels: list[PathLabel], transition: Transition
    ) -> None:
        """Insert the labels extended by a transition into the front of its target."""
        options = transition.outcome.options
        for label in labels:
            for option in options:
                time, slack = run_group_with_slack(label.slack, option)
                time, bytes_ = label.time + time, label.bytes + option.bytes
                rank = (
                    *self.objective.sort_key_of_cost(time, bytes_),
                    label.rank[3] + 1,
                )
                if self.max_paths > 1:
                    if len(front) < self.max_paths or rank < front[-1].rank:
                        key = label.key + hash(
                            (transition.group, *transition.context.residency_sets)
                        )
                        extended = PathLabel(
                            time, bytes_, rank, transition, option, label, slack
                        )
                        extended.key = key & KEYS
                        self._insert_by_rank(front, extended)
                    continue
                extended = PathLabel(
                    time, bytes_, rank, transition, option, label, slack
                )
                if self.size > 1 and front:
                    self._insert_by_dominance(front, extended)
                else:
                    self.insert_by_slack(front, extended)

    def insert_by_slack(self, front: list[PathLabel], label: PathLabel) -> None:
        """Insert a label unless another one is as good, including its slack."""
        if any(self._is_dominating_with_slack(other, label) for other in front):
            return
        front[:] = [
            other for other in front if not self._is_dominating_with_slack(label, other)
        ]
        insort(front, label, key=lambda each: each.rank)
        del front[SLACKS:]

    def _is_dominating_with_slack(
        self, label: PathLabel, other_label: PathLabel
    ) -> bool:
        """
        Return `True` if the missing slack of one label, compared to the other, cannot
        cost more than it saves.
        """
        missing = self.objective.time * max(0, other_label.slack - label.slack)
        return (label.rank[0] + missing, *label.rank[1:]) <= other_label.rank

    def _insert_by_rank(self, front: list[PathLabel], label: PathLabel) -> None:
        """
        Insert a label into `front`, which keeps the best of each key, sorted and
        limited.
        """
        for index, other in enumerate(front):
            if other.key == label.key:
                if other.rank <= label.rank:
                    return
                del front[index]
                break
        insort(front, label, key=lambda each: each.rank)
        del front[self.max_paths :]

    def _insert_by_dominance(self, front: list[PathLabel], label: PathLabel) -> None:
        """
        Insert a label into a front unless another one dominates it; drop labels that it
        dominates, and all but the `size` best by rank.
        """
        time, bytes_ = label.time, label.bytes
        for other in front:
            if (
                other.time <= time
                and other.bytes <= bytes_
                and other.rank <= label.rank
            ):
                return
        front[:] = [
            other for other in front if other.time < time or other.bytes < bytes_
        ]
        front.append(label)
        front.sort(key=lambda each: each.rank)
        del front[self.size :]
