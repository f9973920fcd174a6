"""The best ways from states of a search to its end, priced where that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tlf.support.partition.costs import Option
from tlf.support.partition.labels import Rank
from tlf.support.partition.memo import Memo
from tlf.support.partition.moves import NOTHING, Move, State
from tlf.support.partition.objective import Objective

Place = tuple[int, State]
"""The operations done, and what is retained then."""


@dataclass(slots=True, eq=False)
class Onward:
    """A move from a place to another, and the best way to run its group."""

    move: Move
    target: Place
    option: Option
    """Lower bound on all options, until it is priced."""
    is_priced: bool


@dataclass
class ToGo:
    """
    Remaining cost from places to the end: a lower bound, until it is asked for. It is
    the cost if all early moves are hidden. Moves are added from the end on backwards.

    Only moves on the way that looks best are priced then, one after the other, as in
    searches for shortest paths whose edges are bounded.
    """

    memo: Memo
    objective: Objective
    everything: int
    """The operations that are done at the end."""
    _ranks: dict[Place, Rank] = field(init=False)
    """Lower bound on the remaining cost, of the places that lead to the end."""
    _onward: dict[Place, list[Onward]] = field(
        init=False, default_factory=dict[Place, list[Onward]]
    )
    _next: dict[Place, Onward | None] = field(init=False)
    """The best move from places from which all costs are known."""

    def __post_init__(self) -> None:
        end = self.everything, NOTHING
        self._ranks = {end: (0, 0, 0, 0)}
        self._next = {end: None}

    def add(self, place: Place, move: Move, target: Place) -> None:
        """Add a move to where the end can be reached from; others are left out."""
        if target in self._ranks:
            option = self._best_of(move.outcome.options)
            onward = Onward(move, target, option, move.outcome.is_priced)
            self._onward.setdefault(place, []).append(onward)

    def look_ahead(self, place: Place) -> None:
        """Bound the remaining cost from a place, once all of its moves are added."""
        self._update(place)

    def onward(self, place: Place) -> Sequence[Onward]:
        """The moves from a place that lead to the end, in the order of their adding."""
        ways = self._onward.get(place, ())
        return [each for each in ways if each.target in self._ranks]

    def rank(self, way: Onward) -> Rank:
        """Return a lower bound on the remaining cost from before a move on."""
        total, time, moved = self.objective.rank(way.option.time, way.option.bytes)
        later, after, more, groups = self._ranks[way.target]
        return total + later, time + after, moved + more, groups + 1

    def is_settled(self, way: Onward) -> bool:
        """Return `True` if the remaining cost from before a move on is known."""
        return way.is_priced and way.target in self._next

    def settle(self, way: Onward) -> bool:
        """Price the rest of the way from before a move; return whether there is one."""
        return self._price(way) and self._settle(way.target)

    def way(self, place: Place) -> Iterator[Onward]:
        """The best way from a settled place to the end."""
        while (onward := self._next[place]) is not None:
            yield onward
            place = onward.target

    def _settle(self, place: Place) -> bool:
        """Price the best way from a place; return whether there is one."""
        while place in self._ranks and place not in self._next:
            if not (steps := self._known_steps(place)):
                break
            here, last = steps[-1]
            is_whole = self.is_settled(last)
            if not self._price(last):
                self._onward[here].remove(last)
            changes = [self._update(here) for here, _ in reversed(steps)]
            if is_whole and not any(changes):
                self._next.update(steps)
        return place in self._ranks

    def _known_steps(self, place: Place) -> list[tuple[Place, Onward]]:
        """
        The way that looks best, to where all is known, or to a move that is not priced
        or leads nowhere any more.
        """
        steps: list[tuple[Place, Onward]] = []
        while place not in self._next and (onward := self._best(place)) is not None:
            steps.append((place, onward))
            if not onward.is_priced:
                break
            place = onward.target
        return steps

    def _best(self, place: Place) -> Onward | None:
        """The move from a place that looks best, None if there is none any more."""
        best = min(self.onward(place), key=self.rank, default=None)
        if best is None:
            self._ranks.pop(place, None)
        return best

    def _update(self, place: Place) -> bool:
        """Find what is to go at least from a place; return whether that is new."""
        rank = min(map(self.rank, self.onward(place)), default=None)
        if rank == self._ranks.get(place):
            return False
        if rank is None:
            del self._ranks[place]
        else:
            self._ranks[place] = rank
        return True

    def _price(self, way: Onward) -> bool:
        """Ask for the ways to run the group of a move; return whether there is one."""
        if way.is_priced:
            return True
        options = self.memo.options(way.move.group, way.move.context)
        if not options:
            return False
        way.option, way.is_priced = self._best_of(options), True
        return True

    def _best_of(self, options: Sequence[Option]) -> Option:
        return min(options, key=lambda each: self.objective.rank(each.time, each.bytes))
