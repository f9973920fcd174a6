"""
Reductions along one axis that need each other's results, as one loop.

The last accumulating operation of a group, its anchor, runs along an axis that others
reduce, too: its steps. If a step needs the result of another one, as the exponentials
of a softmax need the greatest score, then the loop goes on with what this is so far,
and corrects what has been added up whenever it changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ReductionInterface,
    TilingInterface,
)
from tlf.passes.cascades.axes import AxisClasses
from tlf.passes.cascades.course import Course
from tlf.passes.tiling.form import Forms

if TYPE_CHECKING:
    from tlf.passes.cascades.bodies import Bodies
    from tlf.passes.cascades.corrections import Correction


RISING = graph.MaximumOp | graph.MinimumOp | graph.AddOp | graph.ReshapeOp
"""Operations that are never less where none of their operands is."""


@dataclass(frozen=True)
class Step:
    """A reduction along the common axis."""

    op: AccumulatingInterface
    iterator: int
    """Which of its iterators runs along the axis."""
    correction: Correction | None
    """By what its running sum is multiplied, where it depends on others."""


@dataclass(frozen=True)
class Cascade:
    """The reductions of a group along one axis."""

    anchor: AccumulatingInterface
    steps: Mapping[Operation, Step]
    """All of them, in the order of the program; the anchor is the last."""
    dependent: frozenset[Operation]
    """Other operations that need the result of one."""
    rows: tuple[Operation, ...]
    """
    Those of them that do not run along the axis, but have one result for all of it, in
    the order of the program.
    """
    before: tuple[AccumulatingInterface, ...] = ()
    """What accumulates along other axes, for all of this one, and needs no step."""


def cascade_of(operations: Sequence[TilingInterface], forms: Forms) -> Cascade | None:
    """
    The reductions of a group as one loop, or None where they are none: where the last
    one runs along several axes, another one needs results of these and neither runs
    along the same axis nor for each place of it, or there is no correction for what one
    adds up.
    """
    found = [op for op in operations if isinstance(op, AccumulatingInterface)]
    if len(found) < 2 or any(op.init_value is not None for op in found):
        return None
    if len(forms.of(found[-1]).reductions) != 1:
        return None
    axes = AxisClasses.of(operations, forms)
    if (iterators := _along(operations, axes, found[-1])) is None:
        return None
    along = [op for op in found if op in iterators]
    steps = [op for op in along if iterators[op] in forms.of(op).reductions]
    dependent = _dependent(operations, steps)
    if any(op in dependent for op in found if op not in iterators):
        return None
    rows = [op for op in operations if op in dependent and op not in iterators]
    corrected = [op for op in steps if op in dependent]
    bodies = _Corrected(dependent, axes, (*steps, *rows))
    corrections = bodies.corrections(corrected) if corrected else {}
    if corrections is None:
        return None
    return Cascade(
        found[-1],
        {op: Step(op, iterators[op], corrections.get(op)) for op in steps},
        dependent - set(steps),
        tuple(rows),
        tuple(op for op in found if op not in iterators),
    )


def _along(
    operations: Sequence[TilingInterface],
    axes: AxisClasses,
    anchor: AccumulatingInterface,
) -> dict[Operation, int] | None:
    """
    The iterators of operations along the axis that an anchor reduces; None where one
    has two of them.
    """
    (reduction,) = axes.forms.of(anchor).reductions
    axis = axes.of_iterator(anchor, reduction)
    found: dict[Operation, int] = {}
    for op in operations:
        match axes.iterators_in(op, axis):
            case []:
                pass
            case [one]:
                found[op] = one
            case _:
                return None
    return found


def _dependent(
    operations: Sequence[TilingInterface], steps: Sequence[Operation]
) -> frozenset[Operation]:
    """What needs the result of a step, other steps included."""
    found = set[Operation]()
    for op in operations:
        owners = {operand.owner for operand in op.operands}
        if any(owner in found or owner in steps for owner in owners):
            found.add(op)
    return frozenset(found)


@dataclass(frozen=True)
class _Corrected:
    """Finds the corrections of steps that need what others accumulate."""

    dependent: frozenset[Operation]
    axes: AxisClasses
    running: Sequence[Operation]
    """Steps, and what is computed of their results alone."""

    def corrections(
        self, steps: Sequence[AccumulatingInterface]
    ) -> dict[Operation, Correction] | None:
        """The corrections of steps, or None where one has none."""
        # Formulae take half a second to import, and most programs have no cascade.
        from tlf.passes.cascades.bodies import Bodies

        bodies = Bodies.of_running(self.running, self.dependent)
        found: dict[Operation, Correction] = {}
        for op in steps:
            if (correction := self._correction(op, bodies)) is None:
                return None
            found[op] = correction
        return found

    def _correction(
        self, op: AccumulatingInterface, bodies: Bodies
    ) -> Correction | None:
        from tlf.passes.cascades.corrections import correction_of

        if len(op.linear_in()) != len(op.inputs):
            return None
        courses = self._courses()
        correction = correction_of(bodies.of_step(op), bodies.running, courses)
        if correction is None:
            return None
        total = op.results[0]
        aligned = {each: self.axes.aligned(each, total) for each in correction.values}
        places = {value: each for value, each in aligned.items() if each is not None}
        if len(places) < len(aligned):
            return None
        return replace(correction, places=places)

    def _courses(self) -> dict[SSAValue, Course]:
        """How running values go while sums run."""
        found: dict[SSAValue, Course] = {}
        for op in self.running:
            found[op.results[0]] = _course(op, found)
        return found


def _course(op: Operation, known: Mapping[SSAValue, Course]) -> Course:
    """How the result of a step goes, or of what is computed of known ones."""
    if isinstance(op, ReductionInterface):
        neutral = op.neutral()
        if not isinf(neutral):
            return Course.ANY
        return Course.RISES if neutral < 0 else Course.FALLS
    if isinstance(op, AccumulatingInterface):
        return Course.ANY
    needed = {known[each] for each in op.operands if each in known}
    if len(needed) == 1 and isinstance(op, RISING):
        return needed.pop()
    return Course.ANY if Course.ANY in needed else Course.ENDS
