"""
Reductions along one axis that need each other's results, as one loop.

The anchor, most often the last accumulating operation of a group, runs along an axis
that others reduce, too: its steps. If a step needs the result of another one, as the
exponentials of a softmax need the greatest score, then the loop goes on with what this
is so far, and corrects what has been added up whenever it changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from math import isinf
from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from tlf.analysis.operations.form import Forms
from tlf.analysis.recurrence.axes import AxisClasses, Places
from tlf.analysis.recurrence.course import Course
from tlf.analysis.recurrence.expansions import Expansion, expansion_of
from tlf.analysis.recurrence.restarts import Restart, is_computed_with, restart_of
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ReductionInterface,
    TilingInterface,
)

if TYPE_CHECKING:
    from tlf.analysis.recurrence.bodies import Bodies
    from tlf.analysis.recurrence.corrections import Correction


RISING = graph.MaximumOp | graph.MinimumOp | graph.AddOp | graph.ReshapeOp
"""Operations that are never less where none of their operands is."""


@dataclass(frozen=True)
class Step:
    """A reduction along the common axis."""

    op: AccumulatingInterface
    iterator: int
    """Its iterator that runs along the axis."""
    correction: Correction | None
    """Factor of its running sum, where it depends on others."""
    restart: Restart | None = None
    """Condition under which it starts again instead."""
    expansion: Expansion | None = None
    """
    Summand that is added to it instead. Only partial sums, over parts of the axis, may
    have one.
    """


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
    the order of the program, but for what reduces that behind the loop.
    """
    before: tuple[AccumulatingInterface, ...] = ()
    """Reductions along other axes, for all indices of this one, that need no step."""


class NoCascadeError(Exception):
    """Reductions are no loop. `op` is the one that stands in the way."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


class NoAnchorError(NoCascadeError):
    """A reduction before the last one has no loop that others may run behind."""


def cascade_of(
    operations: Sequence[TilingInterface],
    forms: Forms,
    in_parts: bool = False,
    anchor: AccumulatingInterface | None = None,
    axes: AxisClasses | None = None,
) -> Cascade | None:
    """
    The reductions of a group as one loop, or None where they are none: where the last
    one runs along several axes, another one needs results of these and neither runs
    along the same axis nor for each place of it, or one that needs others has no
    correction for what it adds up, and does not start again. With `in_parts`, parts of
    the axis are reduced one by one, each as a whole: what its sums change by with the
    results of others may then be known as well. With an anchor other than the last
    reduction, those that need its result run whole, behind the loop. `axes` are those
    of the operations, if they are known.
    """
    try:
        return build_cascade(operations, forms, in_parts, anchor, axes)
    except NoCascadeError:
        return None


def build_cascade(
    operations: Sequence[TilingInterface],
    forms: Forms,
    in_parts: bool = False,
    anchor: AccumulatingInterface | None = None,
    axes: AxisClasses | None = None,
) -> Cascade:
    """The loop of what accumulates, as `cascade_of` says. Raises `NoCascadeError`."""
    found = [op for op in operations if isinstance(op, AccumulatingInterface)]
    if len(found) < 2:
        raise NoCascadeError(operations[-1], "there is no other reduction")
    anchor = found[-1] if anchor is None else anchor
    if len(forms.of(anchor).reductions) != 1:
        raise NoCascadeError(anchor, "it reduces several axes")
    axes = axes or AxisClasses.of(operations, forms)
    iterators = _along(operations, axes, anchor)
    behind = _behind(operations, anchor, iterators)
    found = [op for op in found if op not in behind]
    along = [op for op in found if op in iterators]
    if behind and len(along) < 2:
        raise NoAnchorError(anchor, "nothing else runs along its axis")
    steps = [op for op in along if iterators[op] in forms.of(op).reductions]
    dependent = _dependent(operations, steps)
    _check_starts(found, dependent, in_parts)
    for op in found:
        if op in dependent and op not in iterators:
            raise NoCascadeError(op, "it reduces another axis of what is reduced")
    whole = {*iterators, *behind}
    rows = [op for op in operations if op in dependent and op not in whole]
    corrected = [op for op in steps if op in dependent]
    alone: dict[Operation, Step] = {op: Step(op, iterators[op], None) for op in steps}
    known = _Corrected(dependent, axes, alone, rows, in_parts)
    return Cascade(
        anchor,
        alone | known.steps(corrected) if corrected else alone,
        dependent - set(steps),
        tuple(rows),
        tuple(op for op in found if op not in iterators),
    )


def _behind(
    operations: Sequence[TilingInterface],
    anchor: AccumulatingInterface,
    iterators: Mapping[Operation, int],
) -> frozenset[Operation]:
    """
    Return the reductions after an anchor that depend on its result. Raises
    `NoAnchorError` if some do not depend on it, if an operation that does runs along
    the axis, or if one is a contraction: that has terms to load, for which a loop of
    its own is better.
    """
    needing = _dependent(operations, [anchor])
    after = operations[operations.index(anchor) + 1 :]
    found = frozenset(op for op in after if isinstance(op, AccumulatingInterface))
    if not found:
        return found
    if not found <= needing or not needing.isdisjoint(iterators):
        raise NoAnchorError(anchor, "what comes behind its loop is needed in it")
    if any(isinstance(op, ContractionInterface) for op in found):
        raise NoAnchorError(anchor, "a contraction would run whole behind its loop")
    return found


def _check_starts(
    found: Sequence[AccumulatingInterface],
    dependent: AbstractSet[Operation],
    in_parts: bool,
) -> None:
    """
    Check that no reduction that starts from a tensor depends on the others, as
    corrections apply to the sum but not to its start; nor has parts, each with a start.
    Raises `NoCascadeError`.
    """
    for op in found:
        if op.init_value is not None and (in_parts or op in dependent):
            raise NoCascadeError(op, "it starts from a tensor")


def _along(
    operations: Sequence[TilingInterface],
    axes: AxisClasses,
    anchor: AccumulatingInterface,
) -> dict[Operation, int]:
    """The iterators of operations along the axis that an anchor reduces, one each."""
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
                raise NoCascadeError(op, "it runs along the reduced axis twice")
    return found


def _dependent(
    operations: Sequence[TilingInterface], steps: Sequence[Operation]
) -> frozenset[Operation]:
    """
    Return the operations that depend on the result of a step, other steps included.
    """
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
    alone: Mapping[Operation, Step]
    """All steps, without corrections."""
    rows: Sequence[Operation]
    """Operations that are computed from their results alone."""
    in_parts: bool
    """True if sums are partial, each over a part of the axis."""

    @property
    def running(self) -> Sequence[Operation]:
        """Operations whose results others may need: steps and rows."""
        return (*self.alone, *self.rows)

    def steps(
        self, corrected: Sequence[AccumulatingInterface]
    ) -> dict[Operation, Step]:
        """Some of the steps, with corrections. Raises `NoCascadeError`."""
        found: dict[Operation, Step] = {}
        for op in corrected:
            if (step := self._restarted(op)) is not None:
                found[op] = step
        if len(found) == len(corrected):
            return found
        # Formulae take half a second to import, and most programs have no cascade.
        from tlf.analysis.recurrence.bodies import Bodies

        bodies = Bodies.of_running(self.running, self.dependent)
        return {op: found.get(op) or self._step(op, bodies) for op in corrected}

    def _restarted(self, op: AccumulatingInterface) -> Step | None:
        """A step that starts again where an extreme changes, if it is one."""
        restart = restart_of(op, self.axes.operations, self.alone, self.dependent)
        if restart is None:
            return None
        if is_computed_with(restart.extreme, self.alone, self.dependent):
            text = "it compares with an extreme that others compute with"
            raise NoCascadeError(op, text)
        places = self._places(op, [restart.extreme])
        return replace(self.alone[op], restart=replace(restart, places=places))

    def _step(self, op: AccumulatingInterface, bodies: Bodies) -> Step:
        if len(op.linear_in()) != len(op.inputs):
            raise NoCascadeError(op, "it needs other results, and is no sum")
        step = self.alone[op]
        try:
            return replace(step, correction=self._correction(op, bodies))
        except NoCascadeError:
            expansion = self._expansion(op) if self.in_parts else None
            if expansion is None:
                raise
            return replace(step, expansion=expansion)

    def _correction(self, op: AccumulatingInterface, bodies: Bodies) -> Correction:
        from tlf.analysis.recurrence.corrections import correction_of

        courses, body = self._courses(), bodies.of_step(op)
        if any(
            courses[value] is Course.ANY
            for value, symbol in bodies.running.items()
            if symbol in body.free_symbols
        ):
            text = "it needs the result of a sum, which may be anything until its end"
            raise NoCascadeError(op, text)
        correction = correction_of(body, bodies.running, courses)
        if correction is None:
            text = "no factor corrects what it has added up for other results it needs"
            raise NoCascadeError(op, text)
        return replace(correction, places=self._places(op, correction.values))

    def _expansion(self, op: AccumulatingInterface) -> Expansion | None:
        running = [each.results[0] for each in self.running]
        expansion = expansion_of(op, running, self.dependent)
        if expansion is None:
            return None
        return replace(expansion, places=self._places(op, expansion.values))

    def _places(
        self, op: AccumulatingInterface, values: Sequence[SSAValue]
    ) -> dict[SSAValue, Places]:
        """
        Return for each value that corrects a sum the axes of the sum that its axes run
        along. Raises `NoCascadeError` if it has others.
        """
        total = op.results[0]
        aligned = {each: self.axes.aligned(each, total) for each in values}
        places = {value: each for value, each in aligned.items() if each is not None}
        if len(places) < len(aligned):
            raise NoCascadeError(op, "what corrects it has other axes")
        return places

    def _courses(self) -> dict[SSAValue, Course]:
        """Return the monotonicity of running values while sums run."""
        found: dict[SSAValue, Course] = {}
        for op in self.running:
            found[op.results[0]] = _course(op, found)
        return found


def _course(op: Operation, known: Mapping[SSAValue, Course]) -> Course:
    """
    Return the monotonicity of the result of a step, or of an operation on known values.
    """
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
