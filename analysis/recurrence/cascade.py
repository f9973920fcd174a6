"""
Cascaded reductions: reductions along one axis that share the loop of an anchor.

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

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.recurrence.axis_classes import AxisClasses, AxisMatch
from tlf.analysis.recurrence.reduction_restarts import (
    Restart,
    is_used_arithmetically,
    restart_of,
)
from tlf.analysis.recurrence.taylor_expansions import Expansion, expansion_of
from tlf.analysis.recurrence.value_evolution import ValueEvolution
from tlf.dialects import graph
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    ReductionInterface,
    TilingInterface,
)

if TYPE_CHECKING:
    from tlf.analysis.recurrence.correction_factors import Correction
    from tlf.analysis.recurrence.symbolic_values import SymbolicValues


MONOTONE_OPS = graph.MaximumOp | graph.MinimumOp | graph.AddOp | graph.ReshapeOp
"""Operations that are monotone in all of their operands."""


@dataclass(frozen=True)
class CascadeStep:
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
    steps: Mapping[Operation, CascadeStep]
    """All of them, in the order of the program; the anchor is the last."""
    dependent: frozenset[Operation]
    """Other operations that need the result of one."""
    rows: tuple[Operation, ...]
    """
    Those of them that do not run along the axis, but have one result for all of it, in
    the order of the program, but for what reduces that behind the loop.
    """
    independent_reductions: tuple[AccumulatingInterface, ...] = ()
    """Reductions along other axes, for all indices of this one, that need no step."""


class NoCascadeError(Exception):
    """
    Raised with the operation at fault where reductions form no cascade. `op` is the one
    that stands in the way.
    """

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


class NoAnchorError(NoCascadeError):
    """A reduction before the last one has no loop that others may run behind."""


def cascade_of(
    operations: Sequence[TilingInterface],
    forms: OpFactsCache,
    in_parts: bool = False,
    anchor: AccumulatingInterface | None = None,
    axes: AxisClasses | None = None,
) -> Cascade | None:
    """
    Return the cascade of the reductions of a group; None if they form none. With
    `in_parts`, parts of the axis are reduced one by one, each as a whole: what its sums
    change by with the results of others may then be known as well. With an anchor other
    than the last reduction, those that need its result run whole, behind the loop.
    `axes` are those of the operations, if they are known.
    """
    try:
        return build_cascade(operations, forms, in_parts, anchor, axes)
    except NoCascadeError:
        return None


def build_cascade(
    operations: Sequence[TilingInterface],
    forms: OpFactsCache,
    in_parts: bool = False,
    anchor: AccumulatingInterface | None = None,
    axes: AxisClasses | None = None,
) -> Cascade:
    """The loop of what accumulates, as `cascade_of` says. Raises `NoCascadeError`."""
    found = [op for op in operations if isinstance(op, AccumulatingInterface)]
    if len(found) < 2:
        raise NoCascadeError(operations[-1], "there is no other reduction")
    anchor = found[-1] if anchor is None else anchor
    if len(forms.of(anchor).reduction_dims) != 1:
        raise NoCascadeError(anchor, "it reduces several axes")
    axes = axes or AxisClasses.of(operations, forms)
    iterators = _iterators_along(operations, axes, anchor)
    behind = _reductions_after(operations, anchor, iterators)
    found = [op for op in found if op not in behind]
    along = [op for op in found if op in iterators]
    if behind and len(along) < 2:
        raise NoAnchorError(anchor, "nothing else runs along its axis")
    steps = [op for op in along if iterators[op] in forms.of(op).reduction_dims]
    dependent = _dependents_of(operations, steps)
    _check_initial_values(found, dependent, in_parts)
    for op in found:
        if op in dependent and op not in iterators:
            raise NoCascadeError(op, "it reduces another axis of what is reduced")
    whole = {*iterators, *behind}
    rows = [op for op in operations if op in dependent and op not in whole]
    corrected = [op for op in steps if op in dependent]
    alone: dict[Operation, CascadeStep] = {
        op: CascadeStep(op, iterators[op], None) for op in steps
    }
    known = _CorrectionFinder(dependent, axes, alone, rows, in_parts)
    return Cascade(
        anchor,
        alone | known.find_corrected_steps(corrected) if corrected else alone,
        dependent - set(steps),
        tuple(rows),
        tuple(op for op in found if op not in iterators),
    )


def _reductions_after(
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
    needing = _dependents_of(operations, [anchor])
    after = operations[operations.index(anchor) + 1 :]
    found = frozenset(op for op in after if isinstance(op, AccumulatingInterface))
    if not found:
        return found
    if not found <= needing or not needing.isdisjoint(iterators):
        raise NoAnchorError(anchor, "what comes behind its loop is needed in it")
    if any(isinstance(op, ContractionInterface) for op in found):
        raise NoAnchorError(anchor, "a contraction would run whole behind its loop")
    return found


def _check_initial_values(
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


def _iterators_along(
    operations: Sequence[TilingInterface],
    axes: AxisClasses,
    anchor: AccumulatingInterface,
) -> dict[Operation, int]:
    """The iterators of operations along the axis that an anchor reduces, one each."""
    (reduction,) = axes.forms.of(anchor).reduction_dims
    axis = axes.class_of(anchor, reduction)
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


def _dependents_of(
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
class _CorrectionFinder:
    """Finds the corrections of steps that need what others accumulate."""

    dependent: frozenset[Operation]
    axes: AxisClasses
    uncorrected_steps: Mapping[Operation, CascadeStep]
    """All steps, without corrections."""
    rows: Sequence[Operation]
    """Operations that are computed from their results alone."""
    is_partial: bool
    """True if sums are partial, each over a part of the axis."""

    @property
    def running_operations(self) -> Sequence[Operation]:
        """Operations whose results others may need: steps and rows."""
        return (*self.uncorrected_steps, *self.rows)

    def find_corrected_steps(
        self, corrected: Sequence[AccumulatingInterface]
    ) -> dict[Operation, CascadeStep]:
        """Some of the steps, with corrections. Raises `NoCascadeError`."""
        found: dict[Operation, CascadeStep] = {}
        for op in corrected:
            if (step := self._find_restart(op)) is not None:
                found[op] = step
        if len(found) == len(corrected):
            return found
        # Formulae take half a second to import, and most programs have no cascade.
        from tlf.analysis.recurrence.symbolic_values import SymbolicValues

        bodies = SymbolicValues.of_running(self.running_operations, self.dependent)
        return {op: found.get(op) or self._correct_step(op, bodies) for op in corrected}

    def _find_restart(self, op: AccumulatingInterface) -> CascadeStep | None:
        """A step that starts again where an extreme changes, if it is one."""
        restart = restart_of(
            op, self.axes.operations, self.uncorrected_steps, self.dependent
        )
        if restart is None:
            return None
        if is_used_arithmetically(
            restart.extreme, self.uncorrected_steps, self.dependent
        ):
            text = "it compares with an extreme that others compute with"
            raise NoCascadeError(op, text)
        places = self._match_axes(op, [restart.extreme])
        return replace(
            self.uncorrected_steps[op], restart=replace(restart, axis_matches=places)
        )

    def _correct_step(
        self, op: AccumulatingInterface, bodies: SymbolicValues
    ) -> CascadeStep:
        if len(op.linear_operands()) != len(op.inputs):
            raise NoCascadeError(op, "it needs other results, and is no sum")
        step = self.uncorrected_steps[op]
        try:
            return replace(step, correction=self._find_correction(op, bodies))
        except NoCascadeError:
            expansion = self._find_expansion(op) if self.is_partial else None
            if expansion is None:
                raise
            return replace(step, expansion=expansion)

    def _find_correction(
        self, op: AccumulatingInterface, bodies: SymbolicValues
    ) -> Correction:
        from tlf.analysis.recurrence.correction_factors import correction_of

        courses, body = self._value_evolutions(), bodies.term_of(op)
        if any(
            courses[value] is ValueEvolution.ARBITRARY
            for value, symbol in bodies.running_symbols.items()
            if symbol in body.free_symbols
        ):
            text = "it needs the result of a sum, which may be anything until its end"
            raise NoCascadeError(op, text)
        correction = correction_of(body, bodies.running_symbols, courses)
        if correction is None:
            text = "no factor corrects what it has added up for other results it needs"
            raise NoCascadeError(op, text)
        return replace(correction, axis_matches=self._match_axes(op, correction.values))

    def _find_expansion(self, op: AccumulatingInterface) -> Expansion | None:
        running = [each.results[0] for each in self.running_operations]
        expansion = expansion_of(op, running, self.dependent)
        if expansion is None:
            return None
        return replace(expansion, axis_matches=self._match_axes(op, expansion.values))

    def _match_axes(
        self, op: AccumulatingInterface, values: Sequence[SSAValue]
    ) -> dict[SSAValue, AxisMatch]:
        """
        Return for each value that corrects a sum the axes of the sum that its axes run
        along. Raises `NoCascadeError` if it has others.
        """
        total = op.results[0]
        aligned = {each: self.axes.align_axes(each, total) for each in values}
        places = {value: each for value, each in aligned.items() if each is not None}
        if len(places) < len(aligned):
            raise NoCascadeError(op, "what corrects it has other axes")
        return places

    def _value_evolutions(self) -> dict[SSAValue, ValueEvolution]:
        """Return the monotonicity of running values while sums run."""
        found: dict[SSAValue, ValueEvolution] = {}
        for op in self.running_operations:
            found[op.results[0]] = _evolution_of(op, found)
        return found


def _evolution_of(
    op: Operation, known: Mapping[SSAValue, ValueEvolution]
) -> ValueEvolution:
    """
    Return the monotonicity of the result of a step, or of an operation on known values.
    """
    if isinstance(op, ReductionInterface):
        neutral = op.neutral_element()
        if not isinf(neutral):
            return ValueEvolution.ARBITRARY
        return ValueEvolution.INCREASING if neutral < 0 else ValueEvolution.DECREASING
    if isinstance(op, AccumulatingInterface):
        return ValueEvolution.ARBITRARY
    needed = {known[each] for each in op.operands if each in known}
    if len(needed) == 1 and isinstance(op, MONOTONE_OPS):
        return needed.pop()
    return (
        ValueEvolution.ARBITRARY
        if ValueEvolution.ARBITRARY in needed
        else ValueEvolution.CONVERGING
    )
