"""Emission of graph operations that correct, clamp and restart running totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.analysis.recurrence.formula import After, Apply, Before, Formula
from tlf.dialects import graph
from tlf.dialects.graph.tensor_builder import TensorBuilder
from tlf.dialects.types import is_float, tensor_type

OPERATIONS: Mapping[str, type[Operation]] = {
    "add": graph.AddOp,
    "sub": graph.SubOp,
    "mul": graph.MulOp,
    "div": graph.DivOp,
    "exp": graph.ExpOp,
}


def clamp_value(value: SSAValue, limits: Sequence[float], builder: Builder) -> SSAValue:
    """Clamp a value to limits: from below by negative ones, from above by others."""
    program = TensorBuilder(builder, tensor_type(value).element_type)
    for limit in limits:
        kind = graph.MinimumOp if limit > 0 else graph.MaximumOp
        value = program.insert(kind(value, program.constant(limit)))
    return value


def restart_total(
    total: SSAValue,
    before: SSAValue,
    after: SSAValue,
    neutral: float,
    builder: Builder,
) -> SSAValue:
    """
    Select the total, or the neutral element where the running extreme changed. An
    extreme that is no number stays none.
    """
    same = builder.insert(graph.CompareOp(before, after, graph.Relation.EQ)).result
    if is_float(tensor_type(before).element_type):
        none = builder.insert(graph.CompareOp(before, before, graph.Relation.NE))
        same = builder.insert(graph.OrOp(same, none.result)).result
    program = TensorBuilder(builder, tensor_type(total).element_type)
    return program.insert(graph.SelectOp(same, total, program.constant(neutral)))


@dataclass(frozen=True)
class CorrectionBuilder:
    """Builds factors of tiles, in the element type of a program."""

    program: TensorBuilder
    axis_matches: Mapping[SSAValue, AxisMatch]
    """For each value, the axes of the corrected one that its axes run along."""
    before: Mapping[SSAValue, SSAValue]
    """The tiles of what steps had accumulated before an iteration."""
    after: Mapping[SSAValue, SSAValue]
    """The tiles of what they have accumulated now."""

    def build(self, formula: Formula) -> SSAValue:
        """The tile that a formula stands for."""
        match formula:
            case Before(value):
                return self._align_tile(value, self.before[value])
            case After(value):
                return self._align_tile(value, self.after[value])
            case Apply(name, operands):
                made = OPERATIONS[name](*map(self.build, operands))
                return self.program.insert(made)
            case _:
                return self.program.constant(formula)

    def _align_tile(self, value: SSAValue, tile: SSAValue) -> SSAValue:
        """The tile of a value, with the axes of what is corrected."""
        have = tensor_type(tile).get_shape()
        places = self.axis_matches[value]
        shape = tuple(1 if axis is None else have[axis] for axis in places)
        wide = self.program.promote(tile)
        if shape == have:
            return wide
        return self.program.insert(graph.ReshapeOp(wide, shape))
