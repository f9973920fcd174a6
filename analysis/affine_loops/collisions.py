"""Two executions that write one element, named by their iterations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from tlf.analysis.affine_loops.boxes import Access
from tlf.analysis.affine_loops.counting import loops_around
from tlf.analysis.affine_loops.integers import FAR
from tlf.analysis.affine_loops.systems import System, counter
from tlf.dialects import tile
from tlf.support.affine.access import Linear

ONE, OTHER, GAP = "one", "other", "gap"

Loop = tuple[tile.WhileOp, int]


@dataclass(frozen=True)
class Collision:
    """Two iterations, as text, that write a common element."""

    access: Access
    one: str
    other: str
    is_parallel: bool
    """True if no order between them is known."""

    def __str__(self) -> str:
        return f"iterations {self.one} and {self.other} write the same element"


def collision(accesses: Sequence[Access], nest: tile.WhileOp) -> Collision | None:
    """
    A collision of executions of operations in a nest, of parallel iterations if there
    is one. Raises `UndecidedError`.
    """
    found: Collision | None = None
    for number, one in enumerate(accesses):
        for other in accesses[: number + 1]:
            each = _Two(one, other, nest).collision()
            if each is not None and (found is None or each.is_parallel):
                found = each
            if found is not None and found.is_parallel:
                return found
    return found


@dataclass(frozen=True)
class _Two:
    """Two operations of a nest, or one of it twice."""

    one: Access
    other: Access
    nest: tile.WhileOp

    def collision(self) -> Collision | None:
        ours, theirs = (
            loops_around(each.op, self.nest) for each in (self.one, self.other)
        )
        common = [
            loop for loop, same in zip(ours, theirs, strict=False) if loop[0] is same[0]
        ]
        ordered: Collision | None = None
        for level, (loop, _) in enumerate(common):
            for is_later in (True, False)[: 1 if self.one is self.other else 2]:
                found = self._at(common, level, is_later, ours, theirs)
                if found is not None and loop.parallel:
                    return found
                ordered = ordered or found
        if ordered is None and self.one is not self.other:
            return self._at(common, len(common), True, ours, theirs)
        return ordered

    def _at(
        self,
        common: Sequence[Loop],
        level: int,
        is_later: bool,
        ours: Sequence[Loop],
        theirs: Sequence[Loop],
    ) -> Collision | None:
        """A collision of iterations that differ first in the loop of a number."""
        system = System()
        for loops, at in ((ours, ONE), (theirs, OTHER)):
            for loop, number in loops:
                variable = loop.induction_variables[number]
                system.placed(Linear.of(variable), self.nest, at)
        system.meet(
            system.box(self.one, self.nest, ONE),
            system.box(self.other, self.nest, OTHER),
        )
        forms: dict[Hashable, Linear] = {}
        for loop in common[:level]:
            forms[self._key(loop, OTHER)] = Linear.of(self._key(loop, ONE))
        if level < len(common):
            later, earlier = (ONE, OTHER) if is_later else (OTHER, ONE)
            system.domains[GAP] = (1, FAR)
            ahead = Linear.of(self._key(common[level], earlier)) + Linear.of(GAP)
            forms[self._key(common[level], later)] = ahead
        for variable, form in forms.items():
            system.substitute(variable, form)
        if (values := system.solution()) is None:
            return None
        known = {key: Linear(value) for key, value in values.items()}
        known |= {key: form.substitute(known) for key, form in forms.items()}
        parallel = level < len(common) and common[level][0].parallel
        texts = [self._text(ours, ONE, known), self._text(theirs, OTHER, known)]
        return Collision(self.one, texts[0], texts[1], parallel)

    def _key(self, loop: Loop, at: str) -> Hashable:
        nest, number = loop
        if nest is self.nest:
            return counter(number, at)
        return at, nest.induction_variables[number]

    def _text(
        self, loops: Sequence[Loop], at: str, values: Mapping[Hashable, Linear]
    ) -> str:
        """The induction variables of an iteration."""
        names: list[str] = []
        for nest, number in loops:
            variable = nest.induction_variables[number]
            form = System().placed(Linear.of(variable), self.nest, at)
            number_at = form.substitute(values)
            shown = "?" if number_at.terms else str(number_at.constant)
            names.append(f"%{variable.name_hint or 'i'} = {shown}")
        return f"({', '.join(names)})"
