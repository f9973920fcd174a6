"""Totals of reductions of parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from tlf.analysis.recurrence.axes import Places
from tlf.analysis.recurrence.cascade import Step
from tlf.analysis.recurrence.corrections import Correction
from tlf.analysis.recurrence.expansions import Expansion
from tlf.analysis.recurrence.factors import CorrectionBuilder, limited, restarted
from tlf.analysis.recurrence.formula import After, Apply, Before, Formula
from tlf.analysis.recurrence.restarts import Restart
from tlf.dialects import graph
from tlf.dialects.combining import kind_of
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.types import greatest, tensor_type
from tlf.passes.graph.permutations import reshaped
from tlf.passes.graph.split_reductions.parted import Parted, spread


@dataclass
class Totals:
    """
    Builds the totals of steps from those of parts. What a part has added up is
    corrected for what others have found, as in a loop it is for what comes later; and
    then, as behind a loop, for what is not limited any more.
    """

    parts: Mapping[SSAValue, Parted]
    """Values that the parts computed with."""
    limits: Callable[[Operation], Sequence[float]]
    """Limits of these values, by the operation that computes them."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Totals, by what they stand for."""
    seen: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """The same with limits."""

    def build(
        self, step: Step, part: Parted, sums: Sequence[Parted], builder: Builder
    ) -> SSAValue:
        """
        The total of what a step has accumulated of each part, and of what its terms
        change by with others.
        """
        op = step.op
        program = TensorProgram(builder, tensor_type(part.value).element_type)
        if step.correction is not None:
            total = self._corrected(step.correction, part, program)
        else:
            if step.restart is not None:
                part = self._attaining(step, step.restart, part, builder)
            if step.expansion is not None:
                part = self._expanded(step.expansion, part, sums, program)
            total = program.reduce(part.value, kind_of(op), [part.axis], False)
        type_ = tensor_type(op.results[0])
        narrow = TensorProgram(builder, type_.element_type).widened(total)
        total = reshaped(narrow, type_.get_shape(), builder)
        self.values[op.results[0]] = total
        self.seen[op.results[0]] = limited(total, self.limits(op), builder)
        return total

    def compute(self, op: Operation, builder: Builder) -> None:
        """Compute what is computed of totals, with their limits."""
        made = builder.insert(op.clone(self.seen))
        value = limited(made.results[0], self.limits(op), builder)
        self.seen[op.results[0]] = value

    def _attaining(
        self, step: Step, restart: Restart, part: Parted, builder: Builder
    ) -> Parted:
        """
        Return the results of the parts that attain the extreme of all, with neutral
        elements for the others.
        """
        extreme = restart.extreme
        program = TensorProgram(builder, tensor_type(extreme).element_type)
        formulae = _Formulae(restart.places, part.axis, program)
        before = {extreme: self.parts[extreme]}
        old, new = (
            formulae.build(each, before, self.values)
            for each in (Before(extreme), After(extreme))
        )
        neutral = step.op.neutral()
        return Parted(restarted(part.value, old, new, neutral, builder), part.axis)

    def _expanded(
        self,
        expansion: Expansion,
        part: Parted,
        sums: Sequence[Parted],
        program: TensorProgram,
    ) -> Parted:
        """Return the sums of the parts, corrected for the results of all parts."""
        formulae = _Formulae(expansion.places, part.axis, program)
        before = {value: self.parts[value] for value in expansion.places}
        total = part.value
        for change, found in zip(expansion.changes, sums, strict=True):
            product, *others = [_moved(value) for value in change.powers]
            for other in others:
                product = Apply("mul", (product, other))
            moved = formulae.build(product, before, self.values)
            total = program.add(total, program.mul(found.value, moved))
        return Parted(total, part.axis)

    def _corrected(
        self, correction: Correction, part: Parted, program: TensorProgram
    ) -> SSAValue:
        formulae = _Formulae(correction.places, part.axis, program)
        build = partial(formulae.build, correction.formula)
        before = {value: self.parts[value] for value in correction.places}
        if correction.is_bounded:
            return weighted(part, build(before, self.values), program)
        factor = build(before, self.seen)
        # What nothing has been added to is 0, and has to stay so.
        most = greatest(program.element)
        factor = limited(factor, [most], program.builder)
        total = weighted(part, factor, program)
        wide = {value: self._whole(value, program) for value in correction.places}
        last = build(wide, self.values)
        shape = tensor_type(last).get_shape()
        at = part.axis
        return program.mul(total, program.reshape(last, shape[:at] + shape[at + 1 :]))

    def _whole(self, value: SSAValue, program: TensorProgram) -> Parted:
        """A total as what one part has found that is all."""
        axis = self.parts[value].axis
        return Parted(spread(self.seen[value], axis, program.builder), axis)


@dataclass(frozen=True)
class _Formulae:
    """Builder of corrections of sums, for each of the parts along an axis of them."""

    places: Mapping[SSAValue, Places]
    axis: int
    program: TensorProgram

    def build(
        self,
        formula: Formula,
        before: Mapping[SSAValue, Parted],
        after: Mapping[SSAValue, SSAValue],
    ) -> SSAValue:
        """The formula once values are others, those of `after` where they are there."""
        builder, places = self.program.builder, dict[SSAValue, Places]()
        old, new = dict[SSAValue, SSAValue](), dict[SSAValue, SSAValue]()
        for value, found in self.places.items():
            axis = place_for(found, self.axis)
            old[value] = before[value].moved(axis, builder).value
            new[value] = spread(after.get(value, value), axis, builder)
            places[value] = _with_parts(found, self.axis, axis)
        return CorrectionBuilder(self.program, places, old, new).build(formula)


def _moved(value: SSAValue) -> Formula:
    """Return the change of a value."""
    return Apply("sub", (After(value), Before(value)))


def weighted(part: Parted, factor: SSAValue, program: TensorProgram) -> SSAValue:
    """
    The sum of parts, each times its factor: as a product of matrices where factors are
    the same along some axes, so that it is not computed where parts are.
    """
    pairs = enumerate(zip(part.shape, tensor_type(factor).get_shape(), strict=True))
    axes = {axis: same for axis, same in pairs}
    if all(extent == other for extent, other in axes.values()):
        return program.reduce(
            program.mul(part.value, factor), ReduceKind.SUM, [part.axis], False
        )
    kept = [axis for axis, (_, extent) in axes.items() if extent != 1]
    narrow = program.reshape(factor, [axes[axis][1] for axis in kept])
    result = [axis for axis in axes if axis != part.axis]
    maps = [
        AffineMap(len(axes), 0, tuple(map(AffineExpr.dimension, each)))
        for each in (axes, kept, result)
    ]
    return program.insert(graph.ContractOp(part.value, narrow, maps))


def place_for(places: Places, axis: int) -> int:
    """
    Return the position of the parts in a value that corrects a sum whose parts are at
    `axis`.
    """
    found = [each for each in places[:axis] if each is not None]
    return max(found, default=-1) + 1


def _with_parts(places: Places, axis: int, place: int) -> Places:
    """Return the places of one value's axes in the other once both have parts."""
    moved = [None if each is None else each + (each >= place) for each in places]
    return (*moved[:axis], place, *moved[axis:])
