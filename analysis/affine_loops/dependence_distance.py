"""
Analysis of two nests: distances of data dependences, and those that prevent fusion.

Let S1 in the first nest and S2 in the second access a common element, at least one of
them writing it, S1 in iteration i, S2 in iteration j. The first nest runs before the
second, so the dependence is from S1 to S2 for any i and j: a true dependence if S1
writes and S2 reads (RAW), an anti-dependence if S1 reads and S2 writes (WAR), an output
dependence if both write (WAW). In the fused nest, iteration k runs S1 and then S2.

- Sequential iterations: S1(i) still runs before S2(j) if i <= j. With i > j the fused
  nest would run S2(j) first, and the dependence would be carried backwards: it prevents
  fusion (Allen and Kennedy, Optimizing Compilers for Modern Architectures, definition
  6.3). The distance j - i must be lexicographically 0 or more, for every kind of
  dependence. Two reads are not a dependence, and never prevent fusion.
- Parallel iterations: with i != j in either direction, two iterations of the fused nest
  would depend on each other. The distance must be 0.

The distance is in iterations of the loops, not in values of induction variables. Inner
loops, however many, run within an iteration.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.integer_solver import UNBOUNDED, UndecidedError
from tlf.analysis.affine_loops.iteration_systems import (
    IterationSystem,
    loop_counter_symbol,
)
from tlf.dialects import tile
from tlf.support.affine.index_access import AffineSum

FIRST, SECOND, GAP = "first", "second", "gap"


@dataclass(frozen=True)
class NestPair:
    """Two nests that are candidates for fusion, or one nest paired with itself."""

    first: tile.WhileOp
    second: tile.WhileOp

    def find_fusion_preventing_distance(
        self, first_access: BoxAccess, second_access: BoxAccess
    ) -> tuple[int, ...] | None:
        """
        Return the distance of a fusion-preventing dependence; None if there is none.
        Raises `UndecidedError`.
        """
        for level, is_later in self._candidate_iteration_orders():
            if (
                distance := self._find_distance_at_loop(
                    first_access, second_access, level, is_later
                )
            ) is not None:
                return distance
        return None

    def can_alias_in_iteration(
        self, first_access: BoxAccess, second_access: BoxAccess
    ) -> bool:
        """
        Return `True` if two accesses may access the same element in the same iteration,
        or if this is undecided.
        """
        system = self._build_overlap_system(first_access, second_access)
        for level in range(len(self.first.steps)):
            self._equate_loop_counters(system, level)
        try:
            return system.find_solution() is not None
        except UndecidedError:
            return True

    def _candidate_iteration_orders(self) -> Iterator[tuple[int, bool]]:
        """
        Yield the outermost loop in which iterations differ, and `True` if the iteration
        of the first nest is the later one.
        """
        for level in range(len(self.first.steps)):
            yield level, True
            if self.first.is_parallel:
                yield level, False

    def _find_distance_at_loop(
        self,
        first_access: BoxAccess,
        second_access: BoxAccess,
        loop_index: int,
        is_first_later: bool,
    ) -> tuple[int, ...] | None:
        """
        Return the distance, in iterations, of a dependence whose iterations differ in
        the loop at `loop_index`; None if there is none.
        """
        system = self._build_overlap_system(first_access, second_access)
        later, earlier = (FIRST, SECOND) if is_first_later else (SECOND, FIRST)
        if self.first.order is None or self.first.is_parallel:
            for index in range(loop_index):
                self._equate_loop_counters(system, index)
        system.domains[GAP] = (1, UNBOUNDED)
        shifted = AffineSum.of_symbol(
            loop_counter_symbol(loop_index, earlier)
        ) + AffineSum.of_symbol(GAP)
        system.substitute_variable(loop_counter_symbol(loop_index, later), shifted)
        if (values := system.find_solution()) is None:
            return None
        values[loop_counter_symbol(loop_index, later)] = (
            values[loop_counter_symbol(loop_index, earlier)] + values[GAP]
        )
        return tuple(
            values.get(loop_counter_symbol(index, SECOND), 0)
            - values.get(loop_counter_symbol(index, FIRST), 0)
            if index >= loop_index
            else 0
            for index in range(len(self.first.steps))
        )

    def _build_overlap_system(
        self, first_access: BoxAccess, second_access: BoxAccess
    ) -> IterationSystem:
        """
        Return the system of one iteration per nest whose accesses have a common
        element.
        """
        system = IterationSystem()
        for nest, at in ((self.first, FIRST), (self.second, SECOND)):
            for variable in nest.induction_variables:
                system.express_in_loop_counters(AffineSum.of_symbol(variable), nest, at)
        system.require_common_element(
            system.box_of_access(first_access, self.first, FIRST),
            system.box_of_access(second_access, self.second, SECOND),
        )
        return system

    @staticmethod
    def _equate_loop_counters(system: IterationSystem, loop_index: int) -> None:
        """
        Substitute the first nest's counter of a loop for the second's in `system`.
        """
        variable: Hashable = loop_counter_symbol(loop_index, SECOND)
        system.substitute_variable(
            variable, AffineSum.of_symbol(loop_counter_symbol(loop_index, FIRST))
        )
