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
    Evaluation of alternatives at each step of a schedule: the cost before it, the
    alternative, and the best path from there to the end. This takes a second, backward
    sweep over the states that the first one visited. If the first sweep used bounds,
    only edges that may be among the best are evaluated.
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
        """Return the `count` best alternatives at each step of the path to a label."""
        result: list[tuple[Alternative, ...]] = []
        # Later states are resolved first, so that paths to them end there.
        for label, state, payload in reversed(list(self._steps_to(end))):
            assert label.move is not None
            assert label.before is not None
            edges = self._best_alternatives(state, label.move, count)
            result.append(
                tuple(
                    self._evaluate_alternative(each, label.before, payload)
                    for each in edges
                )
            )
        return result[::-1]

    def _steps_to(self, end: Label) -> Iterator[tuple[Label, SearchState, int]]:
        """
        Yield the labels on the path to `end`, each with the state before it and the
        payload so far.
        """
        done, payload, state = 0, 0, NOTHING
        for label in end.path():
            assert label.move is not None
            assert label.option is not None
            yield label, (done, state), payload
            state = self._moves.next_state(state, label.move)
            payload += label.option.payload
            done |= label.move.group

    def _add_edges_from(self, done: int, states: Sequence[State]) -> None:
        """Add the edges from the states of a downset."""
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
        Return the best edge for each group that has an operation of the chosen one, and
        for the chosen group with other values retained; the cheapest first.
        """
        order: dict[int, int] = {}
        queue: list[tuple[tuple[int, ...], int, int, Edge]] = []
        for index, way in enumerate(self._to_go.edges_from(place)):
            move = way.move
            if move.group & chosen.group and move != chosen:
                first = order.setdefault(move.group, len(order))
                queue.append((self._to_go.rank_of(way), first, index, way))
        heapify(queue)
        best: dict[int, Edge] = {}
        while queue and len(best) < count:
            _, first, index, way = heappop(queue)
            if way.move.group in best:
                continue
            if self._to_go.is_resolved(way):
                best[way.move.group] = way
            elif self._to_go.resolve_edge(way):
                heappush(queue, (self._to_go.rank_of(way), first, index, way))
        return list(best.values())

    def _evaluate_alternative(
        self, way: Edge, before: Label, payload: int
    ) -> Alternative:
        """Return the alternative of an edge after a path with the given payload."""
        move, options = way.move, self._options_to_end(way)
        step = Step(move.group, move.context, way.option)
        time = total_time(options, before.slack)
        payload += sum(option.payload for option in options)
        return Alternative(step, before.time + time, payload)

    def _options_to_end(self, way: Edge) -> list[Option]:
        """Return the options of the groups from an edge to the end."""
        return [
            way.option,
            *(each.option for each in self._to_go.best_path(way.target)),
        ]
