"""What else could have run, and what the best schedule would have cost then."""

from __future__ import annotations

from dataclasses import dataclass

from tlf.passes.search.labels import Label, Rank
from tlf.passes.search.moves import NOTHING, Move, Moves, State
from tlf.passes.search.schedule import Alternative, Step
from tlf.passes.search.sweep import Sweep

ToGo = dict[State, Rank]
"""What it costs at least to do the rest from each state of a downset."""


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
        self._to_go: dict[int, ToGo] = {problem.everything: {NOTHING: (0, 0, 0, 0)}}
        for size in reversed(range(len(problem.nodes))):
            for done, states in self.sweep.layers[size].items():
                self._look_back(done, list(states))

    def along(self, end: Label, count: int) -> list[tuple[Alternative, ...]]:
        """The best few other choices at each step of the way to a label."""
        found: list[tuple[Alternative, ...]] = []
        done, state = 0, NOTHING
        for label in end.way():
            move = label.move
            assert move is not None
            assert label.before is not None
            others = self._others(done, state, move)
            found.append(tuple(_priced(each, label.before) for each in others[:count]))
            state = self._moves.after(state, move)
            done |= move.group
        return found

    def _look_back(self, done: int, states: list[State]) -> None:
        """Find what is to go from the states of a downset, from that of larger ones."""
        best = self._to_go[done] = {}
        for group in self.sweep.candidates.after(done):
            known = self._to_go.get(done | group, {})
            for state, move, target in self._moves.of(group, done, states):
                if target in known:
                    cost = self._cost(move, known[target])[0]
                    best[state] = min(best.get(state, cost), cost)

    def _cost(self, move: Move, rest: Rank) -> tuple[Rank, Step]:
        """What the best way to run a group costs, and all that comes after it."""
        objective = self.sweep.fronts.objective
        option = min(
            move.outcome.options, key=lambda each: objective.rank(each.time, each.bytes)
        )
        total, time, bytes_ = objective.rank(option.time, option.bytes)
        cost = (total + rest[0], time + rest[1], bytes_ + rest[2], 1 + rest[3])
        return cost, Step(move.group, move.context, option)

    def _others(self, done: int, state: State, chosen: Move) -> list[tuple[Rank, Step]]:
        """
        The best choice for each group that has an operation of the chosen one, and for
        the chosen one with other values retained; the cheapest first.
        """
        best: dict[int, tuple[Rank, Step]] = {}
        for group in self.sweep.candidates.after(done):
            if not group & chosen.group:
                continue
            known = self._to_go.get(done | group, {})
            for _, move, target in self._moves.of(group, done, [state]):
                if move == chosen or target not in known:
                    continue
                cost = self._cost(move, known[target])
                if group not in best or cost[0] < best[group][0]:
                    best[group] = cost
        return sorted(best.values(), key=lambda each: each[0])


def _priced(choice: tuple[Rank, Step], before: Label) -> Alternative:
    (_, time, bytes_, _), step = choice
    return Alternative(step, before.time + time, before.bytes + bytes_)
