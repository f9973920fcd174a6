"""Lower bounds on the cost from a state to the end, refined on demand."""

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

    move: Transition
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
        self, place: SearchState, move: Transition, target: SearchState
    ) -> None:
        """
        Add an edge to a state from which the end is reachable; ignore other edges.
        """
        if target in self._ranks:
            option = self._best_option(move.outcome.options)
            onward = Edge(move, target, option, move.outcome.has_exact_cost)
            self._onward.setdefault(place, []).append(onward)

    def bound_state(self, place: SearchState) -> None:
        """Bound the remaining cost of a state, once all of its edges are added."""
        self._update_rank(place)

    def edges_from(self, place: SearchState) -> Sequence[Edge]:
        """Return the edges of a state that lead to the end, in insertion order."""
        edges = self._onward.get(place, ())
        return [each for each in edges if each.target in self._ranks]

    def rank_of(self, way: Edge) -> Rank:
        """Return a lower bound on the remaining cost, the edge included."""
        total, time, bytes_moved = self.objective.rank(
            way.option.time, way.option.bytes
        )
        rest, rest_time, rest_bytes, groups = self._ranks[way.target]
        return total + rest, time + rest_time, bytes_moved + rest_bytes, groups + 1

    def is_resolved(self, way: Edge) -> bool:
        """Return `True` if the remaining cost, the edge included, is exact."""
        return way.has_exact_cost and way.target in self._next

    def resolve_edge(self, way: Edge) -> bool:
        """
        Evaluate the best path that starts with an edge. Return `False` if there is
        none.
        """
        return self._evaluate_edge(way) and self._resolve_state(way.target)

    def best_path(self, place: SearchState) -> Iterator[Edge]:
        """Yield the edges of the best path from a resolved state to the end."""
        while (onward := self._next[place]) is not None:
            yield onward
            place = onward.target

    def _resolve_state(self, place: SearchState) -> bool:
        """Evaluate the best path from a state. Return `False` if there is none."""
        while place in self._ranks and place not in self._next:
            if not (steps := self._path_to_unresolved(place)):
                break
            state, last = steps[-1]
            is_complete = self.is_resolved(last)
            if not self._evaluate_edge(last):
                self._onward[state].remove(last)
            changes = [self._update_rank(state) for state, _ in reversed(steps)]
            if is_complete and not any(changes):
                self._next.update(steps)
        return place in self._ranks

    def _path_to_unresolved(self, place: SearchState) -> list[tuple[SearchState, Edge]]:
        """
        Return the best path by the bounds, up to a resolved state, or to an edge that
        is not evaluated or leads nowhere any more.
        """
        steps: list[tuple[SearchState, Edge]] = []
        while (
            place not in self._next and (onward := self._best_edge(place)) is not None
        ):
            steps.append((place, onward))
            if not onward.has_exact_cost:
                break
            place = onward.target
        return steps

    def _best_edge(self, place: SearchState) -> Edge | None:
        """
        Return the best edge of a state by the bounds, or None if there is none any
        more.
        """
        best = min(self.edges_from(place), key=self.rank_of, default=None)
        if best is None:
            self._ranks.pop(place, None)
        return best

    def _update_rank(self, place: SearchState) -> bool:
        """Update the lower bound of a state. Return `True` if it changed."""
        rank = min(map(self.rank_of, self.edges_from(place)), default=None)
        if rank == self._ranks.get(place):
            return False
        if rank is None:
            del self._ranks[place]
        else:
            self._ranks[place] = rank
        return True

    def _evaluate_edge(self, way: Edge) -> bool:
        """Query the options of an edge's group. Return `False` if there are none."""
        if way.has_exact_cost:
            return True
        options = self.memo.options(way.move.group, way.move.context)
        if not options:
            return False
        way.option, way.has_exact_cost = self._best_option(options), True
        return True

    def _best_option(self, options: Sequence[Option]) -> Option:
        return min(options, key=lambda each: self.objective.rank(each.time, each.bytes))
