"""
Alternatives to each step of the best partition schedule, with their costs, without IR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from tlf.support.partition.cost_model import Option
from tlf.support.partition.cost_to_go import CostToGo, Edge, SearchState
from tlf.support.partition.downset_sweep import DownsetSweep
from tlf.support.partition.hidden_transfers import total_time_of_groups
from tlf.support.partition.pareto_labels import PathLabel
from tlf.support.partition.schedule import Alternative, Step
from tlf.support.partition.transitions import NOTHING, State, Transition, Transitions


@dataclass
class StepAlternatives:
    """
    Evaluation of alternatives at each step of a schedule: the cost before it, the
    alternative, and the best path from there to the end. This takes a second, backward
    sweep over the states that the first one visited. If the first sweep used bounds,
    only edges that may be among the best are evaluated.
    """

    sweep: DownsetSweep

    def __post_init__(self) -> None:
        problem = self.sweep.memo.groups.problem
        self._moves = Transitions(self.sweep.outcomes)
        self._to_go = CostToGo(
            self.sweep.memo, self.sweep.fronts.objective, problem.all_operations
        )
        for size in reversed(range(len(problem.nodes))):
            for done, states in self.sweep.layers[size].items():
                self._add_edges_of_downset(done, list(states))

    def find_alternatives_along_path(
        self, last_label: PathLabel, count: int
    ) -> list[tuple[Alternative, ...]]:
        """Return the `count` best alternatives at each step of the path to a label."""
        result: list[tuple[Alternative, ...]] = []
        # Later states are resolved first, so that paths to them end there.
        for label, state, payload in reversed(list(self._steps_on_path(last_label))):
            assert label.transition is not None
            assert label.previous is not None
            edges = self._best_alternative_edges(state, label.transition, count)
            result.append(
                tuple(
                    self._evaluate_alternative(each, label.previous, payload)
                    for each in edges
                )
            )
        return result[::-1]

    def _steps_on_path(
        self, last_label: PathLabel
    ) -> Iterator[tuple[PathLabel, SearchState, int]]:
        """
        Yield the labels on the path to `last_label`, each with the state before it and
        the payload so far.
        """
        done, payload, state = 0, 0, NOTHING
        for label in last_label.labels_on_path():
            assert label.transition is not None
            assert label.option is not None
            yield label, (done, state), payload
            state = self._moves.state_after_transition(state, label.transition)
            payload += label.option.payload
            done |= label.transition.group

    def _add_edges_of_downset(self, done: int, states: Sequence[State]) -> None:
        """
        Record the edges from the states of a downset, and bound their remaining cost.
        """
        for group in self.sweep.candidates.groups_after(done):
            after = done | group
            for state, move, target in self._moves.transitions_to_run_group(
                group, done, states
            ):
                self._to_go.add_edge((done, state), move, (after, target))
        for state in states:
            self._to_go.bound_remaining_cost((done, state))

    def _best_alternative_edges(
        self, state: SearchState, chosen_transition: Transition, count: int
    ) -> list[Edge]:
        """
        Return the best edge for each group that has an operation of the chosen one, and
        for the chosen group with other values retained; the cheapest first.
        """
        order: dict[int, int] = {}
        queue: list[tuple[tuple[int, ...], int, int, Edge]] = []
        for index, way in enumerate(self._to_go.edges_from(state)):
            move = way.transition
            if move.group & chosen_transition.group and move != chosen_transition:
                first = order.setdefault(move.group, len(order))
                queue.append((self._to_go.cost_bound_of_edge(way), first, index, way))
        heapify(queue)
        best: dict[int, Edge] = {}
        while queue and len(best) < count:
            _, first, index, way = heappop(queue)
            if way.transition.group in best:
                continue
            if self._to_go.is_remaining_cost_exact(way):
                best[way.transition.group] = way
            elif self._to_go.evaluate_best_path_from(way):
                heappush(
                    queue, (self._to_go.cost_bound_of_edge(way), first, index, way)
                )
        return list(best.values())

    def _evaluate_alternative(
        self, edge: Edge, previous: PathLabel, payload: int
    ) -> Alternative:
        """Return the alternative of an edge after a path with the given payload."""
        move, options = edge.transition, self._options_of_rest_of_path(edge)
        step = Step(move.group, move.context, edge.option)
        time = total_time_of_groups(options, previous.slack)
        payload += sum(option.payload for option in options)
        return Alternative(step, previous.time + time, payload)

    def _options_of_rest_of_path(self, edge: Edge) -> list[Option]:
        """
        Return the option of `edge`, and those on the best path from its target to the
        end.
        """
        return [
            edge.option,
            *(each.option for each in self._to_go.best_path(edge.target)),
        ]
