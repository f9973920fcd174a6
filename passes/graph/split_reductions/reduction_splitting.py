"""
Rewrite of the pass `graph-split-k-reductions`: splitting of the reductions of a group
into partial reductions and their combination.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.operations.op_facts import OpFacts, OpFactsCache
from tlf.analysis.recurrence import running_limits
from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.analysis.recurrence.cascade import Cascade, CascadeStep, cascade_of
from tlf.analysis.recurrence.taylor_expansions import Expansion
from tlf.dialects import graph
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.reduction_combiner import reduce_kind_of
from tlf.dialects.types import tensor_type
from tlf.passes.graph.correction_builder import clamp_value
from tlf.passes.graph.permutations import reshape_to
from tlf.passes.graph.split_reductions.combine_partials import PartialCombiner
from tlf.passes.graph.split_reductions.partial_operations import (
    NotSplittableError,
    PartialBuilder,
    can_rebuild_on_parts,
)
from tlf.passes.graph.split_reductions.partial_values import PartialValues
from tlf.passes.op_replacement import is_in_planned_group


@dataclass(frozen=True)
class SplittableReductions:
    """
    Reductions along one axis, with the operations that may be rebuilt on its parts.
    """

    operations: Sequence[TilingInterface]
    """Operations in program order, including the reductions."""
    steps: Mapping[Operation, CascadeStep]
    cascade: Cascade | None
    forms: OpFactsCache

    @staticmethod
    def of(
        group: Sequence[TilingInterface],
        operations: Sequence[TilingInterface],
        expands: bool = True,
    ) -> SplittableReductions | None:
        """
        Return the reductions of a group, with `operations` that compute their operands;
        None if they do not run along one axis, or if they require Taylor expansions
        and `expands` is False.
        """
        forms = OpFactsCache()
        if any(map(is_in_planned_group, group)):
            return None
        if (cascade := cascade_of(group, forms, expands)) is not None:
            return SplittableReductions(operations, cascade.steps, cascade, forms)
        reductions = [op for op in group if isinstance(op, AccumulatingInterface)]
        if len(reductions) != 1 or reductions[0].init_value is not None:
            return None
        (op,) = reductions
        if not forms.of(op).reduction_dims:
            return None
        step = CascadeStep(op, _longest_iterator_of(forms.of(op)), None)
        return SplittableReductions(operations, {op: step}, None, forms)

    @property
    def first(self) -> CascadeStep:
        """The first reduction."""
        return next(iter(self.steps.values()))

    @property
    def extent(self) -> int:
        """Extent of the reduced axis."""
        return self.forms.of(self.first.op).extents[self.first.iterator]

    def split_into(self, parts: int) -> bool:
        """
        Split the axis into parts, and combine the partial results. Return `False`,
        with the operations in place, if that is not possible.
        """
        try:
            _ReductionSplit(self, parts).apply()
        except NotSplittableError:
            return False
        return True


def _longest_iterator_of(form: OpFacts) -> int:
    """Return the reduced iterator with the largest extent."""
    return max(form.reduction_dims, key=lambda each: form.extents[each])


def longest_reduced_extent(op: AccumulatingInterface) -> int:
    """
    Return the largest extent of the reduced axes of an operation; 1 without any.
    """
    form = OpFacts(op)
    return form.extents[_longest_iterator_of(form)] if form.reduction_dims else 1


@dataclass
class _ReductionSplit:
    """Rewrite of reductions for a given number of parts."""

    reductions: SplittableReductions
    parts: int
    partial_builder: PartialBuilder = field(init=False)
    totals: PartialCombiner = field(init=False)
    replaced: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Final replacements of values."""

    def __post_init__(self) -> None:
        reductions = self.reductions
        axes = AxisClasses.of(reductions.operations, reductions.forms)
        axis = axes.class_of(reductions.first.op, reductions.first.iterator)
        self.partial_builder = PartialBuilder(axes, axis, self.parts)
        self.totals = PartialCombiner(self.partial_builder.values, self._limits_of)

    def apply(self) -> None:
        if self.reductions.extent % self.parts:
            raise NotSplittableError
        for op in self._required_operations():
            if op in self.reductions.steps:
                self._split_step(self.reductions.steps[op])
                continue
            partial_values = self.partial_builder.build_partial(op)
            self._clamp_result(op)
            if self._is_of_product(op):
                self._merge_parts(op, partial_values)
            if self._is_row(op):
                self.totals.compute_clamped(op, Builder(InsertPoint.before(op)))
        for old, new in self.replaced.items():
            old.replace_all_uses_with(new)

    def _required_operations(self) -> list[TilingInterface]:
        """Return the operations to compute on parts, in program order."""
        steps, required = self.reductions.steps, list[TilingInterface]()
        needed: set[SSAValue] = {op.results[0] for op in steps}
        for op in reversed(self.reductions.operations):
            if needed.isdisjoint(op.results):
                continue
            if op in steps or self._is_dependent(op) or self._is_parallel_along(op):
                required.insert(0, op)
                needed.update(op.operands)
        return required

    def _is_dependent(self, op: Operation) -> bool:
        cascade = self.reductions.cascade
        return cascade is not None and op in cascade.dependent

    def _is_row(self, op: Operation) -> bool:
        cascade = self.reductions.cascade
        return cascade is not None and op in cascade.rows

    def _is_parallel_along(self, op: TilingInterface) -> bool:
        """
        Return `True` if an operation has a parallel iterator along the split axis.
        """
        iterator = (
            self.partial_builder.split_iterator_of(op)
            if can_rebuild_on_parts(op)
            else None
        )
        return iterator in self.reductions.forms.of(op).parallel_dims

    def _split_step(self, step: CascadeStep) -> None:
        """Build a partial reduction and its total, which replaces the reduction."""
        parts_axis = _parts_axis_of_contraction(step, self.partial_builder.values)
        part = self.partial_builder.build_partial(step.op, parts_axis)
        self._clamp_result(step.op)
        self._extrapolate_part(step)
        builder = Builder(InsertPoint.before(step.op))
        sums = list[PartialValues]()
        if step.expansion is not None and isinstance(step.op, graph.ReduceOp):
            sums = self._sum_term_changes(step.op, step.expansion)
        total = self.totals.combine_step(step, part, sums, builder)
        total.name_hint = step.op.results[0].name_hint
        self.replaced[step.op.results[0]] = total

    def _sum_term_changes(
        self, op: graph.ReduceOp, expansion: Expansion
    ) -> list[PartialValues]:
        """Return the changes of a sum's terms, summed per part."""
        builder = Builder(InsertPoint.before(op))
        operand = self.partial_builder.values[op.operand]
        program = TensorBuilder(builder, op.accumulator_type)
        count = prod(operand.shape) // prod(
            self.partial_builder.values[op.result].shape
        )
        sums = list[PartialValues]()
        for change in expansion.terms:
            if not change.factors:
                total = program.constant(change.coefficient * count)
                sums.append(PartialValues(total, 0))
                continue
            values = (
                self.partial_builder.values[value].value for value in change.factors
            )
            product = reduce(program.mul, map(program.promote, values))
            term = PartialValues(product, operand.axis)
            total = self.partial_builder.reduce_parts(op, term, True, builder)
            value = program.mul(total.value, program.constant(change.coefficient))
            sums.append(PartialValues(value, total.axis))
        return sums

    def _extrapolate_part(self, step: CascadeStep) -> None:
        """
        Extrapolate a partial sum to the whole axis: the point of the Taylor expansion
        of other steps.
        """
        steps, result = self.reductions.steps.values(), step.op.results[0]
        is_read = any(each.expansion is not None for each in steps)
        if (
            not is_read
            or step.correction
            or reduce_kind_of(step.op) is not ReduceKind.SUM
        ):
            return
        builder = Builder(InsertPoint.before(step.op))
        values = self.partial_builder.values[result]
        program = TensorBuilder(builder, tensor_type(values.value).element_type)
        total = program.mul(values.value, program.constant(float(self.parts)))
        self.partial_builder.values[result] = PartialValues(total, values.axis)

    def _limits_of(self, op: Operation) -> Sequence[float]:
        """Return the limits that clamp the partial result of an operation."""
        cascade = self.reductions.cascade
        return () if cascade is None else running_limits.limits_of(cascade, op)

    def _clamp_result(self, op: TilingInterface) -> None:
        result, builder = op.results[0], Builder(InsertPoint.before(op))
        values = self.partial_builder.values[result]
        value = clamp_value(values.value, self._limits_of(op), builder)
        self.partial_builder.values[result] = PartialValues(value, values.axis)

    def _is_of_product(self, op: TilingInterface) -> bool:
        """
        Return `True` if an operation is a contraction, or computes elements from merged
        parts without dependence on other reductions.
        """
        if isinstance(op, ContractionInterface):
            return True
        reads_merged = not self.replaced.keys().isdisjoint(op.operands)
        return (
            reads_merged and not self._is_dependent(op) and self._is_parallel_along(op)
        )

    def _merge_parts(self, op: TilingInterface, made: PartialValues) -> None:
        """
        Replace a result by its reshaped parts, so that it is computed once.
        """
        builder, result = Builder(InsertPoint.before(op)), op.results[0]
        shape = tensor_type(result).get_shape()
        self.replaced[result] = reshape_to(made.value, shape, builder)


def _parts_axis_of_contraction(
    step: CascadeStep, values: Mapping[SSAValue, PartialValues]
) -> int:
    """
    Return the axis of the parts in the result of a contraction: after the axes of the
    values that correct it.
    """
    if step.correction is None:
        return 0
    shape = tensor_type(step.op.results[0]).get_shape()
    candidates = list[int]()
    for value, match in step.correction.axis_matches.items():
        rows = [n for n, axis in enumerate(match) if axis is not None]
        first = max(rows, default=-1) + 1
        aligned = len(shape) - values[value].trailing_axes
        between = shape[first:aligned]
        candidates.append(aligned if all(each == 1 for each in between) else first)
    return max(candidates)
