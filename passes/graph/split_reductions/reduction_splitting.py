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

from tlf.analysis.operations.op_facts import OpFactsCache
from tlf.analysis.recurrence import running_limits
from tlf.analysis.recurrence.axis_classes import AxisClasses
from tlf.analysis.recurrence.cascade import Cascade, CascadeStep, find_cascade
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
    CannotRebuildOnPartsError,
    PartialBuilder,
    can_rebuild_on_parts,
)
from tlf.passes.graph.split_reductions.partial_values import PartialValues
from tlf.passes.graph.split_reductions.split_counts import longest_reduced_iterator_of
from tlf.passes.op_replacement import is_in_planned_group


@dataclass(frozen=True)
class SplittableReductions:
    """
    Reductions along one axis, with the operations that may be rebuilt on its parts.
    """

    operations: Sequence[TilingInterface]
    """Operations in program order, including the reductions."""
    cascade_steps: Mapping[Operation, CascadeStep]
    cascade: Cascade | None
    op_facts: OpFactsCache

    @staticmethod
    def find_in_group(
        group: Sequence[TilingInterface],
        operations: Sequence[TilingInterface],
        allows_expansions: bool = True,
    ) -> SplittableReductions | None:
        """
        Return the reductions of a group, with `operations` that compute their operands;
        None if they do not run along one axis, or if they require Taylor expansions
        and `allows_expansions` is False.
        """
        forms = OpFactsCache()
        if any(map(is_in_planned_group, group)):
            return None
        if (cascade := find_cascade(group, forms, allows_expansions)) is not None:
            return SplittableReductions(operations, cascade.steps, cascade, forms)
        reductions = [op for op in group if isinstance(op, AccumulatingInterface)]
        if len(reductions) != 1 or reductions[0].init_value is not None:
            return None
        (op,) = reductions
        if (iterator := longest_reduced_iterator_of(forms.facts_of(op))) is None:
            return None
        step = CascadeStep(op, iterator, None)
        return SplittableReductions(operations, {op: step}, None, forms)

    @staticmethod
    def find_in_all(
        operations: Sequence[TilingInterface],
    ) -> SplittableReductions | None:
        """Return the reductions of all operations, without Taylor expansions."""
        return SplittableReductions.find_in_group(
            operations, operations, allows_expansions=False
        )

    @property
    def first_reduction(self) -> CascadeStep:
        """The first reduction."""
        return next(iter(self.cascade_steps.values()))

    @property
    def reductions(self) -> list[AccumulatingInterface]:
        """All reductions, in program order."""
        return [each.op for each in self.cascade_steps.values()]

    @property
    def reduced_extent(self) -> int:
        """Extent of the reduced axis."""
        return self.op_facts.facts_of(self.first_reduction.op).extents[
            self.first_reduction.iterator
        ]

    def split_into_parts(self, part_count: int) -> bool:
        """
        Split the axis into parts, and combine the partial results. Return `False`,
        with the operations in place, if that is not possible.
        """
        try:
            _ReductionSplit(self, part_count).split_and_combine_reductions()
        except CannotRebuildOnPartsError:
            return False
        return True


@dataclass
class _ReductionSplit:
    """
    In-place rewrite of reductions along one axis into partial reductions and totals.
    """

    reductions: SplittableReductions
    part_count: int
    partial_builder: PartialBuilder = field(init=False)
    combiner: PartialCombiner = field(init=False)
    replacements: dict[SSAValue, SSAValue] = field(
        default_factory=dict[SSAValue, SSAValue]
    )
    """Final replacements of values."""

    def __post_init__(self) -> None:
        reductions = self.reductions
        axes = AxisClasses.of(reductions.operations, reductions.op_facts)
        axis = axes.class_of(
            reductions.first_reduction.op, reductions.first_reduction.iterator
        )
        self.partial_builder = PartialBuilder(axes, axis, self.part_count)
        self.combiner = PartialCombiner(
            self.partial_builder.partial_values, self._clamp_limits_of
        )

    def split_and_combine_reductions(self) -> None:
        """Rebuild operations on parts, and replace reductions by combined totals."""
        if self.reductions.reduced_extent % self.part_count:
            raise CannotRebuildOnPartsError
        for op in self._operations_to_rebuild_on_parts():
            if op in self.reductions.cascade_steps:
                self._split_reduction_step(self.reductions.cascade_steps[op])
                continue
            partial_values = self.partial_builder.rebuild_on_parts(op)
            self._clamp_partial_result(op)
            if self._needs_merged_parts(op):
                self._replace_by_merged_parts(op, partial_values)
            if self._is_row_operation_of_cascade(op):
                self.combiner.rebuild_on_clamped_totals(
                    op, Builder(InsertPoint.before(op))
                )
        for old, new in self.replacements.items():
            old.replace_all_uses_with(new)

    def _operations_to_rebuild_on_parts(self) -> list[TilingInterface]:
        """
        Return the cascade steps, and operations that lead to them and depend on a step
        or run along the split axis, in program order.
        """
        steps, required = self.reductions.cascade_steps, list[TilingInterface]()
        needed: set[SSAValue] = {op.results[0] for op in steps}
        for op in reversed(self.reductions.operations):
            if needed.isdisjoint(op.results):
                continue
            if (
                op in steps
                or self._is_dependent_on_cascade_step(op)
                or self._is_parallel_along_split_axis(op)
            ):
                required.insert(0, op)
                needed.update(op.operands)
        return required

    def _is_dependent_on_cascade_step(self, op: Operation) -> bool:
        cascade = self.reductions.cascade
        return cascade is not None and op in cascade.dependent_operations

    def _is_row_operation_of_cascade(self, op: Operation) -> bool:
        cascade = self.reductions.cascade
        return cascade is not None and op in cascade.row_operations

    def _is_parallel_along_split_axis(self, op: TilingInterface) -> bool:
        """
        Return `True` if an operation has a parallel iterator along the split axis.
        """
        iterator = (
            self.partial_builder.split_iterator_of(op)
            if can_rebuild_on_parts(op)
            else None
        )
        return iterator in self.reductions.op_facts.facts_of(op).parallel_dims

    def _split_reduction_step(self, step: CascadeStep) -> None:
        """Build a partial reduction and its total, which replaces the reduction."""
        parts_axis = _parts_axis_of_contraction(
            step, self.partial_builder.partial_values
        )
        part = self.partial_builder.rebuild_on_parts(step.op, parts_axis)
        self._clamp_partial_result(step.op)
        self._extrapolate_partial_sum(step)
        builder = Builder(InsertPoint.before(step.op))
        sums = list[PartialValues]()
        if step.expansion is not None and isinstance(step.op, graph.ReduceOp):
            sums = self._sum_term_changes(step.op, step.expansion)
        total = self.combiner.combine_partials_of_step(step, part, sums, builder)
        total.name_hint = step.op.results[0].name_hint
        self.replacements[step.op.results[0]] = total

    def _sum_term_changes(
        self, op: graph.ReduceOp, expansion: Expansion
    ) -> list[PartialValues]:
        """
        Build the sum over each part of each term of `expansion`, in order of the terms.
        """
        builder = Builder(InsertPoint.before(op))
        operand = self.partial_builder.partial_values[op.operand]
        program = TensorBuilder(builder, op.accumulator_type)
        count = prod(operand.shape) // prod(
            self.partial_builder.partial_values[op.result].shape
        )
        sums = list[PartialValues]()
        for change in expansion.terms:
            if not change.factors:
                total = program.constant(change.coefficient * count)
                sums.append(PartialValues(total, 0))
                continue
            values = (
                self.partial_builder.partial_values[value].value
                for value in change.factors
            )
            product = reduce(program.mul, map(program.promote_to_builder_type, values))
            term = PartialValues(product, operand.parts_axis)
            total = self.partial_builder.rebuild_reduction_on_parts(
                op, term, True, builder
            )
            value = program.mul(total.value, program.constant(change.coefficient))
            sums.append(PartialValues(value, total.parts_axis))
        return sums

    def _extrapolate_partial_sum(self, step: CascadeStep) -> None:
        """
        Extrapolate a partial sum to the whole axis: the point of the Taylor expansion
        of other steps.
        """
        steps, result = self.reductions.cascade_steps.values(), step.op.results[0]
        is_read = any(each.expansion is not None for each in steps)
        if (
            not is_read
            or step.correction
            or reduce_kind_of(step.op) is not ReduceKind.SUM
        ):
            return
        builder = Builder(InsertPoint.before(step.op))
        values = self.partial_builder.partial_values[result]
        program = TensorBuilder(builder, tensor_type(values.value).element_type)
        total = program.mul(values.value, program.constant(float(self.part_count)))
        self.partial_builder.partial_values[result] = PartialValues(
            total, values.parts_axis
        )

    def _clamp_limits_of(self, op: Operation) -> Sequence[float]:
        """Return the limits that clamp the partial result of an operation."""
        cascade = self.reductions.cascade
        return () if cascade is None else running_limits.finite_limits_of(cascade, op)

    def _clamp_partial_result(self, op: TilingInterface) -> None:
        """Clamp the partial values of the result of `op` to its finite limits."""
        result, builder = op.results[0], Builder(InsertPoint.before(op))
        values = self.partial_builder.partial_values[result]
        value = clamp_value(values.value, self._clamp_limits_of(op), builder)
        self.partial_builder.partial_values[result] = PartialValues(
            value, values.parts_axis
        )

    def _needs_merged_parts(self, op: TilingInterface) -> bool:
        """
        Return `True` if an operation is a contraction, or computes elements from merged
        parts without dependence on other reductions.
        """
        if isinstance(op, ContractionInterface):
            return True
        reads_merged = not self.replacements.keys().isdisjoint(op.operands)
        return (
            reads_merged
            and not self._is_dependent_on_cascade_step(op)
            and self._is_parallel_along_split_axis(op)
        )

    def _replace_by_merged_parts(
        self, op: TilingInterface, partial_values: PartialValues
    ) -> None:
        """
        Replace a result by its reshaped parts, so that it is computed once.
        """
        builder, result = Builder(InsertPoint.before(op)), op.results[0]
        shape = tensor_type(result).get_shape()
        self.replacements[result] = reshape_to(partial_values.value, shape, builder)


def _parts_axis_of_contraction(
    step: CascadeStep, partial_values: Mapping[SSAValue, PartialValues]
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
        aligned = len(shape) - partial_values[value].trailing_axis_count
        between = shape[first:aligned]
        candidates.append(aligned if all(each == 1 for each in between) else first)
    return max(candidates)
