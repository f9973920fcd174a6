"""What reductions of parts come to together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import InsertPoint

from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.graph.reduction import ReduceKind
from tlf.dialects.interfaces import AccumulatingInterface
from tlf.dialects.types import tensor_type
from tlf.passes.cascades.factors import CorrectionBuilder
from tlf.passes.cascades.axes import Places
from tlf.passes.cascades.cascade import Step
from tlf.passes.cascades.corrections import Correction
from tlf.passes.permutations import reshaped
from tlf.passes.splitting.parted import Parted, spread


@dataclass
class Totals:
    """
    Builds the totals of steps from those of parts. What a part has added up is
    corrected for what others have found, as in a loop it is for what comes later.
    """

    parts: Mapping[SSAValue, Parted]
    """What parts computed with."""
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Totals, by what they stand for."""

    def build(self, step: Step, part: Parted, builder: Builder) -> SSAValue:
        """The total of what a step has accumulated of each part."""
        op, value = step.op, part.value
        program = TensorProgram(builder, tensor_type(value).element_type)
        if step.correction is None:
            total = program.reduce(value, kind_of(op), [part.axis], False)
        else:
            factor = self._factor(step.correction, part, program)
            total = _weighted(part, factor, program)
        type_ = tensor_type(op.results[0])
        narrow = TensorProgram(builder, type_.element_type).widened(total)
        self.values[op.results[0]] = reshaped(narrow, type_.get_shape(), builder)
        return self.values[op.results[0]]

    def _factor(
        self, correction: Correction, part: Parted, program: TensorProgram
    ) -> SSAValue:
        places = dict[SSAValue, Places]()
        before, after = dict[SSAValue, SSAValue](), dict[SSAValue, SSAValue]()
        for value, found in correction.places.items():
            axis = place_for(found, part.axis)
            moved = self.parts[value].moved(axis, program.builder)
            before[value] = moved.value
            total = self.values.get(value, value)
            after[value] = spread(total, axis, program.builder)
            places[value] = _with_parts(found, part.axis, axis)
        formulae = CorrectionBuilder(program, places, before, after)
        return formulae.build(correction.formula)


def _weighted(part: Parted, factor: SSAValue, program: TensorProgram) -> SSAValue:
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


def kind_of(op: AccumulatingInterface) -> ReduceKind:
    """How results of a reduction or a contraction are combined."""
    return op.combination if isinstance(op, graph.ReduceOp) else ReduceKind.SUM


def place_for(places: Places, axis: int) -> int:
    """Where a value has its parts if a sum that it corrects has them at an axis."""
    found = [each for each in places[:axis] if each is not None]
    return max(found, default=-1) + 1


def _with_parts(places: Places, axis: int, place: int) -> Places:
    """Which axes run along each other once both values have parts."""
    moved = [None if each is None else each + (each >= place) for each in places]
    return (*moved[:axis], place, *moved[axis:])
