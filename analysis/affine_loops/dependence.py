"""
Dependences that keep two nests apart.

Let S1 in the first nest and S2 in the second touch a common element, one of them
writing it, S1 in iteration i, S2 in iteration j. The first nest runs before the second,
so the dependence goes from S1 to S2, whatever i and j are: a true one where S1 writes
and S2 reads (RAW), an anti-dependence where S1 reads and S2 writes (WAR), an output
dependence where both write (WAW). In the fused nest, iteration k runs S1 and then S2.

- Iterations in order: S1(i) still runs before S2(j) if i <= j. With i > j the fused
  nest would run S2(j) first, the dependence would be carried backwards: it prevents
  fusion (Allen and Kennedy, Optimizing Compilers for Modern Architectures, definition
  6.3). So the distance j - i must be lexicographically 0 or more, for every kind of
  dependence. Two reads are no dependence, and never keep nests apart.
- Iterations that are independent: with i != j, whichever way, two iterations of the
  fused nest would depend on each other. So the distance must be 0.

The distance is what the loops ran before, not the value of induction variables; inner
loops, whatever their number, run within an iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from tlf.analysis.affine_loops.boxes import Access
from tlf.analysis.affine_loops.integers import FAR, UndecidedError
from tlf.analysis.affine_loops.systems import System, counter
from tlf.dialects import tile
from tlf.support.affine.access import Linear

FIRST, SECOND, GAP = "first", "second", "gap"


@dataclass(frozen=True)
class Pair:
    """Two nests that would run together, or one nest against itself."""

    first: tile.WhileOp
    second: tile.WhileOp

    def preventing(self, one: Access, other: Access) -> tuple[int, ...] | None:
        """
        The distance of a dependence that prevents fusion, from an access in the first
        nest to one in the second, or None where there is no such dependence. Raises
        `UndecidedError`.
        """
        for level, is_later in self._directions():
            if (found := self._distance(one, other, level, is_later)) is not None:
                return found
        return None

    def meets_within(self, one: Access, other: Access) -> bool:
        """
        Return `True` if two accesses may touch the same element in the same iteration.
        Undecided cases count as `True`.
        """
        system = self._system(one, other)
        for number in range(len(self.first.steps)):
            self._equate(system, number)
        try:
            return system.solution() is not None
        except UndecidedError:
            return True

    def _directions(self) -> Iterator[tuple[int, bool]]:
        """The loop in which iterations differ first, and whether the first is later."""
        for level in range(len(self.first.steps)):
            yield level, True
            if self.first.parallel:
                yield level, False

    def _distance(
        self, one: Access, other: Access, level: int, is_later: bool
    ) -> tuple[int, ...] | None:
        system = self._system(one, other)
        later, earlier = (FIRST, SECOND) if is_later else (SECOND, FIRST)
        if self.first.order is None or self.first.parallel:
            for number in range(level):
                self._equate(system, number)
        system.domains[GAP] = (1, FAR)
        ahead = Linear.of(counter(level, earlier)) + Linear.of(GAP)
        system.substitute(counter(level, later), ahead)
        if (values := system.solution()) is None:
            return None
        values[counter(level, later)] = values[counter(level, earlier)] + values[GAP]
        return tuple(
            values.get(counter(number, SECOND), 0)
            - values.get(counter(number, FIRST), 0)
            if number >= level
            else 0
            for number in range(len(self.first.steps))
        )

    def _system(self, one: Access, other: Access) -> System:
        system = System()
        for nest, at in ((self.first, FIRST), (self.second, SECOND)):
            for variable in nest.induction_variables:
                system.placed(Linear.of(variable), nest, at)
        system.meet(
            system.box(one, self.first, FIRST), system.box(other, self.second, SECOND)
        )
        return system

    @staticmethod
    def _equate(system: System, number: int) -> None:
        variable: Hashable = counter(number, SECOND)
        system.substitute(variable, Linear.of(counter(number, FIRST)))
