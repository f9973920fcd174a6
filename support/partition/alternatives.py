"""Alternatives to the groups of the best schedule, and the best cost with each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from tlf.support.partition.costs import Option
from tlf.support.partition.labels import Label
from tlf.support.partition.moves import NOTHING, Move, Moves, State
from tlf.support.partition.schedule import Alternative, Step
from tlf.support.partition.slack import total_time
from tlf.support.partition.sweep import Sweep
from tlf.support.partition.to_go import Onward, Place, ToGo


@dataclass
class Alternatives:
    """
    Prices other choices at each step of a schedule: what was spent before, the choice,
    and the best way to the end from there. This takes a second sweep, back from the
    end over the states that the first one visited. Where that one bounded what groups
    cost, only what may be among the best is priced.
    """

    sweep: Sweep

    def __post_init__(self) -> None:
        problem = self.sweep.memo.groups.problem
        self._moves = Moves(self.sweep.outcomes)
        self._to_go = ToGo(
            self.sweep.memo, self.sweep.fronts.objective, problem.everything
        )
        for size in reversed(range(len(problem.nodes))):
            for done, states in self.sweep.layers[size].items():
                self._look_back(done, list(states))

    def along(self, end: Label, count: int) -> list[tuple[Alternative, ...]]:
        """The best few other choices at each step of the way to a label."""
        found: list[tuple[Alternative, ...]] = []
        # What comes later is settled first, so that ways to it end there.
        for label, place, payload in reversed(list(self._places(end))):
            assert label.move is not None
            assert label.before is not None
            others = self._others(place, label.move, count)
            found.append(
                tuple(self._priced(each, label.before, payload) for each in others)
            )
        return found[::-1]

    def _places(self, end: Label) -> Iterator[tuple[Label, Place, int]]:
        """The steps to a label, with where each starts and the payload until there."""
        done, payload, state = 0, 0, NOTHING
        for label in end.way():
            assert label.move is not None
            assert label.option is not None
            yield label, (done, state), payload
            state = self._moves.after(state, label.move)
            payload += label.option.payload
            done |= label.move.group

    def _look_back(self, done: int, states: Sequence[State]) -> None:
        """Find where to go from the states of a downset."""
        for group in self.sweep.candidates.after(done):
            after = done | group
            for state, move, target in self._moves.of(group, done, states):
                self._to_go.add((done, state), move, (after, target))
        for state in states:
            self._to_go.look_ahead((done, state))

    def _others(self, place: Place, chosen: Move, count: int) -> list[Onward]:
        """
        The best choice for each group that has an operation of the chosen one, and for
        the chosen one with other values retained; the cheapest first.
        """
        order: dict[int, int] = {}
        ways: list[tuple[tuple[int, ...], int, int, Onward]] = []
        for number, way in enumerate(self._to_go.onward(place)):
            move = way.move
            if move.group & chosen.group and move != chosen:
                first = order.setdefault(move.group, len(order))
                ways.append((self._to_go.rank(way), first, number, way))
        heapify(ways)
        best: dict[int, Onward] = {}
        while ways and len(best) < count:
            _, first, number, way = heappop(ways)
            if way.move.group in best:
                continue
            if self._to_go.is_settled(way):
                best[way.move.group] = way
            elif self._to_go.settle(way):
                heappush(ways, (self._to_go.rank(way), first, number, way))
        return list(best.values())

    def _priced(self, way: Onward, before: Label, payload: int) -> Alternative:
        """A choice behind a way of so much payload."""
        move, options = way.move, self._options(way)
        step = Step(move.group, move.context, way.option)
        time = total_time(options, before.slack)
        payload += sum(option.payload for option in options)
        return Alternative(step, before.time + time, payload)

    def _options(self, way: Onward) -> list[Option]:
        """Return the options of the groups from a choice to the end."""
        return [way.option, *(each.option for each in self._to_go.way(way.target))]
