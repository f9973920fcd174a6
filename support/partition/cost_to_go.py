"""
Lower bounds on the cost from a partition state to the end, without IR, refined on
demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import Option
from tlf.support.partition.objective import Objective
from tlf.support.partition.pareto_labels import Rank
from tlf.support.partition.transitions import NOTHING, State, Transition

SearchState = tuple[int, State]
"""Operations done, and the values retained then."""


@dataclass(slots=True, eq=False)
class Edge:
    """Transition from a state to another, with the best option of its group."""

    transition: Transition
    target: SearchState
    option: Option
    """Best option if `has_exact_cost`, else a lower bound on all options."""
    has_exact_cost: bool


@dataclass
class CostToGo:
    """
    Remaining cost from states to the end: a lower bound that is refined on demand. It
    assumes that all prefetches are hidden. Edges are added from the end backwards.

    Only edges on the path that looks best are evaluated, one after the other, as in
    shortest-path searches with bounded edge costs.
    """

    memo: CostMemo
    objective: Objective
    everything: int
    """Operations that are done at the end."""
    _ranks: dict[SearchState, Rank] = field(init=False)
    """
    Lower bound on the remaining cost, of the states from which the end is reachable.
    """
    _onward: dict[SearchState, list[Edge]] = field(
        init=False, default_factory=dict[SearchState, list[Edge]]
    )
    _next: dict[SearchState, Edge | None] = field(init=False)
    """Best edge of the states whose remaining cost is exact."""

    def __post_init__(self) -> None:
        end = self.everything, NOTHING
        self._ranks = {end: (0, 0, 0, 0)}
        self._next = {end: None}

    def add_edge(
        self, source: SearchState, transition: Transition, target: SearchState
    ) -> None:
        """
        Add an edge to a state from which the end is reachable; ignore other edges.
        """
        if target in self._ranks:
            option = self._best_option(transition.outcome.options)
            onward = Edge(transition, target, option, transition.outcome.has_exact_cost)
            self._onward.setdefault(source, []).append(onward)

    def bound_remaining_cost(self, state: SearchState) -> None:
        """Bound the remaining cost of a state, once all of its edges are added."""
        self._update_bound_of_state(state)

    def edges_from(self, state: SearchState) -> Sequence[Edge]:
        """Return the edges of a state that lead to the end, in insertion order."""
        edges = self._onward.get(state, ())
        return [each for each in edges if each.target in self._ranks]

    def cost_bound_of_edge(self, edge: Edge) -> Rank:
        """Return a lower bound on the remaining cost, the edge included."""
        total, time, bytes_moved = self.objective.sort_key_of_cost(
            edge.option.time, edge.option.bytes
        )
        rest, rest_time, rest_bytes, groups = self._ranks[edge.target]
        return total + rest, time + rest_time, bytes_moved + rest_bytes, groups + 1

    def is_remaining_cost_exact(self, edge: Edge) -> bool:
        """Return `True` if the remaining cost, the edge included, is exact."""
        return edge.has_exact_cost and edge.target in self._next

    def evaluate_best_path_from(self, edge: Edge) -> bool:
        """
        Evaluate the best path that starts with an edge. Return `False` if there is
        none.
        """
        return self._evaluate_options_of_edge(
            edge
        ) and self._evaluate_best_path_of_state(edge.target)

    def best_path(self, state: SearchState) -> Iterator[Edge]:
        """Yield the edges of the best path from a resolved state to the end."""
        while (onward := self._next[state]) is not None:
            yield onward
            state = onward.target

    def _evaluate_best_path_of_state(self, start: SearchState) -> bool:
        """Evaluate the best path from a state. Return `False` if there is none."""
        while start in self._ranks and start not in self._next:
            if not (steps := self._best_path_to_unevaluated_edge(start)):
                break
            state, last = steps[-1]
            is_complete = self.is_remaining_cost_exact(last)
            if not self._evaluate_options_of_edge(last):
                self._onward[state].remove(last)
            changes = [
                self._update_bound_of_state(state) for state, _ in reversed(steps)
            ]
            if is_complete and not any(changes):
                self._next.update(steps)
        return start in self._ranks

    def _best_path_to_unevaluated_edge(
        self, state: SearchState
    ) -> list[tuple[SearchState, Edge]]:
        """
        Return the best path by the bounds, up to a resolved state, or to an edge that
        is not evaluated or leads nowhere any more.
        """
        steps: list[tuple[SearchState, Edge]] = []
        while (
            state not in self._next and (onward := self._best_edge(state)) is not None
        ):
            steps.append((state, onward))
            if not onward.has_exact_cost:
                break
            state = onward.target
        return steps

    def _best_edge(self, state: SearchState) -> Edge | None:
        """
        Return the best edge of a state by the bounds, or None if there is none any
        more.
        """
        best = min(self.edges_from(state), key=self.cost_bound_of_edge, default=None)
        if best is None:
            self._ranks.pop(state, None)
        return best

    def _update_bound_of_state(self, state: SearchState) -> bool:
        """Update the lower bound of a state. Return `True` if it changed."""
        rank = min(map(self.cost_bound_of_edge, self.edges_from(state)), default=None)
        if rank == self._ranks.get(state):
            return False
        if rank is None:
            del self._ranks[state]
        else:
            self._ranks[state] = rank
        return True

    def _evaluate_options_of_edge(self, edge: Edge) -> bool:
        """Query the options of an edge's group. Return `False` if there are none."""
        if edge.has_exact_cost:
            return True
        options = self.memo.options_of_group(
            edge.transition.group, edge.transition.context
        )
        if not options:
            return False
        edge.option, edge.has_exact_cost = self._best_option(options), True
        return True

    def _best_option(self, options: Sequence[Option]) -> Option:
        """Return the option with the lowest cost by `objective`, ignoring its slack."""
        return min(
            options,
            key=lambda each: self.objective.sort_key_of_cost(each.time, each.bytes),
        )
