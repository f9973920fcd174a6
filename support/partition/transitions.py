"""
Transitions of the partition search, without IR: run a group, change the retained
values.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tlf.support.partition.cost_model import ResidencyContext
from tlf.support.partition.residency_outcomes import ResidencyOutcome, ResidencyOutcomes

State = tuple[int, int]
"""Values in the inner level, and those of them that are in no other level."""

NOTHING: State = (0, 0)
"""State with nothing retained."""


class Transition(NamedTuple):
    """Group that runs, with the contents of the inner level before and after."""

    group: int
    resident: int
    occupied_bytes: int
    outcome: ResidencyOutcome

    @property
    def context(self) -> ResidencyContext:
        """Residency context in which the transition runs its group."""
        return ResidencyContext(
            self.resident,
            self.outcome.retained,
            self.outcome.stored,
            self.occupied_bytes,
        )


@dataclass
class Transitions:
    """Enumeration of the transitions from the states of a downset."""

    outcomes: ResidencyOutcomes
    _sizes: dict[int, int] = field(default_factory=dict[int, int])

    def state_after_transition(self, state: State, transition: Transition) -> State:
        """Return the target state of a transition."""
        inputs = self.outcomes.memo.groups.boundary_of(transition.group).inputs
        untouched, outcome = state[0] & ~inputs, transition.outcome
        return untouched | outcome.retained, (untouched & state[1]) | outcome.dirty

    def transitions_to_run_group(
        self, group: int, done: int, states: Iterable[State]
    ) -> Iterator[tuple[State, Transition, State]]:
        """
        Yield the transitions that run a group next: state, transition, target state.
        """
        groups = self.outcomes.memo.groups
        inputs = groups.boundary_of(group).inputs
        uses = self.outcomes.future_uses(group, done | group)
        cached: dict[tuple[int, int, int], list[ResidencyOutcome]] = {}
        for state in states:
            retained, only = state
            untouched = retained & ~inputs
            if (occupied := self._sizes.get(untouched)) is None:
                occupied = self._sizes[untouched] = groups.problem.size_of(untouched)
            local = (retained & inputs, only & inputs, occupied)
            if (outcomes := cached.get(local)) is None:
                outcomes = cached[local] = self.outcomes.outcomes_of(
                    group, uses, *local
                )
            for outcome in outcomes:
                after = (
                    untouched | outcome.retained,
                    (only & untouched) | outcome.dirty,
                )
                yield state, Transition(group, local[0], occupied, outcome), after
