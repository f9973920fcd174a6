"""Reductions of all of an axis as those of its parts, and of what these come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.analysis.operations.form import Form, Forms
from tlf.analysis.recurrence import limits
from tlf.analysis.recurrence.axes import AxisClasses
from tlf.analysis.recurrence.cascade import Cascade, Step, cascade_of
from tlf.analysis.recurrence.expansions import Expansion
from tlf.analysis.recurrence.factors import limited
from tlf.dialects import graph
from tlf.dialects.combining import kind_of
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.replacement import is_planned
from tlf.dialects.types import tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.split_reductions.parted import Parted
from tlf.passes.graph.split_reductions.rebuild import Rebuild, UnsplitError, is_known
from tlf.passes.graph.split_reductions.totals import Totals


@dataclass(frozen=True)
class Reductions:
    """Reductions along one axis, and all that may be computed of its parts."""

    operations: Sequence[TilingInterface]
    """In program order, the reductions among them."""
    steps: Mapping[Operation, Step]
    cascade: Cascade | None
    forms: Forms

    @staticmethod
    def of(
        group: Sequence[TilingInterface],
        operations: Sequence[TilingInterface],
        expands: bool = True,
    ) -> Reductions | None:
        """
        Those of a group, with what else computes for them; nothing where they are not
        along one axis, or where terms are polynomials in sums and that is not to be.
        """
        forms = Forms()
        if any(map(is_planned, group)):
            return None
        if (cascade := cascade_of(group, forms, expands)) is not None:
            return Reductions(operations, cascade.steps, cascade, forms)
        reductions = [op for op in group if isinstance(op, AccumulatingInterface)]
        if len(reductions) != 1 or reductions[0].init_value is not None:
            return None
        (op,) = reductions
        if not forms.of(op).reductions:
            return None
        step = Step(op, _longest(forms.of(op)), None)
        return Reductions(operations, {op: step}, None, forms)

    @property
    def first(self) -> Step:
        """The first reduction."""
        return next(iter(self.steps.values()))

    @property
    def extent(self) -> int:
        """Extent of the axis."""
        return self.forms.of(self.first.op).extents[self.first.iterator]

    def split(self, parts: int) -> bool:
        """
        Reduce parts of the axis, so many, and combine what they come to. Nothing
        happens where that cannot be, which is returned.
        """
        try:
            _Split(self, parts).apply()
        except UnsplitError:
            return False
        return True


def _longest(form: Form) -> int:
    """The longest iterator that is reduced."""
    return max(form.reductions, key=lambda each: form.extents[each])


def longest(op: AccumulatingInterface) -> int:
    """
    Return the extent of the longest axis that an operation reduces; 1 if there is none.
    """
    form = Form(op)
    return form.extents[_longest(form)] if form.reductions else 1


@dataclass
class _Split:
    """Writes reductions for so many parts."""

    reductions: Reductions
    parts: int
    rebuild: Rebuild = field(init=False)
    totals: Totals = field(init=False)
    replaced: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Final replacements of values."""

    def __post_init__(self) -> None:
        found = self.reductions
        axes = AxisClasses.of(found.operations, found.forms)
        axis = axes.of_iterator(found.first.op, found.first.iterator)
        self.rebuild = Rebuild(axes, axis, self.parts)
        self.totals = Totals(self.rebuild.values, self._limits)

    def apply(self) -> None:
        if self.reductions.extent % self.parts:
            raise UnsplitError
        for op in self._needed():
            if op in self.reductions.steps:
                self._step(self.reductions.steps[op])
                continue
            made = self.rebuild.build(op)
            self._limit(op)
            if self._is_of_product(op):
                self._join(op, made)
            if self._is_row(op):
                self.totals.compute(op, Builder(InsertPoint.before(op)))
        for old, new in self.replaced.items():
            old.replace_all_uses_with(new)

    def _needed(self) -> list[TilingInterface]:
        """Return the operations to compute on parts, in program order."""
        steps, found = self.reductions.steps, list[TilingInterface]()
        wanted: set[SSAValue] = {op.results[0] for op in steps}
        for op in reversed(self.reductions.operations):
            if wanted.isdisjoint(op.results):
                continue
            if op in steps or self._depends(op) or self._runs_along(op):
                found.insert(0, op)
                wanted.update(op.operands)
        return found

    def _depends(self, op: Operation) -> bool:
        cascade = self.reductions.cascade
        return cascade is not None and op in cascade.dependent

    def _is_row(self, op: Operation) -> bool:
        cascade = self.reductions.cascade
        return cascade is not None and op in cascade.rows

    def _runs_along(self, op: TilingInterface) -> bool:
        """
        Return `True` if an operation computes something for each index of the axis.
        """
        along = self.rebuild.iterator(op) if is_known(op) else None
        return along in self.reductions.forms.of(op).parallel

    def _step(self, step: Step) -> None:
        """The sums of parts, and their total instead of the whole sum."""
        place = _place(step, self.rebuild.values)
        part = self.rebuild.build(step.op, place)
        self._limit(step.op)
        self._expect(step)
        builder = Builder(InsertPoint.before(step.op))
        sums = list[Parted]()
        if step.expansion is not None and isinstance(step.op, graph.ReduceOp):
            sums = self._changes(step.op, step.expansion)
        total = self.totals.build(step, part, sums, builder)
        total.name_hint = step.op.results[0].name_hint
        self.replaced[step.op.results[0]] = total

    def _changes(self, op: graph.ReduceOp, expansion: Expansion) -> list[Parted]:
        """Return the changes of the terms of a sum, summed up per part."""
        builder = Builder(InsertPoint.before(op))
        whole = self.rebuild.values[op.operand]
        program = TensorProgram(builder, op.accumulator_type)
        count = prod(whole.shape) // prod(self.rebuild.values[op.result].shape)
        found = list[Parted]()
        for change in expansion.changes:
            if not change.terms:
                total = program.number(change.number * count)
                found.append(Parted(total, 0))
                continue
            values = (self.rebuild.values[value].value for value in change.terms)
            product = reduce(program.mul, map(program.widened, values))
            term = Parted(product, whole.axis)
            total = self.rebuild.reduced(op, term, True, builder)
            value = program.mul(total.value, program.number(change.number))
            found.append(Parted(value, total.axis))
        return found

    def _expect(self, step: Step) -> None:
        """
        Let others see what the sum of a part would come to, were all parts like it:
        values that terms are polynomials in are about those of the whole then.
        """
        steps, result = self.reductions.steps.values(), step.op.results[0]
        is_read = any(each.expansion is not None for each in steps)
        if not is_read or step.correction or kind_of(step.op) is not ReduceKind.SUM:
            return
        builder = Builder(InsertPoint.before(step.op))
        made = self.rebuild.values[result]
        program = TensorProgram(builder, tensor_type(made.value).element_type)
        total = program.mul(made.value, program.number(float(self.parts)))
        self.rebuild.values[result] = Parted(total, made.axis)

    def _limits(self, op: Operation) -> Sequence[float]:
        """
        Return the limits of the result of an operation per part, while others compute
        with it.
        """
        cascade = self.reductions.cascade
        return () if cascade is None else limits.limits_of(cascade, op)

    def _limit(self, op: TilingInterface) -> None:
        result, builder = op.results[0], Builder(InsertPoint.before(op))
        made = self.rebuild.values[result]
        value = limited(made.value, self._limits(op), builder)
        self.rebuild.values[result] = Parted(value, made.axis)

    def _is_of_product(self, op: TilingInterface) -> bool:
        """
        Return `True` if an operation is a product, or computes something of its
        elements.
        """
        if isinstance(op, ContractionInterface):
            return True
        is_of_one = not self.replaced.keys().isdisjoint(op.operands)
        return is_of_one and not self._depends(op) and self._runs_along(op)

    def _join(self, op: TilingInterface, made: Parted) -> None:
        """Let others read what is made of parts, so that it is computed once."""
        builder, result = Builder(InsertPoint.before(op)), op.results[0]
        shape = tensor_type(result).get_shape()
        self.replaced[result] = reshaped(made.value, shape, builder)


def _place(step: Step, values: Mapping[SSAValue, Parted]) -> int:
    """
    Return the position of the parts in the result of a contraction: behind the rows
    that correct it, and where the values that correct it have them, if only axes of
    extent 1 are in between.
    """
    if step.correction is None:
        return 0
    shape = tensor_type(step.op.results[0]).get_shape()
    found = list[int]()
    for value, places in step.correction.places.items():
        rows = [n for n, axis in enumerate(places) if axis is not None]
        first = max(rows, default=-1) + 1
        aligned = len(shape) - values[value].behind
        between = shape[first:aligned]
        found.append(aligned if all(each == 1 for each in between) else first)
    return max(found)
