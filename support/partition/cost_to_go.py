"""Lower bounds on the cost to go from a state to the end, refined on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.partition.cost_memo import CostMemo
from tlf.support.partition.cost_model import Option
from tlf.support.partition.objective import Objective
from tlf.support.partition.pareto_labels import Rank
from tlf.support.partition.transitions import NOTHING, State, Transition

SearchState = tuple[int, State]
"""The operations done, and what is retained then."""


@dataclass(slots=True, eq=False)
class Edge:
    """A move from a place to another, and the best way to run its group."""

    move: Transition
    target: SearchState
    option: Option
    """Lower bound on all options, until it is priced."""
    has_exact_cost: bool


@dataclass
class CostToGo:
    """
    Remaining cost from places to the end: a lower bound, until it is asked for. It is
    the cost if all early moves are hidden. Moves are added from the end on backwards.

    Only moves on the way that looks best are priced then, one after the other, as in
    searches for shortest paths whose edges are bounded.
    """

    memo: CostMemo
    objective: Objective
    everything: int
    """The operations that are done at the end."""
    _ranks: dict[SearchState, Rank] = field(init=False)
    """Lower bound on the remaining cost, of the places that lead to the end."""
    _onward: dict[SearchState, list[Edge]] = field(
        init=False, default_factory=dict[SearchState, list[Edge]]
    )
    _next: dict[SearchState, Edge | None] = field(init=False)
    """The best move from places from which all costs are known."""

    def __post_init__(self) -> None:
        end = self.everything, NOTHING
        self._ranks = {end: (0, 0, 0, 0)}
        self._next = {end: None}

    def add_edge(
        self, place: SearchState, move: Transition, target: SearchState
    ) -> None:
        """Add a move to where the end can be reached from; others are left out."""
        if target in self._ranks:
            option = self._best_option(move.outcome.options)
            onward = Edge(move, target, option, move.outcome.has_exact_cost)
            self._onward.setdefault(place, []).append(onward)

    def bound_state(self, place: SearchState) -> None:
        """Bound the remaining cost from a place, once all of its moves are added."""
        self._update_rank(place)

    def edges_from(self, place: SearchState) -> Sequence[Edge]:
        """The moves from a place that lead to the end, in the order of their adding."""
        ways = self._onward.get(place, ())
        return [each for each in ways if each.target in self._ranks]

    def rank_of(self, way: Edge) -> Rank:
        """Return a lower bound on the remaining cost from before a move on."""
        total, time, moved = self.objective.rank(way.option.time, way.option.bytes)
        later, after, more, groups = self._ranks[way.target]
        return total + later, time + after, moved + more, groups + 1

    def is_resolved(self, way: Edge) -> bool:
        """Return `True` if the remaining cost from before a move on is known."""
        return way.has_exact_cost and way.target in self._next

    def resolve_edge(self, way: Edge) -> bool:
        """Price the rest of the way from before a move; return whether there is one."""
        return self._evaluate_edge(way) and self._resolve_state(way.target)

    def best_path(self, place: SearchState) -> Iterator[Edge]:
        """The best way from a settled place to the end."""
        while (onward := self._next[place]) is not None:
            yield onward
            place = onward.target

    def _resolve_state(self, place: SearchState) -> bool:
        """Price the best way from a place; return whether there is one."""
        while place in self._ranks and place not in self._next:
            if not (steps := self._path_to_unresolved(place)):
                break
            here, last = steps[-1]
            is_whole = self.is_resolved(last)
            if not self._evaluate_edge(last):
                self._onward[here].remove(last)
            changes = [self._update_rank(here) for here, _ in reversed(steps)]
            if is_whole and not any(changes):
                self._next.update(steps)
        return place in self._ranks

    def _path_to_unresolved(self, place: SearchState) -> list[tuple[SearchState, Edge]]:
        """
        The way that looks best, to where all is known, or to a move that is not priced
        or leads nowhere any more.
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
        """The move from a place that looks best, None if there is none any more."""
        best = min(self.edges_from(place), key=self.rank_of, default=None)
        if best is None:
            self._ranks.pop(place, None)
        return best

    def _update_rank(self, place: SearchState) -> bool:
        """Find what is to go at least from a place; return whether that is new."""
        rank = min(map(self.rank_of, self.edges_from(place)), default=None)
        if rank == self._ranks.get(place):
            return False
        if rank is None:
            del self._ranks[place]
        else:
            self._ranks[place] = rank
        return True

    def _evaluate_edge(self, way: Edge) -> bool:
        """Ask for the ways to run the group of a move; return whether there is one."""
        if way.has_exact_cost:
            return True
        options = self.memo.options(way.move.group, way.move.context)
        if not options:
            return False
        way.option, way.has_exact_cost = self._best_option(options), True
        return True

    def _best_option(self, options: Sequence[Option]) -> Option:
        return min(options, key=lambda each: self.objective.rank(each.time, each.bytes))
