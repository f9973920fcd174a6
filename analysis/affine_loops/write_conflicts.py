"""Pairs of iterations of a nest that write the same tensor element."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tlf.analysis.affine_loops.access_boxes import BoxAccess
from tlf.analysis.affine_loops.integer_solver import UNBOUNDED
from tlf.analysis.affine_loops.iteration_systems import IterationSystem, counter_symbol
from tlf.analysis.affine_loops.write_counts import loops_around
from tlf.dialects import tile
from tlf.support.affine.index_access import AffineSum

ONE, OTHER, GAP = "one", "other", "gap"

NestLoop = tuple[tile.WhileOp, int]


@dataclass(frozen=True)
class WriteConflict:
    """Two iterations, as text, that write a common element."""

    access: BoxAccess
    first: str
    second: str
    is_parallel: bool
    """True if the iterations are unordered."""

    def __str__(self) -> str:
        return f"iterations {self.first} and {self.second} write the same element"


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
            each = _WritePair(one, other, nest).find_conflict()
            if each is not None and (conflict is None or each.is_parallel):
                conflict = each
            if conflict is not None and conflict.is_parallel:
                return conflict
    return conflict


@dataclass(frozen=True)
class _WritePair:
    """Two writes of a nest, or one write paired with itself."""

    one: BoxAccess
    other: BoxAccess
    nest: tile.WhileOp

    def find_conflict(self) -> WriteConflict | None:
        first_loops, second_loops = (
            loops_around(each.op, self.nest) for each in (self.one, self.other)
        )
        common = [
            loop
            for loop, same in zip(first_loops, second_loops, strict=False)
            if loop[0] is same[0]
        ]
        ordered: WriteConflict | None = None
        for level, (loop, _) in enumerate(common):
            for is_later in (True, False)[: 1 if self.one is self.other else 2]:
                found = self._find_conflict_at(
                    common, level, is_later, first_loops, second_loops
                )
                if found is not None and loop.is_parallel:
                    return found
                ordered = ordered or found
        if ordered is None and self.one is not self.other:
            return self._find_conflict_at(
                common, len(common), True, first_loops, second_loops
            )
        return ordered

    def _find_conflict_at(
        self,
        common: Sequence[NestLoop],
        level: int,
        is_later: bool,
        ours: Sequence[NestLoop],
        theirs: Sequence[NestLoop],
    ) -> WriteConflict | None:
        """
        Return a conflict of iterations that differ first in the common loop at `level`.
        """
        system = IterationSystem()
        for loops, at in ((ours, ONE), (theirs, OTHER)):
            for loop, index in loops:
                variable = loop.induction_variables[index]
                system.normalize_form(AffineSum.of(variable), self.nest, at)
        system.require_overlap(
            system.box_of_access(self.one, self.nest, ONE),
            system.box_of_access(self.other, self.nest, OTHER),
        )
        forms: dict[Hashable, AffineSum] = {}
        for loop in common[:level]:
            forms[self._counter_of(loop, OTHER)] = AffineSum.of(
                self._counter_of(loop, ONE)
            )
        if level < len(common):
            later, earlier = (ONE, OTHER) if is_later else (OTHER, ONE)
            system.domains[GAP] = (1, UNBOUNDED)
            shifted = AffineSum.of(
                self._counter_of(common[level], earlier)
            ) + AffineSum.of(GAP)
            forms[self._counter_of(common[level], later)] = shifted
        for variable, form in forms.items():
            system.substitute_variable(variable, form)
        if (values := system.find_solution()) is None:
            return None
        known = {key: AffineSum(value) for key, value in values.items()}
        known |= {key: form.substitute(known) for key, form in forms.items()}
        parallel = level < len(common) and common[level][0].is_parallel
        texts = [
            self._describe_iteration(ours, ONE, known),
            self._describe_iteration(theirs, OTHER, known),
        ]
        return WriteConflict(self.one, texts[0], texts[1], parallel)

    def _counter_of(self, loop: NestLoop, at: str) -> Hashable:
        nest, index = loop
        if nest is self.nest:
            return counter_symbol(index, at)
        return at, nest.induction_variables[index]

    def _describe_iteration(
        self, loops: Sequence[NestLoop], at: str, values: Mapping[Hashable, AffineSum]
    ) -> str:
        """Return the values of the induction variables of an iteration as text."""
        names: list[str] = []
        for nest, index in loops:
            variable = nest.induction_variables[index]
            form = IterationSystem().normalize_form(
                AffineSum.of(variable), self.nest, at
            )
            value = form.substitute(values)
            text = "?" if value.terms else str(value.constant)
            names.append(f"%{variable.name_hint or 'i'} = {text}")
        return f"({', '.join(names)})"
