"""Transitions of the search: run a group, and change what is retained."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tlf.support.partition.cost_model import Context
from tlf.support.partition.residency_outcomes import Outcome, Outcomes

State = tuple[int, int]
"""The values in the retained memory, and those of them that are nowhere else."""

NOTHING: State = (0, 0)
"""Nothing is retained."""


class Transition(NamedTuple):
    """A group that runs, with what is in memory before and after."""

    group: int
    resident: int
    taken: int
    outcome: Outcome

    @property
    def context(self) -> Context:
        """Contents of the memory around the group."""
        return Context(
            self.resident, self.outcome.retained, self.outcome.stored, self.taken
        )


@dataclass
class Transitions:
    """Finds the moves from the states of a downset, and where they lead."""

    outcomes: Outcomes
    _sizes: dict[int, int] = field(default_factory=dict[int, int])

    def next_state(self, state: State, move: Transition) -> State:
        """Return the state that a move leads to."""
        inputs = self.outcomes.memo.groups.boundary(move.group).inputs
        others, outcome = state[0] & ~inputs, move.outcome
        return others | outcome.retained, (others & state[1]) | outcome.dirty

    def transitions_of(
        self, group: int, done: int, states: Iterable[State]
    ) -> Iterator[tuple[State, Transition, State]]:
        """The moves that run a group next."""
        groups = self.outcomes.memo.groups
        inputs = groups.boundary(group).inputs
        fates = self.outcomes.future_uses(group, done | group)
        known: dict[tuple[int, int, int], list[Outcome]] = {}
        for state in states:
            retained, only = state
            others = retained & ~inputs
            if (taken := self._sizes.get(others)) is None:
                taken = self._sizes[others] = groups.problem.size_of(others)
            local = (retained & inputs, only & inputs, taken)
            if (outcomes := known.get(local)) is None:
                outcomes = known[local] = self.outcomes.outcomes_of(
                    group, fates, *local
                )
            for outcome in outcomes:
                after = (others | outcome.retained, (only & others) | outcome.dirty)
                yield state, Transition(group, local[0], taken, outcome), after
