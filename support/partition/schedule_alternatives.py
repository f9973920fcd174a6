"""Alternatives to each step of the best schedule, with their costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from tlf.support.partition.cost_model import Option
from tlf.support.partition.cost_to_go import CostToGo, Edge, SearchState
from tlf.support.partition.downset_sweep import Sweep
from tlf.support.partition.hidden_transfers import total_time
from tlf.support.partition.pareto_labels import Label
from tlf.support.partition.schedule import Alternative, Step
from tlf.support.partition.transitions import NOTHING, State, Transition, Transitions


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
        self._moves = Transitions(self.sweep.outcomes)
        self._to_go = CostToGo(
            self.sweep.memo, self.sweep.fronts.objective, problem.all_operations
        )
        for size in reversed(range(len(problem.nodes))):
            for done, states in self.sweep.layers[size].items():
                self._add_edges_from(done, list(states))

    def find_along(self, end: Label, count: int) -> list[tuple[Alternative, ...]]:
        """The best few other choices at each step of the way to a label."""
        found: list[tuple[Alternative, ...]] = []
        # What comes later is settled first, so that ways to it end there.
        for label, place, payload in reversed(list(self._steps_to(end))):
            assert label.move is not None
            assert label.before is not None
            others = self._best_alternatives(place, label.move, count)
            found.append(
                tuple(
                    self._evaluate_alternative(each, label.before, payload)
                    for each in others
                )
            )
        return found[::-1]

    def _steps_to(self, end: Label) -> Iterator[tuple[Label, SearchState, int]]:
        """The steps to a label, with where each starts and the payload until there."""
        done, payload, state = 0, 0, NOTHING
        for label in end.path():
            assert label.move is not None
            assert label.option is not None
            yield label, (done, state), payload
            state = self._moves.next_state(state, label.move)
            payload += label.option.payload
            done |= label.move.group

    def _add_edges_from(self, done: int, states: Sequence[State]) -> None:
        """Find where to go from the states of a downset."""
        for group in self.sweep.candidates.groups_after(done):
            after = done | group
            for state, move, target in self._moves.transitions_of(group, done, states):
                self._to_go.add_edge((done, state), move, (after, target))
        for state in states:
            self._to_go.bound_state((done, state))

    def _best_alternatives(
        self, place: SearchState, chosen: Transition, count: int
    ) -> list[Edge]:
        """
        The best choice for each group that has an operation of the chosen one, and for
        the chosen one with other values retained; the cheapest first.
        """
        order: dict[int, int] = {}
        ways: list[tuple[tuple[int, ...], int, int, Edge]] = []
        for number, way in enumerate(self._to_go.edges_from(place)):
            move = way.move
            if move.group & chosen.group and move != chosen:
                first = order.setdefault(move.group, len(order))
                ways.append((self._to_go.rank_of(way), first, number, way))
        heapify(ways)
        best: dict[int, Edge] = {}
        while ways and len(best) < count:
            _, first, number, way = heappop(ways)
            if way.move.group in best:
                continue
            if self._to_go.is_resolved(way):
                best[way.move.group] = way
            elif self._to_go.resolve_edge(way):
                heappush(ways, (self._to_go.rank_of(way), first, number, way))
        return list(best.values())

    def _evaluate_alternative(
        self, way: Edge, before: Label, payload: int
    ) -> Alternative:
        """A choice behind a way of so much payload."""
        move, options = way.move, self._options_to_end(way)
        step = Step(move.group, move.context, way.option)
        time = total_time(options, before.slack)
        payload += sum(option.payload for option in options)
        return Alternative(step, before.time + time, payload)

    def _options_to_end(self, way: Edge) -> list[Option]:
        """Return the options of the groups from a choice to the end."""
        return [
            way.option,
            *(each.option for each in self._to_go.best_path(way.target)),
        ]
