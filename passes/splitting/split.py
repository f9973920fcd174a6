"""Reductions of all of an axis as those of its parts, and of what these come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.interfaces import (
    AccumulatingInterface,
    ContractionInterface,
    TilingInterface,
)
from tlf.dialects.types import tensor_type
from tlf.passes.cascades import limits
from tlf.passes.cascades.axes import AxisClasses
from tlf.passes.cascades.cascade import Cascade, Step, cascade_of
from tlf.passes.permutations import reshaped
from tlf.passes.replacement import is_planned
from tlf.passes.splitting.parted import Parted
from tlf.passes.splitting.rebuild import Rebuild, UnsplitError, is_known
from tlf.passes.splitting.totals import Totals
from tlf.passes.tiling.form import Forms


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
        group: Sequence[TilingInterface], operations: Sequence[TilingInterface]
    ) -> Reductions | None:
        """
        Those of a group, with what else computes for them; nothing where they are not
        along one axis, or where what they have summed up of one part may become more by
        what is found in another.
        """
        forms = Forms()
        if any(map(is_planned, group)):
            return None
        if (cascade := cascade_of(group, forms)) is not None:
            found = dict(limits.corrections(cascade))
            if not all(each.is_bounded for each in found.values()):
                return None
            return Reductions(operations, cascade.steps, cascade, forms)
        reductions = [op for op in group if isinstance(op, AccumulatingInterface)]
        if len(reductions) != 1 or reductions[0].init_value is not None:
            return None
        (op,) = reductions
        along = max(forms.of(op).reductions, key=lambda each: forms.of(op).extents[each])
        return Reductions(operations, {op: Step(op, along, None)}, None, forms)

    @property
    def first(self) -> Step:
        """The first reduction."""
        return next(iter(self.steps.values()))

    @property
    def extent(self) -> int:
        """How long the axis is."""
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


@dataclass
class _Split:
    """Writes reductions for so many parts."""

    reductions: Reductions
    parts: int
    rebuild: Rebuild = field(init=False)
    totals: Totals = field(init=False)
    replaced: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What stands for values in the end."""

    def __post_init__(self) -> None:
        found = self.reductions
        axes = AxisClasses.of(found.operations, found.forms)
        axis = axes.of_iterator(found.first.op, found.first.iterator)
        self.rebuild = Rebuild(axes, axis, self.parts)
        self.totals = Totals(self.rebuild.values)

    def apply(self) -> None:
        if self.reductions.extent % self.parts:
            raise UnsplitError
        for op in self._needed():
            if op in self.reductions.steps:
                self._step(self.reductions.steps[op])
                continue
            made = self.rebuild.build(op)
            self._limit(op)
            if isinstance(op, ContractionInterface):
                self._join(op, made)
        for old, new in self.replaced.items():
            old.replace_all_uses_with(new)

    def _needed(self) -> list[TilingInterface]:
        """What is computed of parts, in program order."""
        steps, found = self.reductions.steps, list[TilingInterface]()
        wanted = {op.results[0] for op in steps}
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

    def _runs_along(self, op: TilingInterface) -> bool:
        return is_known(op) and self.rebuild.iterator(op) is not None

    def _step(self, step: Step) -> None:
        """The sums of parts, and their total instead of the whole sum."""
        place = _place(step, self.rebuild.values)
        part = self.rebuild.build(step.op, place)
        self._limit(step.op)
        builder = Builder(InsertPoint.before(step.op))
        total = self.totals.build(step, part, builder)
        total.name_hint = step.op.results[0].name_hint
        self.replaced[step.op.results[0]] = total

    def _limit(self, op: TilingInterface) -> None:
        """Let what others compute with be finite, of each part."""
        result, cascade = op.results[0], self.reductions.cascade
        found = () if cascade is None else limits.limits_of(cascade, op)
        builder = Builder(InsertPoint.before(op))
        for limit in found:
            made = self.rebuild.values[result]
            element = tensor_type(made.value).element_type
            program = TensorProgram(builder, element)
            kind = graph.MinimumOp if limit > 0 else graph.MaximumOp
            value = program.insert(kind(made.value, program.number(limit)))
            self.rebuild.values[result] = Parted(value, made.axis)

    def _join(self, op: ContractionInterface, made: Parted) -> None:
        """Let others read a product from its parts, so that it is computed once."""
        builder, result = Builder(InsertPoint.before(op)), op.results[0]
        shape = tensor_type(result).get_shape()
        self.replaced[result] = reshaped(made.value, shape, builder)


def _place(step: Step, values: Mapping[SSAValue, Parted]) -> int:
    """
    Where a contraction has its parts: behind the rows that correct it, and where what
    corrects it has them, if only axes of extent 1 are in between.
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
