"""
Rewrite step of the pass `graph-split-k-reductions`: combination of partial reductions
that depend on the totals of other reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.analysis.recurrence.cascade import CascadeStep
from tlf.analysis.recurrence.formula import (
    ElementwiseFormula,
    Formula,
    ValueAfterIteration,
    ValueBeforeIteration,
)
from tlf.analysis.recurrence.reduction_restarts import Restart
from tlf.analysis.recurrence.taylor_expansions import Expansion
from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.reduction_combiner import reduce_kind_of
from tlf.dialects.types import max_finite_value_of_type, tensor_type
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

if TYPE_CHECKING:
    from tlf.analysis.recurrence.correction_factors import Correction


@dataclass
class PartialCombiner:
    """
    Builds the total of each step from its partial results. As in the loop of a cascade,
    a partial result is corrected for the totals of other reductions; and then, as after
    the loop, for values that are no longer clamped.
    """

    partial_values: Mapping[SSAValue, PartialValues]
    """Partial values that partial results were computed from, by original value."""
    clamp_limits_of: Callable[[Operation], Sequence[float]]
    """Limits of partial values, by the operation that computes them."""
    totals: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Totals by the original value that they replace."""
    clamped_totals: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue]
    )
    """Totals clamped to their limits, by original value."""

    def combine_partials_of_step(
        self,
        step: CascadeStep,
        partial_results: PartialValues,
        term_change_sums: Sequence[PartialValues],
        builder: Builder,
    ) -> SSAValue:
        """
        Return the total of a step, from its partial results and the sums of the changes
        of its terms.
        """
        op = step.op
        program = TensorBuilder(
            builder, tensor_type(partial_results.value).element_type
        )
        if step.correction is not None:
            total = self._total_of_corrected_partials(
                step.correction, partial_results, program
            )
        else:
            total = self._reduce_uncorrected_partials(
                step, partial_results, term_change_sums, builder
            )
        type_ = tensor_type(op.results[0])
        narrow = TensorBuilder(builder, type_.element_type).promote_to_builder_type(
            total
        )
        total = reshape_to(narrow, type_.get_shape(), builder)
        self.totals[op.results[0]] = total
        self.clamped_totals[op.results[0]] = clamp_value(
            total, self.clamp_limits_of(op), builder
        )
        return total

    def _reduce_uncorrected_partials(
        self,
        step: CascadeStep,
        partial_results: PartialValues,
        term_change_sums: Sequence[PartialValues],
        builder: Builder,
    ) -> SSAValue:
        """
        Build the total of a step without correction, a reduction of its partial results
        along their axis of parts.
        """
        program = TensorBuilder(
            builder, tensor_type(partial_results.value).element_type
        )
        if step.restart is not None:
            partial_results = self._neutralize_parts_below_extreme(
                step, step.restart, partial_results, builder
            )
        if step.expansion is not None:
            partial_results = self._correct_sums_by_expansion(
                step.expansion, partial_results, term_change_sums, program
            )
        return program.reduce(
            partial_results.value,
            reduce_kind_of(step.op),
            [partial_results.parts_axis],
            False,
        )

    def rebuild_on_clamped_totals(self, op: Operation, builder: Builder) -> None:
        """Rebuild an operation on totals, clamped to their limits."""
        clone = builder.insert(op.clone(self.clamped_totals))
        value = clamp_value(clone.results[0], self.clamp_limits_of(op), builder)
        self.clamped_totals[op.results[0]] = value

    def _neutralize_parts_below_extreme(
        self,
        step: CascadeStep,
        restart: Restart,
        partial_results: PartialValues,
        builder: Builder,
    ) -> PartialValues:
        """
        Return the results of the parts that attain the total extreme, with neutral
        elements for other parts.
        """
        extreme = restart.extreme
        program = TensorBuilder(builder, tensor_type(extreme).element_type)
        formulae = _FormulaBuilder(
            restart.axis_matches, partial_results.parts_axis, program
        )
        before = {extreme: self.partial_values[extreme]}
        old, new = (
            formulae.build_correction_formula(each, before, self.totals)
            for each in (ValueBeforeIteration(extreme), ValueAfterIteration(extreme))
        )
        neutral = step.op.neutral_element()
        return PartialValues(
            restart_total(partial_results.value, old, new, neutral, builder),
            partial_results.parts_axis,
        )

    def _correct_sums_by_expansion(
        self,
        expansion: Expansion,
        partial_sums: PartialValues,
        term_change_sums: Sequence[PartialValues],
        program: TensorBuilder,
    ) -> PartialValues:
        """Return the partial sums, corrected for the totals of other reductions."""
        formulae = _FormulaBuilder(
            expansion.axis_matches, partial_sums.parts_axis, program
        )
        before = {value: self.partial_values[value] for value in expansion.axis_matches}
        total = partial_sums.value
        for change, partial_sum in zip(expansion.terms, term_change_sums, strict=True):
            product, *remaining = [_formula_of_change(value) for value in change.powers]
            for power in remaining:
                product = ElementwiseFormula("mul", (product, power))
            change_value = formulae.build_correction_formula(
                product, before, self.totals
            )
            total = program.add(total, program.mul(partial_sum.value, change_value))
        return PartialValues(total, partial_sums.parts_axis)

    def _total_of_corrected_partials(
        self,
        correction: Correction,
        partial_results: PartialValues,
        program: TensorBuilder,
    ) -> SSAValue:
        """Return the sum of partial results, each corrected for the totals."""
        formulae = _FormulaBuilder(
            correction.axis_matches, partial_results.parts_axis, program
        )
        build = partial(formulae.build_correction_formula, correction.formula)
        before = {
            value: self.partial_values[value] for value in correction.axis_matches
        }
        if correction.is_bounded:
            return weighted_sum_of_parts(
                partial_results, build(before, self.totals), program
            )
        factor = build(before, self.clamped_totals)
        # Empty sums are 0 and must remain 0: the factor must be finite.
        largest = max_finite_value_of_type(program.element)
        factor = clamp_value(factor, [largest], program.builder)
        total = weighted_sum_of_parts(partial_results, factor, program)
        wide = {
            value: self._clamped_total_as_single_part(value, program)
            for value in correction.axis_matches
        }
        final = build(wide, self.totals)
        shape = tensor_type(final).get_shape()
        axis = partial_results.parts_axis
        return program.mul(
            total, program.reshape(final, shape[:axis] + shape[axis + 1 :])
        )

    def _clamped_total_as_single_part(
        self, value: SSAValue, program: TensorBuilder
    ) -> PartialValues:
        """
        Return the clamped total of `value`, reshaped to an axis of parts of extent 1.
        """
        axis = self.partial_values[value].parts_axis
        return PartialValues(
            insert_unit_axis(self.clamped_totals[value], axis, program.builder), axis
        )


@dataclass(frozen=True)
class _FormulaBuilder:
    """Builder of correction formulas on values with an axis of parts."""

    axis_matches: Mapping[SSAValue, AxisMatch]
    parts_axis: int
    program: TensorBuilder

    def build_correction_formula(
        self,
        formula: Formula,
        before: Mapping[SSAValue, PartialValues],
        after: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """
        Build operations that compute a formula from partial values before a change and
        whole values after it.
        """
        builder, axis_matches = self.program.builder, dict[SSAValue, AxisMatch]()
        old, new = dict[SSAValue, SSAValue](), dict[SSAValue, SSAValue]()
        for value, match in self.axis_matches.items():
            axis = parts_axis_of_correcting_value(match, self.parts_axis)
            old[value] = before[value].move_parts_axis(axis, builder).value
            new[value] = insert_unit_axis(after.get(value, value), axis, builder)
            axis_matches[value] = _insert_parts_axis(match, self.parts_axis, axis)
        return CorrectionBuilder(
            self.program, axis_matches, old, new
        ).build_formula_tile(formula)


def _formula_of_change(value: SSAValue) -> Formula:
    """Return the formula for the change of a value."""
    return ElementwiseFormula(
        "sub", (ValueAfterIteration(value), ValueBeforeIteration(value))
    )


def weighted_sum_of_parts(
    partial_results: PartialValues, part_factors: SSAValue, program: TensorBuilder
) -> SSAValue:
    """
    Return the sum of parts times their factors; a contraction if the factors are
    constant along some axes, so that it is not fused with the producer of the parts.
    """
    pairs = enumerate(
        zip(partial_results.shape, tensor_type(part_factors).get_shape(), strict=True)
    )
    axes = {axis: extents for axis, extents in pairs}
    if all(extent == factor_extent for extent, factor_extent in axes.values()):
        return program.reduce(
            program.mul(partial_results.value, part_factors),
            ReduceKind.SUM,
            [partial_results.parts_axis],
            False,
        )
    varying = [axis for axis, (_, extent) in axes.items() if extent != 1]
    narrow = program.reshape(part_factors, [axes[axis][1] for axis in varying])
    result = [axis for axis in axes if axis != partial_results.parts_axis]
    maps = [
        AffineMap(len(axes), 0, tuple(map(AffineExpr.dimension, each)))
        for each in (axes, varying, result)
    ]
    return program.insert(graph.ContractOp(partial_results.value, narrow, maps))


def parts_axis_of_correcting_value(axis_match: AxisMatch, axis: int) -> int:
    """
    Return the axis of the parts in a value that corrects a sum with its parts at
    `axis`.
    """
    matched = [each for each in axis_match[:axis] if each is not None]
    return max(matched, default=-1) + 1


def _insert_parts_axis(
    axis_match: AxisMatch, axis: int, matching_axis: int
) -> AxisMatch:
    """Return the axis match of two values that both have an axis of parts."""
    shifted = [
        None if each is None else each + (each >= matching_axis) for each in axis_match
    ]
    return (*shifted[:axis], matching_axis, *shifted[axis:])
