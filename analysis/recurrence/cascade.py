"""
Analysis of cascades: reductions along one axis that share the loop of an anchor.

The anchor, usually the last accumulating operation of a group, reduces an axis that
other operations, the steps, reduce as well. If a step needs the result of another one,
as the exponentials of a softmax need the maximum score, the loop uses the running value
of this result, and corrects the running sum whenever the value changes.
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
    find_restart_of_reduction,
    is_used_arithmetically,
)
from tlf.analysis.recurrence.taylor_expansions import Expansion, taylor_expansion_of
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
    """
    One reduction of a cascade, with the update of its running result, if it needs one.
    """

    op: AccumulatingInterface
    iterator: int
    """Its iterator along the axis."""
    correction: Correction | None
    """Correction factor of the running sum, if its terms depend on other steps."""
    restart: Restart | None = None
    """Alternative to a correction: condition under which the reduction restarts."""
    expansion: Expansion | None = None
    """
    Alternative to a correction: summand that is added to the sum. Only partial sums,
    over parts of the axis, may have one.
    """

    @property
    def is_independent(self) -> bool:
        """True if its terms depend on no other step."""
        updates = self.correction, self.restart, self.expansion
        return all(each is None for each in updates)


@dataclass(frozen=True)
class Cascade:
    """Reductions of a group that run in one loop along a common axis."""

    anchor: AccumulatingInterface
    steps: Mapping[Operation, CascadeStep]
    """All reductions along the axis, in program order; the anchor is the last."""
    dependent_operations: frozenset[Operation]
    """Other operations that depend on the result of a step."""
    row_operations: tuple[Operation, ...]
    """
    Dependent operations that do not run along the axis, and so have one result for all
    of it. In program order, without reductions of these results after the loop.
    """
    independent_reductions: tuple[AccumulatingInterface, ...] = ()
    """Reductions along other axes that do not depend on a step."""

    @property
    def has_only_independent_products(self) -> bool:
        """
        True if all reductions are products along the common axis, none of which needs
        the result of another one.
        """
        return not self.independent_reductions and all(
            isinstance(op, ContractionInterface) and step.is_independent
            for op, step in self.steps.items()
        )


class NoCascadeError(Exception):
    """Error: reductions do not form a cascade. `op` is the operation at fault."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(reason)
        self.op = op
        self.reason = reason


class NoAnchorError(NoCascadeError):
    """Error: a reduction before the last one cannot be the anchor of a cascade."""


def find_cascade(
    operations: Sequence[TilingInterface],
    op_facts: OpFactsCache,
    is_reduced_in_parts: bool = False,
    anchor: AccumulatingInterface | None = None,
    axes: AxisClasses | None = None,
) -> Cascade | None:
    """
    Return the cascade of the reductions of a group; None if there is none. With
    `is_reduced_in_parts`, parts of the axis are reduced separately and completely; then
    the change of a sum with the results of others may also be known as an expansion. If
    the anchor is not the last reduction, reductions that depend on it run after the
    loop, untiled. `axes` are the axis classes of the operations, if known.
    """
    try:
        return build_valid_cascade(
            operations, op_facts, is_reduced_in_parts, anchor, axes
        )
    except NoCascadeError:
        return None


def build_valid_cascade(
    operations: Sequence[TilingInterface],
    op_facts: OpFactsCache,
    is_reduced_in_parts: bool = False,
    anchor: AccumulatingInterface | None = None,
    axes: AxisClasses | None = None,
) -> Cascade:
    """Build the cascade, as specified for `cascade_of`. Raises `NoCascadeError`."""
    reductions, anchor = _find_reductions_and_anchor(operations, op_facts, anchor)
    axes = axes or AxisClasses.of(operations, op_facts)
    iterators = _iterators_along_anchor_axis(operations, axes, anchor)
    after = _dependent_reductions_after(operations, anchor, iterators)
    reductions = [op for op in reductions if op not in after]
    along = [op for op in reductions if op in iterators]
    if after and len(along) < 2:
        raise NoAnchorError(anchor, "nothing else runs along its axis")
    steps = [
        op for op in along if iterators[op] in op_facts.facts_of(op).reduction_dims
    ]
    dependent = _dependents_of(operations, steps)
    _check_no_dependent_initial_values(reductions, dependent, is_reduced_in_parts)
    for op in reductions:
        if op in dependent and op not in iterators:
            raise NoCascadeError(op, "it depends on a step, and reduces another axis")
    excluded = {*iterators, *after}
    rows = [op for op in operations if op in dependent and op not in excluded]
    corrected = [op for op in steps if op in dependent]
    uncorrected: dict[Operation, CascadeStep] = {
        op: CascadeStep(op, iterators[op], None) for op in steps
    }
    finder = _CorrectionFinder(dependent, axes, uncorrected, rows, is_reduced_in_parts)
    return Cascade(
        anchor,
        uncorrected | finder.find_steps_with_corrections(corrected)
        if corrected
        else uncorrected,
        dependent - set(steps),
        tuple(rows),
        tuple(op for op in reductions if op not in iterators),
    )


def _find_reductions_and_anchor(
    operations: Sequence[TilingInterface],
    op_facts: OpFactsCache,
    anchor: AccumulatingInterface | None,
) -> tuple[list[AccumulatingInterface], AccumulatingInterface]:
    """
    Return the reductions and the anchor, by default the last reduction. Raises
    `NoCascadeError` if there is one reduction, or if the anchor reduces several axes.
    """
    reductions = [op for op in operations if isinstance(op, AccumulatingInterface)]
    if len(reductions) < 2:
        raise NoCascadeError(operations[-1], "there is no other reduction")
    anchor = reductions[-1] if anchor is None else anchor
    if len(op_facts.facts_of(anchor).reduction_dims) != 1:
        raise NoCascadeError(anchor, "it reduces several axes")
    return reductions, anchor


def _dependent_reductions_after(
    operations: Sequence[TilingInterface],
    anchor: AccumulatingInterface,
    iterators: Mapping[Operation, int],
) -> frozenset[Operation]:
    """
    Return the reductions after an anchor, all of which must depend on its result.
    Raises `NoAnchorError` if one does not depend on it, if a dependent operation runs
    along the axis, or if one is a contraction: it loads its own terms, so its own loop
    is better.
    """
    dependents = _dependents_of(operations, [anchor])
    after = operations[operations.index(anchor) + 1 :]
    reductions = frozenset(op for op in after if isinstance(op, AccumulatingInterface))
    if not reductions:
        return reductions
    if not reductions <= dependents or not dependents.isdisjoint(iterators):
        raise NoAnchorError(
            anchor,
            "a later reduction is independent of it, or a dependent runs along its "
            "axis",
        )
    if any(isinstance(op, ContractionInterface) for op in reductions):
        raise NoAnchorError(anchor, "a contraction would run untiled after its loop")
    return reductions


def _check_no_dependent_initial_values(
    reductions: Sequence[AccumulatingInterface],
    dependent: AbstractSet[Operation],
    is_reduced_in_parts: bool,
) -> None:
    """
    Check that no reduction with an initial value depends on the others, because
    corrections apply to the sum but not to the initial value. With
    `is_reduced_in_parts`, no reduction may have an initial value. Raises
    `NoCascadeError`.
    """
    for op in reductions:
        if op.init_value is not None and (is_reduced_in_parts or op in dependent):
            raise NoCascadeError(op, "it has an initial value")


def _iterators_along_anchor_axis(
    operations: Sequence[TilingInterface],
    axes: AxisClasses,
    anchor: AccumulatingInterface,
) -> dict[Operation, int]:
    """
    Return the iterator of each operation along the axis that an anchor reduces. Raises
    `NoCascadeError` if an operation has several.
    """
    (reduction,) = axes.op_facts.facts_of(anchor).reduction_dims
    axis = axes.class_of(anchor, reduction)
    along: dict[Operation, int] = {}
    for op in operations:
        match axes.iterators_in_class(op, axis):
            case []:
                pass
            case [iterator]:
                along[op] = iterator
            case _:
                raise NoCascadeError(op, "it runs along the reduced axis twice")
    return along


def _dependents_of(
    operations: Sequence[TilingInterface], steps: Sequence[Operation]
) -> frozenset[Operation]:
    """
    Return the operations that depend on the result of a step, other steps included.
    """
    dependents = set[Operation]()
    for op in operations:
        owners = {operand.owner for operand in op.operands}
        if any(owner in dependents or owner in steps for owner in owners):
            dependents.add(op)
    return frozenset(dependents)


@dataclass(frozen=True)
class _CorrectionFinder:
    """Finder of the corrections of steps that depend on results of other steps."""

    dependent_operations: frozenset[Operation]
    axes: AxisClasses
    uncorrected_steps: Mapping[Operation, CascadeStep]
    """All steps, without corrections."""
    row_operations: Sequence[Operation]
    """Operations that are computed only from results of steps."""
    is_partial: bool
    """True if sums are partial, each over a part of the axis."""

    @property
    def running_operations(self) -> Sequence[Operation]:
        """Operations whose running results others may need: steps and rows."""
        return (*self.uncorrected_steps, *self.row_operations)

    def find_steps_with_corrections(
        self, corrected: Sequence[AccumulatingInterface]
    ) -> dict[Operation, CascadeStep]:
        """Return some of the steps with their corrections. Raises `NoCascadeError`."""
        found: dict[Operation, CascadeStep] = {}
        for op in corrected:
            if (step := self._find_step_with_restart(op)) is not None:
                found[op] = step
        if len(found) == len(corrected):
            return found
        # Importing SymPy takes half a second, and most programs have no cascade.
        from tlf.analysis.recurrence.symbolic_values import SymbolicValues

        bodies = SymbolicValues.of_running_operations(
            self.running_operations, self.dependent_operations
        )
        return {
            op: found.get(op) or self._build_corrected_step(op, bodies)
            for op in corrected
        }

    def _find_step_with_restart(self, op: AccumulatingInterface) -> CascadeStep | None:
        """
        Return the step with a restart at changes of an extreme; None if it has none.
        Raises `NoCascadeError` if a step also computes with this extreme.
        """
        restart = find_restart_of_reduction(
            op, self.axes.operations, self.uncorrected_steps, self.dependent_operations
        )
        if restart is None:
            return None
        if is_used_arithmetically(
            restart.extreme, self.uncorrected_steps, self.dependent_operations
        ):
            text = "it compares with an extreme that others compute with"
            raise NoCascadeError(op, text)
        matches = self._match_axes_to_sum(op, [restart.extreme])
        return replace(
            self.uncorrected_steps[op], restart=replace(restart, axis_matches=matches)
        )

    def _build_corrected_step(
        self, op: AccumulatingInterface, bodies: SymbolicValues
    ) -> CascadeStep:
        """
        Return the step of a sum with its correction factor, or its expansion if sums
        are partial. Raises `NoCascadeError` if there is neither.
        """
        if len(op.linear_operands()) != len(op.inputs):
            raise NoCascadeError(op, "it depends on other results, and is not a sum")
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
        """
        Return the factor that corrects the running sum of `op` when running values
        change. Raises `NoCascadeError` if there is none.
        """
        from tlf.analysis.recurrence.correction_factors import correction_factor_of

        evolutions, body = self._evolutions_of_running_values(), bodies.summand_of(op)
        if any(
            evolutions[value] is ValueEvolution.ARBITRARY
            for value, symbol in bodies.running_symbols.items()
            if symbol in body.free_symbols
        ):
            text = (
                "it needs the result of a sum, which is arbitrary until the sum is "
                "complete"
            )
            raise NoCascadeError(op, text)
        correction = correction_factor_of(body, bodies.running_symbols, evolutions)
        if correction is None:
            text = (
                "no factor corrects its running sum when the results that it depends "
                "on change"
            )
            raise NoCascadeError(op, text)
        return replace(
            correction, axis_matches=self._match_axes_to_sum(op, correction.values)
        )

    def _find_expansion(self, op: AccumulatingInterface) -> Expansion | None:
        """
        Return the Taylor expansion of the partial sum of `op` in running values; None
        if its terms are not polynomials.
        """
        running = [each.results[0] for each in self.running_operations]
        expansion = taylor_expansion_of(op, running, self.dependent_operations)
        if expansion is None:
            return None
        return replace(
            expansion, axis_matches=self._match_axes_to_sum(op, expansion.values)
        )

    def _match_axes_to_sum(
        self, op: AccumulatingInterface, values: Sequence[SSAValue]
    ) -> dict[SSAValue, AxisMatch]:
        """
        Return, for each value that corrects a sum, the axes of the sum that its axes
        run along. Raises `NoCascadeError` if it has others.
        """
        total = op.results[0]
        aligned = {
            each: self.axes.map_result_axes_to_value(each, total) for each in values
        }
        matches = {value: each for value, each in aligned.items() if each is not None}
        if len(matches) < len(aligned):
            raise NoCascadeError(op, "a value that corrects it has other axes")
        return matches

    def _evolutions_of_running_values(self) -> dict[SSAValue, ValueEvolution]:
        """
        Return the evolution of each running value before its reduction is complete.
        """
        evolutions: dict[SSAValue, ValueEvolution] = {}
        for op in self.running_operations:
            evolutions[op.results[0]] = _evolution_of(op, evolutions)
        return evolutions


def _evolution_of(
    op: Operation, known: Mapping[SSAValue, ValueEvolution]
) -> ValueEvolution:
    """
    Return the evolution of the result of a step, or of an operation on known values.
    """
    if isinstance(op, ReductionInterface):
        neutral = op.neutral_element()
        if not isinf(neutral):
            return ValueEvolution.ARBITRARY
        return ValueEvolution.INCREASING if neutral < 0 else ValueEvolution.DECREASING
    if isinstance(op, AccumulatingInterface):
        return ValueEvolution.ARBITRARY
    evolutions = {known[each] for each in op.operands if each in known}
    if len(evolutions) == 1 and isinstance(op, MONOTONE_OPS):
        return evolutions.pop()
    return (
        ValueEvolution.ARBITRARY
        if ValueEvolution.ARBITRARY in evolutions
        else ValueEvolution.CONVERGING
    )
