"""
Rewrite step of the pass `graph-split-k-reductions`: combination of partial reductions
that depend on the totals of other reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.analysis.recurrence.cascade import CascadeStep
from tlf.analysis.recurrence.correction_factors import Correction
from tlf.analysis.recurrence.formula import After, Apply, Before, Formula
from tlf.analysis.recurrence.reduction_restarts import Restart
from tlf.analysis.recurrence.taylor_expansions import Expansion
from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.reduction_combiner import reduce_kind_of
from tlf.dialects.types import max_finite, tensor_type
from tlf.passes.graph.correction_builder import (
    CorrectionBuilder,
    clamp_value,
    restart_total,
)
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.split_reductions.partial_values import (
    PartialValues,
    insert_unit_axis,
)


@dataclass
class PartialCombiner:
    """
    Builds the total of each step from its partial results. As in the loop of a cascade,
    a partial result is corrected for the totals of other reductions; and then, as after
    the loop, for values that are no longer clamped.
    """

    parts: Mapping[SSAValue, PartialValues]
    """Partial values that partial results were computed from, by original value."""
    limits: Callable[[Operation], Sequence[float]]
    """Limits of partial values, by the operation that computes them."""
    totals: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Totals by the original value that they replace."""
    clamped_totals: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue]
    )
    """Totals clamped to their limits, by original value."""

    def combine_step(
        self,
        step: CascadeStep,
        part: PartialValues,
        sums: Sequence[PartialValues],
        builder: Builder,
    ) -> SSAValue:
        """
        Return the total of a step, from its partial results and the sums of the changes
        of its terms.
        """
        op = step.op
        program = TensorBuilder(builder, tensor_type(part.value).element_type)
        if step.correction is not None:
            total = self._apply_correction(step.correction, part, program)
        else:
            if step.restart is not None:
                part = self._select_extreme_parts(step, step.restart, part, builder)
            if step.expansion is not None:
                part = self._apply_expansion(step.expansion, part, sums, program)
            total = program.reduce(part.value, reduce_kind_of(op), [part.axis], False)
        type_ = tensor_type(op.results[0])
        narrow = TensorBuilder(builder, type_.element_type).promote(total)
        total = reshape_to(narrow, type_.get_shape(), builder)
        self.totals[op.results[0]] = total
        self.clamped_totals[op.results[0]] = clamp_value(
            total, self.limits(op), builder
        )
        return total

    def compute_clamped(self, op: Operation, builder: Builder) -> None:
        """Rebuild an operation on totals, clamped to their limits."""
        clone = builder.insert(op.clone(self.clamped_totals))
        value = clamp_value(clone.results[0], self.limits(op), builder)
        self.clamped_totals[op.results[0]] = value

    def _select_extreme_parts(
        self, step: CascadeStep, restart: Restart, part: PartialValues, builder: Builder
    ) -> PartialValues:
        """
        Return the results of the parts that attain the total extreme, with neutral
        elements for other parts.
        """
        extreme = restart.extreme
        program = TensorBuilder(builder, tensor_type(extreme).element_type)
        formulae = _FormulaBuilder(restart.axis_matches, part.axis, program)
        before = {extreme: self.parts[extreme]}
        old, new = (
            formulae.build(each, before, self.totals)
            for each in (Before(extreme), After(extreme))
        )
        neutral = step.op.neutral_element()
        return PartialValues(
            restart_total(part.value, old, new, neutral, builder), part.axis
        )

    def _apply_expansion(
        self,
        expansion: Expansion,
        part: PartialValues,
        sums: Sequence[PartialValues],
        program: TensorBuilder,
    ) -> PartialValues:
        """Return the partial sums, corrected for the totals of other reductions."""
        formulae = _FormulaBuilder(expansion.axis_matches, part.axis, program)
        before = {value: self.parts[value] for value in expansion.axis_matches}
        total = part.value
        for change, partial_sum in zip(expansion.terms, sums, strict=True):
            product, *remaining = [_change_of(value) for value in change.powers]
            for power in remaining:
                product = Apply("mul", (product, power))
            change_value = formulae.build(product, before, self.totals)
            total = program.add(total, program.mul(partial_sum.value, change_value))
        return PartialValues(total, part.axis)

    def _apply_correction(
        self, correction: Correction, part: PartialValues, program: TensorBuilder
    ) -> SSAValue:
        formulae = _FormulaBuilder(correction.axis_matches, part.axis, program)
        build = partial(formulae.build, correction.formula)
        before = {value: self.parts[value] for value in correction.axis_matches}
        if correction.is_bounded:
            return weighted_sum_of_parts(part, build(before, self.totals), program)
        factor = build(before, self.clamped_totals)
        # Empty sums are 0 and must remain 0: the factor must be finite.
        largest = max_finite(program.element)
        factor = clamp_value(factor, [largest], program.builder)
        total = weighted_sum_of_parts(part, factor, program)
        wide = {
            value: self._total_as_part(value, program)
            for value in correction.axis_matches
        }
        final = build(wide, self.totals)
        shape = tensor_type(final).get_shape()
        axis = part.axis
        return program.mul(
            total, program.reshape(final, shape[:axis] + shape[axis + 1 :])
        )

    def _total_as_part(self, value: SSAValue, program: TensorBuilder) -> PartialValues:
        """Return a clamped total as a single part."""
        axis = self.parts[value].axis
        return PartialValues(
            insert_unit_axis(self.clamped_totals[value], axis, program.builder), axis
        )


@dataclass(frozen=True)
class _FormulaBuilder:
    """Builder of correction formulas on values with an axis of parts."""

    places: Mapping[SSAValue, AxisMatch]
    axis: int
    program: TensorBuilder

    def build(
        self,
        formula: Formula,
        before: Mapping[SSAValue, PartialValues],
        after: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """Build a formula of the values before and after a change."""
        builder, axis_matches = self.program.builder, dict[SSAValue, AxisMatch]()
        old, new = dict[SSAValue, SSAValue](), dict[SSAValue, SSAValue]()
        for value, match in self.places.items():
            axis = parts_axis_in(match, self.axis)
            old[value] = before[value].move_parts_axis(axis, builder).value
            new[value] = insert_unit_axis(after.get(value, value), axis, builder)
            axis_matches[value] = _insert_parts_axis(match, self.axis, axis)
        return CorrectionBuilder(self.program, axis_matches, old, new).build(formula)


def _change_of(value: SSAValue) -> Formula:
    """Return the formula for the change of a value."""
    return Apply("sub", (After(value), Before(value)))


def weighted_sum_of_parts(
    part: PartialValues, factor: SSAValue, program: TensorBuilder
) -> SSAValue:
    """
    Return the sum of parts times their factors; a contraction if the factors are
    constant along some axes, so that it is not fused with the producer of the parts.
    """
    pairs = enumerate(zip(part.shape, tensor_type(factor).get_shape(), strict=True))
    axes = {axis: extents for axis, extents in pairs}
    if all(extent == factor_extent for extent, factor_extent in axes.values()):
        return program.reduce(
            program.mul(part.value, factor), ReduceKind.SUM, [part.axis], False
        )
    varying = [axis for axis, (_, extent) in axes.items() if extent != 1]
    narrow = program.reshape(factor, [axes[axis][1] for axis in varying])
    result = [axis for axis in axes if axis != part.axis]
    maps = [
        AffineMap(len(axes), 0, tuple(map(AffineExpr.dimension, each)))
        for each in (axes, varying, result)
    ]
    return program.insert(graph.ContractOp(part.value, narrow, maps))


def parts_axis_in(places: AxisMatch, axis: int) -> int:
    """
    Return the axis of the parts in a value that corrects a sum with its parts at
    `axis`.
    """
    matched = [each for each in places[:axis] if each is not None]
    return max(matched, default=-1) + 1


def _insert_parts_axis(places: AxisMatch, axis: int, place: int) -> AxisMatch:
    """Return the axis match of two values that both have an axis of parts."""
    shifted = [None if each is None else each + (each >= place) for each in places]
    return (*shifted[:axis], place, *shifted[axis:])
