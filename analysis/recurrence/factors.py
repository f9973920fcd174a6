"""Build the factors that running sums are corrected by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axes import Places
from tlf.analysis.recurrence.formula import After, Apply, Before, Formula
from tlf.dialects import graph
from tlf.dialects.graph.decomposition import TensorProgram
from tlf.dialects.types import is_float, tensor_type

OPERATIONS: Mapping[str, type[Operation]] = {
    "add": graph.AddOp,
    "sub": graph.SubOp,
    "mul": graph.MulOp,
    "div": graph.DivOp,
    "exp": graph.ExpOp,
}


def limited(value: SSAValue, limits: Sequence[float], builder: Builder) -> SSAValue:
    """A value that is not beyond limits: above the negative ones, below the others."""
    program = TensorProgram(builder, tensor_type(value).element_type)
    for limit in limits:
        kind = graph.MinimumOp if limit > 0 else graph.MaximumOp
        value = program.insert(kind(value, program.number(limit)))
    return value


def restarted(
    total: SSAValue,
    before: SSAValue,
    after: SSAValue,
    neutral: float,
    builder: Builder,
) -> SSAValue:
    """
    A total as long as what its terms attain is what it was before, and else what it
    starts from. An extreme that is no number stays none.
    """
    same = builder.insert(graph.CompareOp(before, after, graph.Relation.EQ)).result
    if is_float(tensor_type(before).element_type):
        none = builder.insert(graph.CompareOp(before, before, graph.Relation.NE))
        same = builder.insert(graph.OrOp(same, none.result)).result
    program = TensorProgram(builder, tensor_type(total).element_type)
    return program.insert(graph.SelectOp(same, total, program.number(neutral)))


@dataclass(frozen=True)
class CorrectionBuilder:
    """Builds factors of tiles, in the element type of a program."""

    program: TensorProgram
    places: Mapping[SSAValue, Places]
    """For each value, the axes of the corrected one that its axes run along."""
    before: Mapping[SSAValue, SSAValue]
    """The tiles of what steps had accumulated before an iteration."""
    after: Mapping[SSAValue, SSAValue]
    """The tiles of what they have accumulated now."""

    def build(self, formula: Formula) -> SSAValue:
        """The tile that a formula stands for."""
        match formula:
            case Before(value):
                return self._placed(value, self.before[value])
            case After(value):
                return self._placed(value, self.after[value])
            case Apply(name, operands):
                made = OPERATIONS[name](*map(self.build, operands))
                return self.program.insert(made)
            case _:
                return self.program.number(formula)

    def _placed(self, value: SSAValue, tile: SSAValue) -> SSAValue:
        """The tile of a value, with the axes of what is corrected."""
        have = tensor_type(tile).get_shape()
        places = self.places[value]
        shape = tuple(1 if axis is None else have[axis] for axis in places)
        wide = self.program.widened(tile)
        if shape == have:
            return wide
        return self.program.insert(graph.ReshapeOp(wide, shape))
