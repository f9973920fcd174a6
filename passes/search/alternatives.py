"""What else could have run, and what the best schedule would have cost then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tlf.passes.search.costs import Option
from tlf.passes.search.labels import Label, Rank
from tlf.passes.search.moves import NOTHING, Move, Moves, State
from tlf.passes.search.schedule import Alternative, Step
from tlf.passes.search.slack import total_time
from tlf.passes.search.sweep import Sweep


class Rest(NamedTuple):
    """A way to the end: what it costs if all early moves are hidden, and its steps."""

    rank: Rank = (0, 0, 0, 0)
    option: Option | None = None
    rest: Rest | None = None

    @property
    def options(self) -> Iterator[Option]:
        """How groups run on the way."""
        here: Rest | None = self
        while here is not None and here.option is not None:
            yield here.option
            here = here.rest


ToGo = dict[State, Rest]
"""The best way to do the rest from each state of a downset."""


@dataclass
class Alternatives:
    """
    Prices other choices at each step of a schedule: what was spent before, the choice,
    and the best way to the end from there. This takes a second sweep, back from the
    end over the states that the first one visited.
    """

    sweep: Sweep

    def __post_init__(self) -> None:
        problem = self.sweep.memo.groups.problem
        self._moves = Moves(self.sweep.outcomes)
        self._to_go: dict[int, ToGo] = {problem.everything: {NOTHING: Rest()}}
        for size in reversed(range(len(problem.nodes))):
            for done, states in self.sweep.layers[size].items():
                self._look_back(done, list(states))

    def along(self, end: Label, count: int) -> list[tuple[Alternative, ...]]:
        """The best few other choices at each step of the way to a label."""
        found: list[tuple[Alternative, ...]] = []
        done, payload, state = 0, 0, NOTHING
        for label in end.way():
            move = label.move
            assert move is not None
            assert label.option is not None
            assert label.before is not None
            others = self._others(done, state, move)[:count]
            found.append(tuple(_priced(o, label.before, payload) for o in others))
            state = self._moves.after(state, move)
            payload += label.option.payload
            done |= move.group
        return found

    def _look_back(self, done: int, states: list[State]) -> None:
        """Find what is to go from the states of a downset, from that of larger ones."""
        best = self._to_go[done] = {}
        for group in self.sweep.candidates.after(done):
            known = self._to_go.get(done | group, {})
            for state, move, target in self._moves.of(group, done, states):
                if target in known:
                    way = self._way(move, known[target])
                    if state not in best or way.rank < best[state].rank:
                        best[state] = way

    def _way(self, move: Move, rest: Rest) -> Rest:
        """The best way to run a group, and all that comes after it."""
        objective = self.sweep.fronts.objective
        option = min(
            move.outcome.options, key=lambda each: objective.rank(each.time, each.bytes)
        )
        total, time, bytes_ = objective.rank(option.time, option.bytes)
        later, after, moved, groups = rest.rank
        rank = (total + later, time + after, bytes_ + moved, groups + 1)
        return Rest(rank, option, rest)

    def _others(self, done: int, state: State, chosen: Move) -> list[tuple[Rest, Move]]:
        """
        The best choice for each group that has an operation of the chosen one, and for
        the chosen one with other values retained; the cheapest first.
        """
        best: dict[int, tuple[Rest, Move]] = {}
        for group in self.sweep.candidates.after(done):
            if not group & chosen.group:
                continue
            known = self._to_go.get(done | group, {})
            for _, move, target in self._moves.of(group, done, [state]):
                if move == chosen or target not in known:
                    continue
                way = self._way(move, known[target])
                if group not in best or way.rank < best[group][0].rank:
                    best[group] = way, move
        return sorted(best.values(), key=lambda each: each[0].rank)


def _priced(choice: tuple[Rest, Move], before: Label, payload: int) -> Alternative:
    """A choice behind a way of so much payload."""
    way, move = choice
    assert way.option is not None
    step = Step(move.group, move.context, way.option)
    time = total_time(way.options, before.slack)
    payload += sum(option.payload for option in way.options)
    return Alternative(step, before.time + time, payload)
