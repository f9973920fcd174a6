"""Analysis of a nest: pairs of iterations that write the same tensor element."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.integer_solver import UNBOUNDED
from tlf.analysis.affine_loops.iteration_systems import (
    IterationSystem,
    loop_counter_symbol,
)
from tlf.analysis.affine_loops.write_counts import loops_around
from tlf.dialects import tile
from tlf.support.affine.index_access import AffineSum

ONE, OTHER, GAP = "one", "other", "gap"

NestLoop = tuple[tile.WhileOp, int]


@dataclass(frozen=True)
class WriteConflict:
    """Pair of iterations of a nest, as texts, that write a common element."""

    access: BoxAccess
    first_iteration: str
    second_iteration: str
    is_parallel: bool
    """True if the iterations are unordered."""

    def __str__(self) -> str:
        return (
            f"iterations {self.first_iteration} and {self.second_iteration} "
            "write the same element"
        )


def find_write_conflict(
    accesses: Sequence[BoxAccess], nest: tile.WhileOp
) -> WriteConflict | None:
    """
    Return a write conflict in a nest, preferably of parallel iterations; None if there
    is none. Raises `UndecidedError`.
    """
    conflict: WriteConflict | None = None
    for index, one in enumerate(accesses):
        for other in accesses[: index + 1]:
            each = _WritePair(one, other, nest).find_conflicting_iterations()
            if each is not None and (conflict is None or each.is_parallel):
                conflict = each
            if conflict is not None and conflict.is_parallel:
                return conflict
    return conflict


@dataclass(frozen=True)
class _WritePair:
    """
    Pair of write accesses of a nest to test for conflicts; may be one access twice.
    """

    first_write: BoxAccess
    second_write: BoxAccess
    nest: tile.WhileOp

    def find_conflicting_iterations(self) -> WriteConflict | None:
        """
        Return a conflict of the writes: of iterations of a parallel loop, else of
        another loop, else within one iteration. None if there is none.
        """
        first_loops, second_loops = (
            loops_around(each.op, self.nest)
            for each in (self.first_write, self.second_write)
        )
        common = [
            loop
            for loop, same in zip(first_loops, second_loops, strict=False)
            if loop[0] is same[0]
        ]
        ordered: WriteConflict | None = None
        for level, (loop, _) in enumerate(common):
            for is_later in (True, False)[
                : 1 if self.first_write is self.second_write else 2
            ]:
                found = self._find_conflict_at_loop(
                    common, level, is_later, first_loops, second_loops
                )
                if found is not None and loop.is_parallel:
                    return found
                ordered = ordered or found
        if ordered is None and self.first_write is not self.second_write:
            return self._find_conflict_at_loop(
                common, len(common), True, first_loops, second_loops
            )
        return ordered

    def _find_conflict_at_loop(
        self,
        common_loops: Sequence[NestLoop],
        common_index: int,
        is_first_later: bool,
        first_loops: Sequence[NestLoop],
        second_loops: Sequence[NestLoop],
    ) -> WriteConflict | None:
        """
        Return a conflict of iterations that differ first in the common loop at
        `common_index`.
        """
        system = self._require_common_element_of_writes(first_loops, second_loops)
        forms: dict[Hashable, AffineSum] = {}
        for loop in common_loops[:common_index]:
            forms[self._loop_counter_of(loop, OTHER)] = AffineSum.of_symbol(
                self._loop_counter_of(loop, ONE)
            )
        if common_index < len(common_loops):
            later, earlier = (ONE, OTHER) if is_first_later else (OTHER, ONE)
            system.domains[GAP] = (1, UNBOUNDED)
            shifted = AffineSum.of_symbol(
                self._loop_counter_of(common_loops[common_index], earlier)
            ) + AffineSum.of_symbol(GAP)
            forms[self._loop_counter_of(common_loops[common_index], later)] = shifted
        for variable, form in forms.items():
            system.substitute_variable(variable, form)
        if (values := system.find_solution()) is None:
            return None
        known = {key: AffineSum(value) for key, value in values.items()}
        known |= {key: form.substitute(known) for key, form in forms.items()}
        parallel = (
            common_index < len(common_loops)
            and common_loops[common_index][0].is_parallel
        )
        texts = [
            self._describe_iteration(first_loops, ONE, known),
            self._describe_iteration(second_loops, OTHER, known),
        ]
        return WriteConflict(self.first_write, texts[0], texts[1], parallel)

    def _require_common_element_of_writes(
        self, first_loops: Sequence[NestLoop], second_loops: Sequence[NestLoop]
    ) -> IterationSystem:
        """Return the system of two iterations that write a common element."""
        system = IterationSystem()
        for loops, at in ((first_loops, ONE), (second_loops, OTHER)):
            for loop, index in loops:
                variable = loop.induction_variables[index]
                system.express_in_loop_counters(
                    AffineSum.of_symbol(variable), self.nest, at
                )
        system.require_common_element(
            system.box_of_access(self.first_write, self.nest, ONE),
            system.box_of_access(self.second_write, self.nest, OTHER),
        )
        return system

    def _loop_counter_of(self, loop: NestLoop, execution: str) -> Hashable:
        """
        Return the symbol of a loop's counter in `execution`; for an inner nest, it
        contains the induction variable.
        """
        nest, index = loop
        if nest is self.nest:
            return loop_counter_symbol(index, execution)
        return execution, nest.induction_variables[index]

    def _describe_iteration(
        self,
        loops: Sequence[NestLoop],
        execution: str,
        values: Mapping[Hashable, AffineSum],
    ) -> str:
        """Return the values of the induction variables of an iteration as text."""
        names: list[str] = []
        for nest, index in loops:
            variable = nest.induction_variables[index]
            form = IterationSystem().express_in_loop_counters(
                AffineSum.of_symbol(variable), self.nest, execution
            )
            value = form.substitute(values)
            text = "?" if value.terms else str(value.constant)
            names.append(f"%{variable.name_hint or 'i'} = {text}")
        return f"({', '.join(names)})"
