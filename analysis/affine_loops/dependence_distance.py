"""
Distances of data dependences between two nests, and those that prevent fusion.

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

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.integer_solver import UNBOUNDED, UndecidedError
from tlf.analysis.affine_loops.iteration_systems import IterationSystem, counter_symbol
from tlf.dialects import tile
from tlf.support.affine.index_access import AffineSum

FIRST, SECOND, GAP = "first", "second", "gap"


@dataclass(frozen=True)
class NestPair:
    """Two nests that are to be fused, or one nest against itself."""

    first: tile.WhileOp
    second: tile.WhileOp

    def find_preventing_distance(
        self, one: BoxAccess, other: BoxAccess
    ) -> tuple[int, ...] | None:
        """
        Return the distance of a fusion-preventing dependence; None if there is none.
        Raises `UndecidedError`.
        """
        for level, is_later in self._iteration_orders():
            if (found := self._find_distance(one, other, level, is_later)) is not None:
                return found
        return None

    def can_alias_in_iteration(self, one: BoxAccess, other: BoxAccess) -> bool:
        """
        Return `True` if two accesses may touch the same element in the same iteration.
        Undecided cases count as `True`.
        """
        system = self._make_system(one, other)
        for number in range(len(self.first.steps)):
            self._equate_counters(system, number)
        try:
            return system.find_solution() is not None
        except UndecidedError:
            return True

    def _iteration_orders(self) -> Iterator[tuple[int, bool]]:
        """The loop in which iterations differ first, and whether the first is later."""
        for level in range(len(self.first.steps)):
            yield level, True
            if self.first.is_parallel:
                yield level, False

    def _find_distance(
        self, one: BoxAccess, other: BoxAccess, level: int, is_later: bool
    ) -> tuple[int, ...] | None:
        system = self._make_system(one, other)
        later, earlier = (FIRST, SECOND) if is_later else (SECOND, FIRST)
        if self.first.order is None or self.first.is_parallel:
            for number in range(level):
                self._equate_counters(system, number)
        system.domains[GAP] = (1, UNBOUNDED)
        ahead = AffineSum.of(counter_symbol(level, earlier)) + AffineSum.of(GAP)
        system.substitute_variable(counter_symbol(level, later), ahead)
        if (values := system.find_solution()) is None:
            return None
        values[counter_symbol(level, later)] = (
            values[counter_symbol(level, earlier)] + values[GAP]
        )
        return tuple(
            values.get(counter_symbol(number, SECOND), 0)
            - values.get(counter_symbol(number, FIRST), 0)
            if number >= level
            else 0
            for number in range(len(self.first.steps))
        )

    def _make_system(self, one: BoxAccess, other: BoxAccess) -> IterationSystem:
        system = IterationSystem()
        for nest, at in ((self.first, FIRST), (self.second, SECOND)):
            for variable in nest.induction_variables:
                system.normalize_form(AffineSum.of(variable), nest, at)
        system.require_overlap(
            system.box_of_access(one, self.first, FIRST),
            system.box_of_access(other, self.second, SECOND),
        )
        return system

    @staticmethod
    def _equate_counters(system: IterationSystem, number: int) -> None:
        variable: Hashable = counter_symbol(number, SECOND)
        system.substitute_variable(
            variable, AffineSum.of(counter_symbol(number, FIRST))
        )
