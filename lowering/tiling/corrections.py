"""Build the factors that running sums are corrected by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from tlf.dialects import graph
from tlf.dialects.types import tensor_type
from tlf.passes.cascades.formula import After, Apply, Before, Formula

OPERATIONS: Mapping[str, type[Operation]] = {
    "add": graph.AddOp,
    "sub": graph.SubOp,
    "mul": graph.MulOp,
    "div": graph.DivOp,
    "exp": graph.ExpOp,
}


@dataclass(frozen=True)
class CorrectionBuilder:
    """Builds formulae of tiles, in one element type."""

    builder: Builder
    element: Attribute
    before: Mapping[SSAValue, SSAValue]
    """The tiles of what steps had accumulated before an iteration."""
    after: Mapping[SSAValue, SSAValue]
    """The tiles of what they have accumulated now."""

    def build(self, formula: Formula) -> SSAValue:
        """The tile that a formula stands for."""
        match formula:
            case Before(value):
                return self._widened(self.before[value])
            case After(value):
                return self._widened(self.after[value])
            case Apply(name, operands):
                made = OPERATIONS[name](*map(self.build, operands))
                return self.builder.insert(made).results[0]
            case _:
                type_ = TensorType(self.element, [])
                made = graph.ConstantOp.filled(formula, type_)
                return self.builder.insert(made).result

    def _widened(self, value: SSAValue) -> SSAValue:
        if tensor_type(value).element_type == self.element:
            return value
        return self.builder.insert(graph.CastOp(value, self.element)).result
