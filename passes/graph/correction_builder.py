"""
Builder of graph operations that correct, clamp and restart running totals of an
analyzed cascade.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.ir import Operation, SSAValue

from tlf.analysis.recurrence.axis_classes import AxisMatch
from tlf.analysis.recurrence.formula import (
    ElementwiseFormula,
    Formula,
    ValueAfterIteration,
    ValueBeforeIteration,
)
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
    """
    Clamp a value to limits: negative limits are lower bounds, positive ones upper
    bounds.
    """
    program = TensorBuilder(builder, tensor_type(value).element_type)
    for limit in limits:
        kind = graph.MinimumOp if limit > 0 else graph.MaximumOp
        value = program.insert(kind(value, program.constant(limit)))
    return value


def restart_total(
    total: SSAValue,
    extreme_before: SSAValue,
    extreme_after: SSAValue,
    neutral_element: float,
    builder: Builder,
) -> SSAValue:
    """
    Select the total, or the neutral element if the running extreme changed. A NaN
    extreme never counts as changed.
    """
    same = builder.insert(
        graph.CompareOp(extreme_before, extreme_after, graph.Relation.EQ)
    ).result
    if is_float(tensor_type(extreme_before).element_type):
        is_nan = builder.insert(
            graph.CompareOp(extreme_before, extreme_before, graph.Relation.NE)
        )
        same = builder.insert(graph.OrOp(same, is_nan.result)).result
    program = TensorBuilder(builder, tensor_type(total).element_type)
    return program.insert(
        graph.SelectOp(same, total, program.constant(neutral_element))
    )


@dataclass(frozen=True)
class CorrectionBuilder:
    """Builder of correction factors of tiles, in the element type of a program."""

    program: TensorBuilder
    axis_matches: Mapping[SSAValue, AxisMatch]
    """For each value, the axes of the corrected total that its axes run along."""
    tiles_before_iteration: Mapping[SSAValue, SSAValue]
    """Tiles of running values before the iteration."""
    tiles_after_iteration: Mapping[SSAValue, SSAValue]
    """Tiles of running values after the iteration."""

    def build_formula_tile(self, formula: Formula) -> SSAValue:
        """
        Build operations that compute a formula from the tiles of its values, and return
        the resulting tile.
        """
        match formula:
            case ValueBeforeIteration(value):
                return self._reshape_tile_to_total(
                    value, self.tiles_before_iteration[value]
                )
            case ValueAfterIteration(value):
                return self._reshape_tile_to_total(
                    value, self.tiles_after_iteration[value]
                )
            case ElementwiseFormula(name, operands):
                op = OPERATIONS[name](*map(self.build_formula_tile, operands))
                return self.program.insert(op)
            case _:
                return self.program.constant(formula)

    def _reshape_tile_to_total(self, value: SSAValue, tile: SSAValue) -> SSAValue:
        """Return the tile of a value, reshaped to the axes of the corrected total."""
        tile_shape = tensor_type(tile).get_shape()
        matches = self.axis_matches[value]
        shape = tuple(1 if axis is None else tile_shape[axis] for axis in matches)
        promoted = self.program.promote_to_builder_type(tile)
        if shape == tile_shape:
            return promoted
        return self.program.insert(graph.ReshapeOp(promoted, shape))
